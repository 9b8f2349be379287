//! Where a search of a memtable's list begins: a B+-tree of its nodes, which is a hint.
//!
//! A search of a skip list, which this replaces, waits for a node at each of a dozen steps, and at each goes a way that no
//! processor predicts: an insert into a part of 3,000 entries took 80 ns, two fifths of a put in random order, and takes 43.
//! A block of the tree has the heads of its entries side by side, which are counted without a branch; three or four
//! blocks are looked at, and nodes only where heads tie. (Where all heads tie, as under an order of one's own, the skip list
//! was faster: 128 and 160 ns. For seeks beside a writer sealed parts had arrays of all heads, made by the
//! writer; the tree is no slower, and costs no walk at sealing.)
//!
//! A leaf's links lead to nodes, those of a block above to blocks; its heads are those of the first nodes below. An
//! entry takes 16 bytes in a block, and blocks that fill in random order are 0.7 full. Of nodes that are added in key
//! order [`list`](crate::list) leaves most out.
//!
//! Invariants:
//! 1. A link in a leaf leads to a node that is linked in the list; a link in a block above, to a block one level lower
//!    that has an entry. Neither ever becomes null again.
//! 2. For the writer, between two inserts: leaves hold nodes in the list's order, and the head of an entry above them
//!    is that of the first node below it, or 0 where none is before that.
//! 3. So, too: the heads behind a block's last entry are `u64::MAX`. Readers bound what they count by the block's `count`.
//!
//! Threads: one writer, any number of readers. A writer moves entries within a block, and from a full one to a new one,
//! while readers look: such a reader may count wrongly and come to another node than it should, but, by invariant 1, to
//! a node of the list, which it sees whole since links are stored with release and loaded with acquire. What it is promised
//! it has from the list, whose links it follows from there, back and forth ([`list`](crate::list)). Mostly these are a few
//! steps; while a split travels up from a leaf, entries that moved to the new block are not found, and it is as many as those.
#![expect(unsafe_code, reason = "blocks are reached through raw links")]

use std::ptr::NonNull;

use cairndb_kernel::prefetch_span;

use crate::arena::{Arena, Bump};
use crate::node::NodeRef;
use crate::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Entries of a block. With 16 or 64 an insert takes 2 ns more or less, and a seek 4.
const SLOTS: usize = if cfg!(any(loom, miri)) { 3 } else { 32 };
/// Entries that are looked at together.
const STRETCH: usize = if cfg!(any(loom, miri)) { 1 } else { 8 };
const _: () = assert!(SLOTS.is_multiple_of(STRETCH));
/// Levels. A block is half full, or the last of what was added in order to a full one: so many hold more nodes than
/// memory does.
const LEVELS_MAX: usize = 12;
/// Bytes of memory that a block takes.
const BLOCK_BYTES: usize = size_of::<Block>();

/// Some neighbouring entries of one level.
#[derive(Debug)]
#[repr(C)]
struct Block {
    count: AtomicUsize,
    level: usize,
    heads: [AtomicU64; SLOTS],
    /// To a node on level 0, to a [`Block`] above.
    links: [AtomicPtr<()>; SLOTS],
}

/// The blocks of one list, in memory of its arena.
#[derive(Debug)]
pub(crate) struct Tree {
    root: AtomicPtr<Block>,
}

/// The writer's way from the root to where it last inserted or is about to. It belongs to the tree that it was made with,
/// as the contract of [`List::insert`](crate::list::List::insert) has it.
#[derive(Debug)]
pub(crate) struct Path {
    /// On each level the block, and how many of its entries come before the place.
    steps: [(NonNull<Block>, usize); LEVELS_MAX],
    levels: usize,
}

impl Block {
    fn new(level: usize) -> Block {
        Block {
            count: AtomicUsize::new(0),
            level,
            heads: std::array::from_fn(|_| AtomicU64::new(u64::MAX)),
            links: std::array::from_fn(|_| AtomicPtr::default()),
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// The link of an entry that there is or was.
    #[inline]
    fn link(&self, at: usize) -> NonNull<()> {
        // Acquire: pairs with the release in `put`; what the link leads to becomes visible.
        let link = self.links[at].load(Ordering::Acquire);
        NonNull::new(link).expect("a block's entries have links")
    }

    /// The block below that an entry of this one, which must not be a leaf, leads to.
    #[inline]
    fn child(&self, at: usize) -> &Block {
        debug_assert!(self.level > 0);
        // SAFETY: above the leaves links lead to blocks (invariant 1), which live as long as their arena, as `self` does.
        unsafe { self.link(at).cast().as_ref() }
    }

    /// The node that an entry of this one, which must be a leaf, leads to.
    #[inline]
    fn node(&self, at: usize) -> NodeRef<'_> {
        debug_assert!(self.level == 0);
        // SAFETY: in a leaf links lead to nodes (invariant 1), which live as long as their arena, as `self` does; `link`
        // loads them with acquire.
        unsafe { NodeRef::from_ptr(self.link(at).cast()) }
    }

    /// The first node at or below an entry.
    fn first_node(&self, at: usize) -> NodeRef<'_> {
        let (mut block, mut at) = (self, at);
        while block.level > 0 {
            block = block.child(at);
            at = 0;
        }
        block.node(at)
    }

    /// How many entries come before a place: all with smaller heads, and of those that tie as many as `is_before` says.
    #[inline]
    fn rank(&self, head: u64, is_before: &impl Fn(NodeRef<'_>) -> bool) -> usize {
        // Acquire: pairs with the release in `insert`, so that entries counted have links.
        let count = self.count.load(Ordering::Acquire);
        let rank = self.smaller(head).min(count);
        let tied = |at: usize| at < count && self.heads[at].load(Ordering::Relaxed) == head;
        if tied(rank) {
            self.rank_tied(rank, count, head, is_before)
        } else {
            rank
        }
    }

    /// How many heads are smaller than this one.
    #[inline]
    fn smaller(&self, head: u64) -> usize {
        // Counted without a branch: the last of each stretch, and then one stretch.
        let is_smaller = |at: usize| usize::from(self.heads[at].load(Ordering::Relaxed) < head);
        let stretches: usize = (0..SLOTS / STRETCH - 1)
            .map(|stretch| is_smaller(stretch * STRETCH + STRETCH - 1))
            .sum();
        let from = stretches * STRETCH;
        from + (from..from + STRETCH).map(is_smaller).sum::<usize>()
    }

    /// As `rank`, where `from` entries have smaller heads and the next ties.
    #[inline(never)]
    fn rank_tied(
        &self,
        from: usize,
        count: usize,
        head: u64,
        is_before: &impl Fn(NodeRef<'_>) -> bool,
    ) -> usize {
        let (mut from, mut end) = (from, count);
        while from < end {
            let middle = usize::midpoint(from, end);
            let larger = self.heads[middle].load(Ordering::Relaxed) != head;
            if larger || !is_before(self.first_node(middle)) {
                end = middle;
            } else {
                from = middle + 1;
            }
        }
        from
    }

    /// The entry to go down by: the last before the place, or the first.
    #[inline]
    fn down(rank: usize) -> usize {
        rank.saturating_sub(1)
    }

    /// Stores an entry: head, then link.
    #[inline]
    fn put(&self, at: usize, head: u64, link: NonNull<()>) {
        self.heads[at].store(head, Ordering::Relaxed);
        // Release: publishes what the link leads to.
        self.links[at].store(link.as_ptr(), Ordering::Release);
    }

    /// Adds an entry before the one at `at`, where there is room.
    #[inline]
    fn insert(&self, at: usize, head: u64, link: NonNull<()>) {
        let count = self.count.load(Ordering::Relaxed);
        assert!(at <= count && count < SLOTS, "the block has room");
        for from in (at..count).rev() {
            self.put(
                from + 1,
                self.heads[from].load(Ordering::Relaxed),
                self.link(from),
            );
        }
        self.put(at, head, link);
        self.count.store(count + 1, Ordering::Release);
    }

    /// Moves the entries from `at` on to `other`, which is empty and known to nobody.
    fn move_behind(&self, at: usize, other: &Block) {
        let count = self.count.load(Ordering::Relaxed);
        for from in at..count {
            other.put(
                from - at,
                self.heads[from].load(Ordering::Relaxed),
                self.link(from),
            );
        }
        other.count.store(count - at, Ordering::Release);
        self.count.store(at, Ordering::Release);
        for slot in &self.heads[at..count] {
            slot.store(u64::MAX, Ordering::Relaxed);
        }
    }
}

impl Path {
    #[inline]
    fn block(&self, level: usize) -> &Block {
        // SAFETY: a path has blocks of its tree, which live as long as the arena that whoever has the path keeps.
        unsafe { self.steps[level].0.as_ref() }
    }

    /// Whether the entry behind the place, in its leaf, is this node's.
    #[inline]
    pub(crate) fn leads_to(&self, node: NodeRef<'_>) -> bool {
        let (leaf, at) = (self.block(0), self.steps[0].1);
        at < leaf.count.load(Ordering::Relaxed) && leaf.node(at) == node
    }

    /// Bytes that blocks may take for one more entry.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        (self.levels + 1) * BLOCK_BYTES
    }
}

impl Tree {
    /// An empty tree in `arena`, and the way to its only place.
    pub(crate) fn new(arena: &Arena, bump: &mut Bump) -> (Tree, Path) {
        let root = new_block(arena, bump, 0);
        let tree = Tree {
            root: AtomicPtr::new(root.as_ptr()),
        };
        let path = Path {
            steps: [(root, 0); LEVELS_MAX],
            levels: 1,
        };
        (tree, path)
    }

    #[inline]
    fn root(&self) -> &Block {
        // Acquire: pairs with the release in `grow`.
        let root = self.root.load(Ordering::Acquire);
        // SAFETY: a block of the arena that the tree's owner keeps; never null.
        unsafe { &*root }
    }

    /// A node near the place behind the nodes of smaller heads, and of those with this one behind those that `is_before`
    /// is true of: if no insert is under way, the last that the tree has before it, or the first of all. `None` where the
    /// tree is empty.
    #[inline]
    pub(crate) fn find(
        &self,
        head: u64,
        is_before: &impl Fn(NodeRef<'_>) -> bool,
    ) -> Option<NodeRef<'_>> {
        let mut block = self.root();
        loop {
            // Another processor wrote these lines, and which link is next is known only when the heads are here: a
            // seek beside a writer is 7 % faster. What the writer searches it has in its own cache.
            prefetch_span(std::ptr::from_ref(block).cast(), BLOCK_BYTES);
            let rank = block.rank(head, is_before);
            if block.level > 0 {
                block = block.child(Block::down(rank));
            } else if block.is_empty() {
                return None;
            } else {
                // Not none where none comes before: beside an insert that is a leaf too far, and not the list's begin.
                return Some(block.node(Block::down(rank)));
            }
        }
    }

    /// The writer's: the last node before the place of [`Tree::find`] that the tree has, and `path` leads there.
    #[inline]
    pub(crate) fn find_path(
        &self,
        path: &mut Path,
        head: u64,
        is_before: &impl Fn(NodeRef<'_>) -> bool,
    ) -> Option<NodeRef<'_>> {
        let mut block = self.root();
        path.levels = block.level + 1;
        loop {
            let rank = block.rank(head, is_before);
            if block.level == 0 {
                path.steps[0] = (NonNull::from(block), rank);
                return rank.checked_sub(1).map(|at| block.node(at));
            }
            let at = Block::down(rank);
            path.steps[block.level] = (NonNull::from(block), at + 1);
            block = block.child(at);
        }
    }

    /// Adds a node that is linked in the list, at the place that `path` leads to, and leads that behind it.
    /// `appended` says that it follows the node that was added last. Returns the bytes of blocks that were made.
    #[inline]
    pub(crate) fn insert(
        &self,
        path: &mut Path,
        arena: &Arena,
        bump: &mut Bump,
        node: NodeRef<'_>,
        appended: bool,
    ) -> usize {
        let (head, link) = (node.head(), node.as_ptr().cast());
        let at = path.steps[0].1;
        let leaf = path.block(0);
        if leaf.count.load(Ordering::Relaxed) < SLOTS {
            leaf.insert(at, head, link);
            path.steps[0].1 = at + 1;
            return 0;
        }
        self.insert_split(path, arena, bump, (head, link), appended)
    }

    /// As `insert`, into a leaf without room: from level to level a block is split, until one has room.
    #[cold]
    fn insert_split(
        &self,
        path: &mut Path,
        arena: &Arena,
        bump: &mut Bump,
        entry: (u64, NonNull<()>),
        appended: bool,
    ) -> usize {
        let (mut head, mut link) = entry;
        for level in 0..LEVELS_MAX {
            if level == path.levels {
                self.grow(path, arena, bump, (head, link));
                return (level + 1) * BLOCK_BYTES;
            }
            let (block, at) = (path.block(level), path.steps[level].1);
            // The way leads behind the entry that is added: above the leaves, where it goes on in the block that was made there.
            let goes_right = level == 0 || path.steps[level - 1].0.cast() == link;
            if block.count.load(Ordering::Relaxed) < SLOTS {
                block.insert(at, head, link);
                path.steps[level].1 = at + usize::from(goes_right);
                return level * BLOCK_BYTES;
            }
            let right = new_block(arena, bump, level);
            // SAFETY: just made, in an arena that lives longer than this call.
            let other = unsafe { right.as_ref() };
            // What is added in order fills its blocks: none of it will come between what is there.
            let cut = if appended && goes_right && at == SLOTS {
                SLOTS
            } else {
                SLOTS / 2
            };
            if cut < SLOTS {
                block.move_behind(cut, other);
            }
            if at > cut || cut == SLOTS {
                other.insert(at - cut, head, link);
                path.steps[level] = (right, at - cut + usize::from(goes_right));
            } else {
                block.insert(at, head, link);
                path.steps[level].1 = at + usize::from(goes_right);
            }
            head = other.heads[0].load(Ordering::Relaxed);
            link = right.cast();
        }
        unreachable!("no tree has so many levels");
    }

    /// Puts a level on top of the root, which was split: over it and the block behind it.
    fn grow(
        &self,
        path: &mut Path,
        arena: &Arena,
        bump: &mut Bump,
        (head, link): (u64, NonNull<()>),
    ) {
        let root = self.root();
        let top = new_block(arena, bump, path.levels);
        // SAFETY: just made, in an arena that lives longer than this call.
        let block = unsafe { top.as_ref() };
        // What comes before all that is there goes down this way, too.
        block.insert(0, 0, NonNull::from(root).cast());
        block.insert(1, head, link);
        let goes_right = path.steps[path.levels - 1].0.cast() == link;
        path.steps[path.levels] = (top, 1 + usize::from(goes_right));
        path.levels += 1;
        self.root.store(top.as_ptr(), Ordering::Release);
    }
}

fn new_block(arena: &Arena, bump: &mut Bump, level: usize) -> NonNull<Block> {
    let block = arena.allocate(bump, BLOCK_BYTES).cast::<Block>();
    // SAFETY: a fresh piece of a block's size, aligned as all words.
    unsafe { block.write(Block::new(level)) };
    block
}

#[cfg(test)]
impl Tree {
    /// Checks that `path` is what a search finds.
    pub(crate) fn check_path(
        &self,
        path: &Path,
        head: u64,
        is_before: &impl Fn(NodeRef<'_>) -> bool,
    ) {
        let mut found = Path {
            steps: path.steps,
            levels: 0,
        };
        self.find_path(&mut found, head, is_before);
        assert_eq!(path.levels, found.levels);
        assert_eq!(path.steps[..path.levels], found.steps[..path.levels]);
    }

    /// Gives all nodes, in order, and checks heads, levels and links on the way.
    pub(crate) fn check(&self, visit: &mut impl FnMut(NodeRef<'_>)) {
        check_block(self.root(), visit);
    }
}

#[cfg(test)]
fn check_block(block: &Block, visit: &mut impl FnMut(NodeRef<'_>)) {
    let heads = block
        .heads
        .each_ref()
        .map(|head| head.load(Ordering::Relaxed));
    let count = block.count.load(Ordering::Relaxed);
    assert!(heads.is_sorted() && heads[count..].iter().all(|&head| head == u64::MAX));
    for (at, &head) in heads.iter().enumerate().take(count) {
        let first = block.first_node(at).head();
        assert!(
            head == first || head == 0 && at == 0,
            "level {}",
            block.level
        );
        if block.level == 0 {
            visit(block.node(at));
        } else {
            let child = block.child(at);
            assert_eq!(child.level + 1, block.level);
            check_block(child, visit);
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use cairndb_base::{Kind, Order, SEQ_MAX, hash64};

    use super::*;
    use crate::Memtable;
    use crate::memtable::tests::ordered;

    /// A reader that comes between the stores of a head and of its link had walked from the list's begin.
    #[test]
    fn a_search_that_goes_down_one_too_far_ends_near_its_place() {
        let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 256 << 10);
        let count = 40 * SLOTS as u64;
        for seq in 1..=count {
            let key = ordered(seq * 389 % count);
            writer.insert(seq, Kind::Put, &key, b"", hash64(&key));
        }
        let root = table.list().tree().root();
        let entries = root.count.load(Ordering::Relaxed);
        assert!(root.level > 0 && entries > 1);
        for at in 1..entries {
            let (before, here) = (&root.heads[at - 1], &root.heads[at]);
            let head = here.swap(before.load(Ordering::Relaxed), Ordering::Relaxed);
            let place = head - 1;
            let near = table.list().tree().find(place, &|_| true);
            let near = near.expect("there are nodes").head();
            assert!(near.abs_diff(place) < 2 * SLOTS as u64, "{near} {place}");
            let mut cursor = table.cursor();
            cursor.seek(&ordered(place), SEQ_MAX);
            assert_eq!(cursor.key(), ordered(place));
            root.heads[at].store(head, Ordering::Relaxed);
        }
    }
}
