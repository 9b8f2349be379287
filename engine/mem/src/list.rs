//! The ordered entries of a memtable: a doubly linked list, and a [`tree`](crate::tree) that finds
//! the starting point of a search.
//!
//! Order: key, then sequence number descending, so that the newest version of a key comes first.
//! The list is a ring through a sentinel, which sorts after every key. Nodes carry an eight-byte
//! head of their key; a search compares heads and reads a whole key only if two heads are equal. (A
//! skip list was slower; `tree.rs` explains why.)
//!
//! # Publication
//!
//! One writer inserts `N` between `P` and `S` in this order: (1) all of `N` is written, including
//! its links and `N.prev = P`; (2) `P.next = N`, release; (3) `S.prev = N`, release; (4) the tree
//! entry, if `N` gets one, release. Nothing is ever unlinked or freed before the arena. Readers
//! load links with acquire.
//!
//! *Claim.* A reader that acquired the publication of sequence number `q` (which the engine stores
//! with release after the inserts up to `q` returned) visits every entry with `seq <= q` between
//! its start and its end, in order, forwards and backwards.
//!
//! *Argument.* Since there is one writer, the values of each link form one sequence in the order of
//! the list's growth. The reader's acquire puts all stores of inserts up to `q` in its past, so by
//! coherence each load yields the value from some moment at or after the publication. Forwards: if
//! `X.next` yields `Y`, then at that moment `X` and `Y` were neighbours, so no entry that was in
//! the list by the publication lies between them, because it would have been in the list at that
//! moment. Backwards: if `Y.prev` yields `X`, then at that moment `X` was `Y`'s last neighbour by
//! step 3 (or by step 1 of `Y`'s own insert); the only entry that may lie between them is one whose
//! insert had done step 2 but not step 3, and no such entry is up to `q`. Each step of a walk is
//! such a load, even if the loads see different moments. The tree only chooses the start of a walk:
//! a search steps back from there until a node is less than its target, and then forward until a
//! node is not.
#![expect(unsafe_code, reason = "nodes are reached through raw links")]

#[cfg(test)]
mod checks;
mod regions;

use std::cmp::Ordering as Compare;
use std::ptr::NonNull;
use std::sync::Arc;

use cairndb_base::{Kind, Order, SeqNo, hash64};
use cairndb_env::LogRegion;
use cairndb_env::sync::Mutex;

use crate::arena::{Arena, Bump};
use crate::compare::compare_keys;
use crate::hash_index::{HashIndex, Looked, NodePlace};
use crate::node::{NewEntry, Node, NodeRef, node_bytes};
use crate::recent::Recent;
use crate::sync::{AtomicBool, Ordering};
use crate::tree::{Path, Tree};

/// The tree gets one in this many of the nodes added in order; a search steps over the others. With
/// all nodes, a memtable held a sixth fewer entries, and sequential batches were slower.
const APPENDED: usize = if cfg!(loom) { 1 } else { 8 };

/// A position in the list: before the first node of `key` whose tag is below `bound`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListTarget<'a> {
    /// The head of `key`.
    pub(crate) head: u64,
    /// Nodes of the same key with at least this tag come before the position.
    pub(crate) bound: u64,
    /// The whole key.
    pub(crate) key: &'a [u8],
}

/// The list. The module documentation describes its protocol.
#[derive(Debug)]
pub(crate) struct List {
    sentinel: NonNull<Node>,
    /// Whether the list has entries. Stored once, in a cache line that readers share.
    begun: AtomicBool,
    order: Order,
    arena: Arena,
    /// Points to newest versions; `None` for orders that cannot hash.
    hash_index: Option<HashIndex>,
    /// The tree in which searches start.
    tree: Tree,
    /// The last entries inserted between others. Allocated separately, so that the writer's stores
    /// do not invalidate the list's cache lines for readers.
    recent: Box<Recent>,
    /// The log regions of values that are not copied into the arena.
    regions: Mutex<Vec<Arc<dyn LogRegion>>>,
}

// SAFETY: the arena, which is `Send`, owns the nodes' memory; an `Order` and a region are also
// `Send`.
unsafe impl Send for List {}
// SAFETY: shared access to nodes follows the publication rule in the module documentation.
unsafe impl Sync for List {}

/// The writer's state of a list: the position of its last insert, and the memory it inserts into.
///
/// An entry that sorts right after `last` is linked without a search, because `path` points there.
#[derive(Debug)]
pub(crate) struct Splice {
    path: Path,
    last: NonNull<Node>,
    /// The heads of the last node and of its successor. During an insert they are set so that no
    /// head lies between them.
    last_head: u64,
    next_head: u64,
    /// Number of nodes after the last one in the tree, all added in order.
    passed: usize,
    /// The largest tag of a node pushed to `recent`.
    recent_tag: u64,
    bump: Bump,
}

// SAFETY: it points to nodes in the memory of the list's arena, which has no thread affinity.
unsafe impl Send for Splice {}

/// Result of a search: `before` is less than the target, `at` is not, and they were neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbours<'a> {
    /// The last node before the position, or the sentinel.
    pub(crate) before: NodeRef<'a>,
    /// The first node at or after the position, or the sentinel.
    pub(crate) at: NodeRef<'a>,
}

/// The neighbour of a new node with the same key.
#[derive(Clone, Copy, Debug)]
enum Kin<'a> {
    /// No neighbour: the key is new.
    None,
    /// A newer version, which precedes the node.
    Newer,
    /// The newest version so far.
    Older(NodeRef<'a>),
}

impl List {
    /// Returns an empty list in `arena`, with a hash index of `index_bytes`, and the one splice
    /// that may insert into it.
    pub(crate) fn new(order: Order, arena: Arena, index_bytes: Option<usize>) -> (List, Splice) {
        let mut bump = Bump::new();
        let entry = NewEntry {
            head: u64::MAX,
            tag: 0,
            key: &[],
            value: &[],
            apart: None,
        };
        let memory = arena.allocate(&mut bump, node_bytes(0, 0));
        // SAFETY: a fresh piece of this node's size, in an arena that the list will own.
        let sentinel = unsafe { NodeRef::write(memory, &entry) }.as_ptr();
        let hash_index = index_bytes.map(|bytes| {
            let memory = arena.allocate(&mut bump, bytes);
            // SAFETY: a fresh piece of that many bytes, in an arena that the list will own.
            unsafe { HashIndex::write(memory, bytes) }
        });
        let (tree, path) = Tree::new(&arena, &mut bump);
        let list = List {
            sentinel,
            begun: AtomicBool::new(false),
            order,
            arena,
            hash_index,
            tree,
            recent: Box::new(Recent::new(sentinel)),
            regions: Mutex::default(),
        };
        let splice = Splice {
            path,
            last: sentinel,
            last_head: 0,
            next_head: u64::MAX,
            // The tree gets the first node.
            passed: APPENDED,
            recent_tag: 0,
            bump,
        };
        (list, splice)
    }

    /// Returns the order of the keys.
    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    /// Returns the number of bytes of the arena's chunks.
    pub(crate) fn allocated(&self) -> usize {
        self.arena.allocated()
    }

    /// Returns the ring's sentinel: after the last node and before the first.
    #[inline]
    pub(crate) fn sentinel(&self) -> NodeRef<'_> {
        // SAFETY: `new` wrote it, and it lives as long as the arena that `self` owns.
        unsafe { NodeRef::from_ptr(self.sentinel) }
    }

    /// Returns whether the list has entries. Relaxed suffices: a reader that acquired the
    /// publication of an entry gets `true`, because this flag was stored before.
    #[inline]
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// Finds the neighbours around `target`.
    #[inline]
    pub(crate) fn find(&self, target: &ListTarget<'_>) -> Neighbours<'_> {
        let is_before_tied = |node: NodeRef<'_>| self.is_before_tied(node, target);
        let found = self.tree.find(target.head, &is_before_tied);
        let mut before = found.unwrap_or(self.sentinel());
        // During an insert the tree may lead past the target, or not far enough.
        while before != self.sentinel() && !self.is_before(before, target) {
            before = before.prev();
        }
        self.last_before(before, target)
    }

    /// Returns the neighbours around `target`, searched from a node before it.
    #[inline]
    fn last_before<'a>(&self, mut before: NodeRef<'a>, target: &ListTarget<'_>) -> Neighbours<'a> {
        loop {
            let at = before.next();
            if !self.is_before(at, target) {
                return Neighbours { before, at };
            }
            before = at;
        }
    }

    /// Returns whether `node` comes before the target. The sentinel never does.
    #[inline]
    fn is_before(&self, node: NodeRef<'_>, target: &ListTarget<'_>) -> bool {
        let head = node.head();
        if head != target.head {
            return head < target.head;
        }
        self.is_before_tied(node, target)
    }

    /// Like [`Self::is_before`], but for equal heads.
    #[inline]
    fn is_before_tied(&self, node: NodeRef<'_>, target: &ListTarget<'_>) -> bool {
        if node == self.sentinel() {
            return false;
        }
        match self.compare(node.key(), target.key) {
            Compare::Less => true,
            Compare::Greater => false,
            Compare::Equal => node.tag() >= target.bound,
        }
    }

    /// Compares two keys.
    #[inline]
    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Compare {
        match &self.order {
            Order::Bytewise => compare_keys(a, b),
            custom @ Order::Custom(_) => custom.compare(a, b),
        }
    }

    /// Checks that the splice's path equals the path that a search finds.
    #[cfg(test)]
    pub(crate) fn check_path(&self, splice: &Splice) {
        // SAFETY: tests pair a splice with its list.
        let last = unsafe { NodeRef::from_ptr(splice.last) };
        let behind_last = ListTarget {
            head: last.head(),
            bound: last.tag(),
            key: last.key(),
        };
        let is_before_tied = |node: NodeRef<'_>| self.is_before_tied(node, &behind_last);
        self.tree
            .check_path(&splice.path, last.head(), &is_before_tied);
    }

    /// Returns whether another entry with a key of this length and `room` bytes after it fits in
    /// the arena's budget.
    #[inline]
    pub(crate) fn has_room(&self, splice: &Splice, key_len: usize, room: usize) -> bool {
        let bytes = node_bytes(key_len, room) + splice.path.room();
        self.arena.has_room(&splice.bump, bytes)
    }

    /// Inserts an entry.
    ///
    /// Changes nothing before the last call of the comparator, which may panic.
    ///
    /// # Safety
    /// `splice` must be the one that [`List::new`] returned with this list. A value that stays in
    /// the log must be borrowed ([`LogRegion::bytes`]) from a region given to [`List::keep`].
    pub(crate) unsafe fn insert(&self, splice: &mut Splice, entry: &NewEntry<'_>) -> usize {
        let hash = match &self.hash_index {
            Some(_) => hash64(entry.key),
            None => 0,
        };
        self.prefetch(hash);
        let target = ListTarget {
            head: entry.head,
            bound: entry.tag + 1,
            key: entry.key,
        };
        // SAFETY: the caller promises that the splice is this list's.
        let (before, appended) = unsafe { self.place(splice, &target) };
        let kin = match &self.hash_index {
            Some(_) => self.kin(before, entry),
            None => Kin::None,
        };
        let mut bytes = node_bytes(entry.key.len(), entry.room());
        let memory = self.arena.allocate(&mut splice.bump, bytes);
        // SAFETY: a fresh piece of this node's size, in the arena that `self` owns. Borrowed bytes
        // never change while the region is shared, and `self` keeps it.
        let node = unsafe { NodeRef::write(memory, entry) };
        // Computed now, because the tree may start another chunk.
        let place = Arena::place_of(&splice.bump, node.as_ptr().cast());
        let next = self.link(before, node);
        bytes += self.index(splice, node, next, appended);
        splice.last = node.as_ptr();
        splice.last_head = entry.head;
        splice.next_head = next.head();
        Arena::prefetch_next(&splice.bump);
        if let Some(hash_index) = &self.hash_index {
            match kin {
                Kin::None => hash_index.add(hash, place),
                Kin::Newer => {}
                Kin::Older(older) => {
                    let is_older = |place| {
                        // SAFETY: the index holds places of this list's nodes. Only the writer runs
                        // this.
                        let node = unsafe { self.node_at(place) };
                        node == older
                    };
                    hash_index.replace(hash, place, is_older);
                }
            }
        }
        if next != self.sentinel() && node.kind() != Kind::Delete {
            if entry.tag < splice.recent_tag {
                self.recent.forget(splice.recent_tag >> 8);
            }
            splice.recent_tag = splice.recent_tag.max(entry.tag);
            self.recent.push(node);
        }
        bytes
    }

    /// Calls `each` with the key of every entry that is not a tombstone, was inserted between
    /// others, and has a published sequence number above `seq`. May also report unpublished
    /// entries. Returns `false` if there were too many to report all.
    pub(crate) fn inserted_between<'a>(
        &'a self,
        seq: SeqNo,
        mut each: impl FnMut(&'a [u8]),
    ) -> bool {
        // SAFETY: `recent` is this list's.
        unsafe { self.recent.since(seq, |node| each(node.key())) }
    }

    /// Returns the last node before the target and whether that node was inserted last. The
    /// splice's path then points to it.
    ///
    /// # Safety
    /// The splice must be this list's.
    #[inline]
    unsafe fn place<'a>(
        &'a self,
        splice: &mut Splice,
        target: &ListTarget<'_>,
    ) -> (NodeRef<'a>, bool) {
        // SAFETY: the caller promises that the splice is this list's.
        if unsafe { self.follows_last(splice, target) } {
            // SAFETY: the caller promises that the node is this list's.
            let last = unsafe { NodeRef::from_ptr(splice.last) };
            return (last, true);
        }
        // Until the insert is complete, which a panicking comparator may prevent, no entry counts
        // as following the last one.
        (splice.last_head, splice.next_head) = (u64::MAX, 0);
        let is_before_tied = |node: NodeRef<'_>| self.is_before_tied(node, target);
        let path = &mut splice.path;
        let found = self.tree.find_path(path, target.head, &is_before_tied);
        let found = found.unwrap_or(self.sentinel());
        (self.last_before(found, target).before, false)
    }

    /// Adds a node that was linked before `next` to the tree, unless searches should step over it.
    /// Returns the tree's growth in bytes.
    #[inline]
    fn index<'a>(
        &'a self,
        splice: &mut Splice,
        node: NodeRef<'a>,
        next: NodeRef<'a>,
        appended: bool,
    ) -> usize {
        // A node that is not in the tree comes after the last one that was added to it, with only
        // such nodes in between, and before one that is in the tree, or at the end. So fewer than
        // `APPENDED` such nodes are adjacent, wherever others are inserted.
        let passes = appended
            && splice.passed + 1 < APPENDED
            && (next == self.sentinel() || splice.path.leads_to(next));
        if passes {
            splice.passed += 1;
            return 0;
        }
        splice.passed = 0;
        let (path, bump) = (&mut splice.path, &mut splice.bump);
        self.tree.insert(path, &self.arena, bump, node, appended)
    }

    /// Prefetches the hash index's line for a key with this hash.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        if let Some(hash_index) = &self.hash_index {
            hash_index.prefetch(hash);
        }
    }

    /// Returns the newest version of `key` from the hash index. `hash` is the key's hash.
    #[inline]
    pub(crate) fn look(&self, key: &[u8], hash: u64) -> Looked<NodeRef<'_>> {
        let Some(hash_index) = &self.hash_index else {
            return Looked::Unknown;
        };
        hash_index.look(hash, |place| {
            // SAFETY: the index holds places of this list's nodes, and loads them with acquire.
            let node = unsafe { self.node_at(place) };
            self.compare(node.key(), key).is_eq().then_some(node)
        })
    }

    /// Returns the neighbour with the same key for an entry to be inserted right after `prev`.
    #[inline]
    fn kin<'a>(&'a self, prev: NodeRef<'a>, entry: &NewEntry<'_>) -> Kin<'a> {
        let next = prev.next();
        let is_alike = |node: NodeRef<'_>| {
            node != self.sentinel()
                && node.head() == entry.head
                && self.compare(node.key(), entry.key).is_eq()
        };
        if is_alike(prev) {
            Kin::Newer
        } else if is_alike(next) {
            Kin::Older(next)
        } else {
            Kin::None
        }
    }

    /// Returns the node at a place that an insert into this list returned.
    ///
    /// # Safety
    /// The place must come from an insert into this list, and the caller must have obtained it as
    /// the writer or through an acquire load.
    #[inline]
    unsafe fn node_at(&self, place: NodePlace) -> NodeRef<'_> {
        // SAFETY: the caller promises the place, and no chunk is at address zero.
        let address = unsafe { NonNull::new_unchecked(self.arena.address_of(place)) };
        // SAFETY: a node of this list, written before its place was given out, in the arena that
        // `self` owns.
        unsafe { NodeRef::from_ptr(address.cast()) }
    }

    /// Returns whether the target's position is right after the last inserted node.
    ///
    /// # Safety
    /// The splice must be this list's.
    #[inline]
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "one branch instead of two, see below"
    )]
    unsafe fn follows_last(&self, splice: &Splice, target: &ListTarget<'_>) -> bool {
        // One branch for both ends: with random keys each comparison alone would be unpredictable.
        if (target.head < splice.last_head) | (target.head > splice.next_head) {
            return false;
        }
        // SAFETY: the caller promises that the node is this list's.
        let last = unsafe { NodeRef::from_ptr(splice.last) };
        let behind_last = target.head > splice.last_head
            || last == self.sentinel()
            || self.is_before_tied(last, target);
        behind_last && (target.head < splice.next_head || !self.is_before_tied(last.next(), target))
    }

    /// Links a new node after `prev` (steps 1 to 3 of the protocol) and returns its successor.
    #[inline]
    fn link<'a>(&'a self, prev: NodeRef<'a>, node: NodeRef<'a>) -> NodeRef<'a> {
        let next = prev.next();
        node.set_next(next);
        node.set_prev(prev);
        prev.set_next(node);
        next.set_prev(node);
        if !self.begun.load(Ordering::Relaxed) {
            self.begun.store(true, Ordering::Relaxed);
        }
        next
    }
}
