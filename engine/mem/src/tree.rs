//! Search tree of a memtable's list: a B+-tree of its nodes that finds the starting point of a
//! search. The result is only a hint.
//!
//! A skip list waits for a node at each of a dozen steps, and each step has an unpredictable
//! branch; the search took two fifths of a put in random order. A block of the tree stores the
//! heads of its entries contiguously, and they are counted without a branch. A search reads three
//! or four blocks, and nodes only if heads are equal. (If all heads are equal, as in a custom
//! order, the skip list was somewhat faster. For concurrent seeks, the writer used to build arrays
//! of all heads for immutable memtables; the tree is no slower and costs nothing when a memtable
//! becomes immutable.)
//!
//! A leaf's links point to nodes, those of an upper block to blocks; an upper block's heads are
//! those of the first nodes below. An entry takes 16 bytes in a block, and blocks filled in random
//! order are 70% full. [`list`](crate::list) omits most nodes added in key order.
//!
//! Invariants:
//! 1. A link in a leaf points to a node that is linked in the list; a link in an upper block points
//!    to a non-empty block one level lower. Neither ever becomes null again.
//! 2. For the writer, between two inserts: leaves hold nodes in the list's order, and the head of
//!    an upper entry is that of the first node below it, or 0 if that node is the first of all.
//! 3. Likewise: the heads after a block's last entry are `u64::MAX`. Readers bound their count by
//!    the block's `count`.
//!
//! Threads: one writer, any number of readers. A writer moves entries within a block, and from a
//! full block to a new one, while readers read. Such a reader may count wrongly and reach the wrong
//! node. By invariant 1 it is still a node of the list, which the reader sees completely because
//! links are stored with release and loaded with acquire. The reader's guarantees come from the
//! list, whose links it follows from there in both directions ([`list`](crate::list)). Usually this
//! takes a few steps; while a split propagates up from a leaf, entries that moved to the new block
//! are not found, and there are as many steps as such entries.
#![expect(unsafe_code, reason = "blocks are reached through raw links")]

#[cfg(test)]
mod checks;

use std::ptr::NonNull;

use cairndb_kernel::prefetch_span;

use crate::arena::{Arena, Bump};
use crate::node::NodeRef;
use crate::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Number of entries in a block. 16 and 64 perform almost the same.
const SLOTS: usize = if cfg!(any(loom, miri)) { 3 } else { 32 };
/// Number of entries that are compared together.
const STRETCH: usize = if cfg!(any(loom, miri)) { 1 } else { 8 };
const _: () = assert!(SLOTS.is_multiple_of(STRETCH));
/// Maximum number of levels. Every block is at least half full, except the last one after full
/// blocks of entries added in order, so this many levels hold more nodes than fit in memory.
const LEVELS_MAX: usize = 12;
/// Number of bytes that a block takes.
const BLOCK_BYTES: usize = size_of::<Block>();

/// Adjacent entries of one level.
#[derive(Debug)]
#[repr(C)]
struct Block {
    count: AtomicUsize,
    level: usize,
    heads: [AtomicU64; SLOTS],
    /// Point to nodes on level 0 and to [`Block`]s above.
    links: [AtomicPtr<()>; SLOTS],
}

/// The blocks of one list, in its arena's memory.
#[derive(Debug)]
pub(crate) struct Tree {
    root: AtomicPtr<Block>,
}

/// The writer's path from the root to its last or next insert position. It belongs to the tree that
/// it was created with, as the contract of [`List::insert`](crate::list::List::insert) requires.
#[derive(Debug)]
pub(crate) struct Path {
    /// For each level, the block and the number of its entries before the position.
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

    /// Returns the link of an entry that exists or existed.
    #[inline]
    fn link(&self, at: usize) -> NonNull<()> {
        // Acquire: pairs with the release in `put`; publishes the link's target.
        let link = self.links[at].load(Ordering::Acquire);
        NonNull::new(link).expect("every entry of a block has a link")
    }

    /// Returns the child block of an entry of this block, which must not be a leaf.
    #[inline]
    fn child(&self, at: usize) -> &Block {
        debug_assert!(self.level > 0);
        // SAFETY: above the leaves, links point to blocks (invariant 1), which live as long as
        // their arena, as `self` does.
        unsafe { self.link(at).cast().as_ref() }
    }

    /// Returns the node of an entry of this block, which must be a leaf.
    #[inline]
    fn node(&self, at: usize) -> NodeRef<'_> {
        debug_assert!(self.level == 0);
        // SAFETY: in a leaf, links point to nodes (invariant 1), which live as long as their arena,
        // as `self` does; `link` loads them with acquire.
        unsafe { NodeRef::from_ptr(self.link(at).cast()) }
    }

    /// Returns the first node at or below an entry.
    fn first_node(&self, at: usize) -> NodeRef<'_> {
        let (mut block, mut at) = (self, at);
        while block.level > 0 {
            block = block.child(at);
            at = 0;
        }
        block.node(at)
    }

    /// Returns the number of entries before a position: all with smaller heads, and those with
    /// equal heads that `is_before` accepts.
    #[inline]
    fn rank(&self, head: u64, is_before: &impl Fn(NodeRef<'_>) -> bool) -> usize {
        // Acquire: pairs with the release in `insert`, so that counted entries have links.
        let count = self.count.load(Ordering::Acquire);
        let rank = self.smaller(head).min(count);
        let tied = |at: usize| at < count && self.heads[at].load(Ordering::Relaxed) == head;
        if tied(rank) {
            self.rank_tied(rank, count, head, is_before)
        } else {
            rank
        }
    }

    /// Returns the number of heads smaller than `head`.
    #[inline]
    fn smaller(&self, head: u64) -> usize {
        // Counts without a branch: first the last head of each stretch, then the heads of one
        // stretch.
        let is_smaller = |at: usize| usize::from(self.heads[at].load(Ordering::Relaxed) < head);
        let stretches: usize = (0..SLOTS / STRETCH - 1)
            .map(|stretch| is_smaller(stretch * STRETCH + STRETCH - 1))
            .sum();
        let from = stretches * STRETCH;
        from + (from..from + STRETCH).map(is_smaller).sum::<usize>()
    }

    /// Like `rank`, but for the case that `from` entries have smaller heads and the next head is
    /// equal.
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

    /// Returns the entry to descend into: the last one before the position, or the first.
    #[inline]
    fn down(rank: usize) -> usize {
        rank.saturating_sub(1)
    }

    /// Stores an entry: head, then link.
    #[inline]
    fn put(&self, at: usize, head: u64, link: NonNull<()>) {
        self.heads[at].store(head, Ordering::Relaxed);
        // Release: publishes the link's target.
        self.links[at].store(link.as_ptr(), Ordering::Release);
    }

    /// Adds an entry before the one at `at`. The block must have room.
    #[inline]
    fn insert(&self, at: usize, head: u64, link: NonNull<()>) {
        let count = self.count.load(Ordering::Relaxed);
        assert!(at <= count && count < SLOTS, "the block must have room");
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

    /// Moves the entries from `at` on to `other`, which is empty and not yet reachable.
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
        // SAFETY: a path refers to blocks of its tree, which live as long as the arena that the
        // path's owner keeps alive.
        unsafe { self.steps[level].0.as_ref() }
    }

    /// Returns whether the next entry after the position, in its leaf, belongs to this node.
    #[inline]
    pub(crate) fn leads_to(&self, node: NodeRef<'_>) -> bool {
        let (leaf, at) = (self.block(0), self.steps[0].1);
        at < leaf.count.load(Ordering::Relaxed) && leaf.node(at) == node
    }

    /// Returns the maximum number of bytes of new blocks for one more entry.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        (self.levels + 1) * BLOCK_BYTES
    }
}

impl Tree {
    /// Returns an empty tree in `arena`, and the path to its only position.
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
        // SAFETY: a block of the arena that the tree's owner keeps alive; never null.
        unsafe { &*root }
    }

    /// Returns a node near the position after all nodes with smaller heads and, of those with this
    /// head, after those that `is_before` accepts. If no insert is in progress, it is the last such
    /// node in the tree, or the first of all. Returns `None` if the tree is empty.
    #[inline]
    pub(crate) fn find(
        &self,
        head: u64,
        is_before: &impl Fn(NodeRef<'_>) -> bool,
    ) -> Option<NodeRef<'_>> {
        let mut block = self.root();
        loop {
            // Another processor wrote these cache lines, and the next link is known only after the
            // heads have been loaded, so prefetching makes concurrent seeks faster. The writer has
            // the lines in its own cache.
            prefetch_span(std::ptr::from_ref(block).cast(), BLOCK_BYTES);
            let rank = block.rank(head, is_before);
            if block.level > 0 {
                block = block.child(Block::down(rank));
            } else if block.is_empty() {
                return None;
            } else {
                // Returned even if no entry comes before the position: during an insert this may be
                // the next leaf, which is not the start of the list.
                return Some(block.node(Block::down(rank)));
            }
        }
    }

    /// Returns the last node in the tree before the position of [`Tree::find`] and sets `path` to
    /// that position. Only for the writer.
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

    /// Adds a node that is linked in the list at the position of `path`, and moves `path` past it.
    /// `appended` means that it follows the node added last. Returns the number of bytes of new
    /// blocks.
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

    /// Like `insert`, but into a full leaf: splits blocks upwards until one has room.
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
            // The path points past the new entry; above the leaves, it follows the entry into the
            // new block.
            let goes_right = level == 0 || path.steps[level - 1].0.cast() == link;
            if block.count.load(Ordering::Relaxed) < SLOTS {
                block.insert(at, head, link);
                path.steps[level].1 = at + usize::from(goes_right);
                return level * BLOCK_BYTES;
            }
            let right = new_block(arena, bump, level);
            // SAFETY: just created, in an arena that outlives this call.
            let other = unsafe { right.as_ref() };
            // Entries added in order fill their blocks, because no further entry will come between
            // existing ones.
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
        unreachable!("a tree has at most LEVELS_MAX levels");
    }

    /// Adds a new root above the two halves of the old one, which was split: the old root and its
    /// new right sibling.
    fn grow(
        &self,
        path: &mut Path,
        arena: &Arena,
        bump: &mut Bump,
        (head, link): (u64, NonNull<()>),
    ) {
        let root = self.root();
        let top = new_block(arena, bump, path.levels);
        // SAFETY: just created, in an arena that outlives this call.
        let block = unsafe { top.as_ref() };
        // Keys before all existing ones also descend here.
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
    // SAFETY: a fresh piece of a block's size, aligned for words.
    unsafe { block.write(Block::new(level)) };
    block
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use cairndb_base::{Kind, Order, SEQ_MAX};

    use super::*;
    use crate::Memtable;
    use crate::memtable::tests::ordered;

    /// Regression: a reader between the stores of a head and of its link walked from the list's
    /// start.
    #[test]
    fn a_search_that_goes_down_one_too_far_ends_near_its_place() {
        let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 256 << 10);
        let count = 40 * SLOTS as u64;
        for seq in 1..=count {
            let key = ordered(seq * 389 % count);
            writer.insert(seq, Kind::Put, &key, b"");
        }
        let root = table.list().tree().root();
        let entries = root.count.load(Ordering::Relaxed);
        assert!(root.level > 0 && entries > 1);
        for at in 1..entries {
            let (before, here) = (&root.heads[at - 1], &root.heads[at]);
            let head = here.swap(before.load(Ordering::Relaxed), Ordering::Relaxed);
            let place = head - 1;
            let near = table.list().tree().find(place, &|_| true);
            let near = near.expect("the tree has nodes").head();
            assert!(near.abs_diff(place) < 2 * SLOTS as u64, "{near} {place}");
            let mut cursor = table.cursor();
            cursor.seek(&ordered(place), SEQ_MAX);
            assert_eq!(cursor.key(), ordered(place));
            root.heads[at].store(head, Ordering::Relaxed);
        }
    }
}
