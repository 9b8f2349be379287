//! The ordered index of a memtable: a skip list whose lowest level is linked both ways.
//!
//! Order: key, then sequence number descending, so that the newest version of a key comes first.
//! The list is a ring through a sentinel, which sorts behind every key. Nodes carry an eight-byte
//! head of their key; a search compares heads and reads a whole key only when two heads tie.
//! (Skip list: W. Pugh, "Skip Lists: A Probabilistic Alternative to Balanced Trees", 1990. One
//! writer with lock-free readers: as in LevelDB. The backward links are ours.)
//!
//! # Publication
//!
//! One writer inserts `N` between `P` and `S` in this order: (1) all of `N` is written, its links
//! and `N.prev = P` included; (2) `P.next = N`, release; (3) `S.prev = N`, release; (4) the upper
//! levels, release. Nothing is ever unlinked or freed before the arena. Readers load links with
//! acquire.
//!
//! *Claim.* A reader that acquired the publication of sequence number `q` (which the engine stores
//! with release after the inserts up to `q` returned) meets every entry with `seq <= q` that lies
//! between its start and its end, in order, forwards and backwards.
//!
//! *Argument.* For each link the values it ever has form one sequence, in the order of the list's
//! growth, since there is one writer. The reader's acquire puts all stores of inserts up to `q` in
//! its past, so by coherence each load yields the value from some moment at or after the
//! publication. Forwards: if `X.next` yields `Y`, then at that moment `X` and `Y` were neighbours,
//! so no entry that was in the list by the publication lies between them, for it would have been in
//! the list then. Backwards: if `Y.prev` yields `X`, then at that moment `X` was `Y`'s last
//! neighbour by step 3 (or by step 1 of `Y`'s own insert); the only entry that may lie between them
//! is one whose insert had done step 2 but not step 3, which is none up to `q`. Each step of a walk
//! is such a load, whatever mix of moments they come from. Upper levels only choose where a walk on
//! level 0 starts: a search moves over nodes less than its target and ends with a level-0 walk.
//!
//! A list into which nothing is inserted any more may have an [`index`](crate::index). It holds all nodes there are, so
//! a search by it meets what a search by links would.
#![expect(unsafe_code, reason = "nodes are reached through raw links")]

use std::cmp::Ordering as Compare;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use cairndb_base::Order;
use cairndb_env::LogRegion;
use cairndb_env::sync::Mutex;

use crate::arena::{Arena, Bump};
use crate::compare::compare_keys;
use crate::directory::{Directory, Looked, Place};
use crate::height::{SEED, draw_height};
use crate::index::Index;
use crate::node::{HEIGHT_MAX, NewEntry, Node, NodeRef, node_bytes};
use crate::sync::{AtomicBool, AtomicUsize, Ordering};

/// A place in the list: before the first node of `key` whose tag is below `bound`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// The head of `key`.
    pub(crate) head: u64,
    /// Nodes of the same key with a tag of at least this come before the place.
    pub(crate) bound: u64,
    /// The whole key.
    pub(crate) key: &'a [u8],
}

/// The list. See the module head for its protocol.
#[derive(Debug)]
pub(crate) struct SkipList {
    sentinel: NonNull<Node>,
    height: AtomicUsize,
    /// Stored once: a line that readers share.
    begun: AtomicBool,
    order: Order,
    arena: Arena,
    /// Where newest versions stand; none for orders that cannot hash.
    directory: Option<Directory>,
    /// All nodes, once no more are inserted, if whoever sealed the list wanted it.
    index: OnceLock<Index>,
    /// The log regions that values lie in which the arena has no copy of.
    regions: Mutex<Vec<Arc<dyn LogRegion>>>,
}

// SAFETY: the nodes are memory of the arena, which is `Send`; so are an `Order` and a region.
unsafe impl Send for SkipList {}
// SAFETY: shared access to nodes follows the publication rule in the module head.
unsafe impl Sync for SkipList {}

/// The writer's side of a list: where it last inserted, and the memory it inserts into.
///
/// `before[level]` is the last node at or before `last` that has a link at `level`, so an entry
/// that sorts right behind `last` links without a search.
#[derive(Debug)]
pub(crate) struct Splice {
    before: [NonNull<Node>; HEIGHT_MAX],
    last: NonNull<Node>,
    last_head: u64,
    next_head: u64,
    height: usize,
    random: u64,
    bump: Bump,
}

// SAFETY: the nodes it points to are memory of the list's arena, without thread affinity.
unsafe impl Send for Splice {}

/// Where a search ended: `before` is less than the target, `at` is not, and they were neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    /// The last node before the place, or the sentinel.
    pub(crate) before: NodeRef<'a>,
    /// The first node at or after the place, or the sentinel.
    pub(crate) at: NodeRef<'a>,
}

/// The neighbour of a new node that has its key.
#[derive(Clone, Copy, Debug)]
enum Kin<'a> {
    /// There is none: the key is new.
    None,
    /// The node was inserted behind a newer version.
    Newer,
    /// The newest version so far.
    Older(NodeRef<'a>),
}

impl SkipList {
    /// An empty list in `arena`, with a directory of `directory_bytes`, and the one splice that may insert into it.
    pub(crate) fn new(
        order: Order,
        arena: Arena,
        directory_bytes: Option<usize>,
    ) -> (SkipList, Splice) {
        let mut bump = Bump::new();
        let entry = NewEntry {
            head: u64::MAX,
            tag: 0,
            key: &[],
            value: &[],
            apart: None,
        };
        let memory = arena.allocate(&mut bump, node_bytes(HEIGHT_MAX, 0, 0));
        // SAFETY: a fresh piece of the size that this node takes, in an arena the list will own.
        let sentinel = unsafe { NodeRef::write(memory, HEIGHT_MAX, &entry) }.as_ptr();
        let directory = directory_bytes.map(|bytes| {
            let memory = arena.allocate(&mut bump, bytes);
            // SAFETY: a fresh piece of so many bytes, in an arena the list will own.
            unsafe { Directory::write(memory, bytes) }
        });
        let list = SkipList {
            sentinel,
            height: AtomicUsize::new(1),
            begun: AtomicBool::new(false),
            order,
            arena,
            directory,
            index: OnceLock::new(),
            regions: Mutex::default(),
        };
        let splice = Splice {
            before: [sentinel; HEIGHT_MAX],
            last: sentinel,
            last_head: 0,
            next_head: u64::MAX,
            height: 1,
            random: SEED,
            bump,
        };
        (list, splice)
    }

    /// The order of the keys.
    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    /// Bytes of the arena's chunks.
    pub(crate) fn allocated(&self) -> usize {
        self.arena.allocated()
    }

    /// Whether searches use an index.
    pub(crate) fn is_indexed(&self) -> bool {
        self.index.get().is_some()
    }

    /// Has searches use an index of the list's `entries` from now on. The list's splice must be gone or about to go.
    pub(crate) fn build_index(&self, entries: usize) {
        let sentinel = self.sentinel();
        self.index
            .get_or_init(|| Index::of(sentinel.next(), sentinel, entries));
    }

    /// The ring's sentinel: behind the last node and before the first.
    #[inline]
    pub(crate) fn sentinel(&self) -> NodeRef<'_> {
        // SAFETY: written by `new`, alive as long as the arena that `self` owns.
        unsafe { NodeRef::from_ptr(self.sentinel) }
    }

    /// Whether there are entries. Who acquired the publication of one is told so: this was stored before. Hence relaxed.
    #[inline]
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// Finds the neighbours around `target`.
    #[inline]
    pub(crate) fn find(&self, target: &Target<'_>) -> Found<'_> {
        match self.index.get() {
            Some(index) => self.find_by(index, target),
            None => self.descend(target, |_, _| ()),
        }
    }

    /// As `find`, by the index.
    #[inline]
    fn find_by(&self, index: &Index, target: &Target<'_>) -> Found<'_> {
        let node = |node| {
            // SAFETY: the index has nodes of this list, which the `OnceLock` publishes with release behind all inserts.
            unsafe { NodeRef::from_ptr(node) }
        };
        let rank = index.rank(target.head, |at| self.is_before_tied(node(at), target));
        let at = |rank| index.node(rank).map_or(self.sentinel(), node);
        Found {
            before: at(rank.wrapping_sub(1)),
            at: at(rank),
        }
    }

    /// Walks down to `target`; `visit` learns the last node before it on each level.
    #[inline]
    fn descend<'a>(
        &'a self,
        target: &Target<'_>,
        mut visit: impl FnMut(usize, NodeRef<'a>),
    ) -> Found<'a> {
        let sentinel = self.sentinel();
        let mut before = sentinel;
        // A node known not to come before the target: no need to compare it again a level below.
        let mut after = sentinel;
        // Relaxed: a stale height only costs a few steps more.
        let mut level = self.height.load(Ordering::Relaxed) - 1;
        loop {
            // SAFETY: `before` is the sentinel, which has all links, or was reached over a link of
            // this level or a higher one, so it has this one.
            let next = unsafe { before.next_at(level) };
            if level > 0 {
                // SAFETY: a node with a link at `level` has one below it.
                unsafe { before.next_at(level - 1) }.prefetch();
            }
            if next != after && self.is_before(next, target) {
                before = next;
                continue;
            }
            visit(level, before);
            after = next;
            if level == 0 {
                return Found { before, at: next };
            }
            level -= 1;
        }
    }

    /// Whether `node` comes before the target. The sentinel never does.
    #[inline]
    fn is_before(&self, node: NodeRef<'_>, target: &Target<'_>) -> bool {
        let head = node.head();
        if head != target.head {
            return head < target.head;
        }
        self.is_before_tied(node, target)
    }

    /// [`Self::is_before`] where the heads are equal.
    fn is_before_tied(&self, node: NodeRef<'_>, target: &Target<'_>) -> bool {
        if node == self.sentinel() {
            return false;
        }
        match self.compare(node.key(), target.key) {
            Compare::Less => true,
            Compare::Greater => false,
            Compare::Equal => node.tag() >= target.bound,
        }
    }

    /// Orders two keys.
    #[inline]
    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Compare {
        match &self.order {
            Order::Bytewise => compare_keys(a, b),
            custom @ Order::Custom(_) => custom.compare(a, b),
        }
    }

    /// Keeps a region as long as the list.
    pub(crate) fn keep(&self, region: &Arc<dyn LogRegion>) {
        self.regions.lock().push(Arc::clone(region));
    }

    /// The file and the offset in it that a value which lies apart lies at.
    pub(crate) fn place_of(&self, value: &[u8]) -> Option<(String, u64)> {
        let regions = self.regions.lock();
        let mut places = regions.iter().filter_map(|region| region.place_of(value));
        places
            .next()
            .map(|(file, offset)| (file.to_owned(), offset))
    }

    /// Whether another entry with a key of this length and `room` behind it fits the arena's budget.
    #[inline]
    pub(crate) fn has_room(&self, splice: &Splice, key_len: usize, room: usize) -> bool {
        let bytes = node_bytes(splice.height, key_len, room);
        self.arena.has_room(&splice.bump, bytes)
    }

    /// Inserts an entry whose key has this hash, and returns the bytes its node takes.
    ///
    /// Nothing is changed before the last call of the comparator, so that one which panics leaves
    /// the list as it was.
    ///
    /// # Safety
    /// `splice` must be the one that [`SkipList::new`] returned with this list. A value that lies
    /// apart must be what a region given to [`SkipList::keep`] lent ([`LogRegion::bytes`]).
    pub(crate) unsafe fn insert(
        &self,
        splice: &mut Splice,
        entry: &NewEntry<'_>,
        hash: u64,
    ) -> usize {
        self.request(hash);
        let target = Target {
            head: entry.head,
            bound: entry.tag + 1,
            key: entry.key,
        };
        // SAFETY: the splice is this list's, so its nodes are.
        if !unsafe { self.follows_last(splice, &target) } {
            let before = &mut splice.before;
            self.descend(&target, |level, node| before[level] = node.as_ptr());
        }
        let kin = match &self.directory {
            // SAFETY: the splice is this list's.
            Some(_) => unsafe { self.kin(splice, entry) },
            None => Kin::None,
        };
        let height = splice.height;
        let bytes = node_bytes(height, entry.key.len(), entry.room());
        let memory = self.arena.allocate(&mut splice.bump, bytes);
        // SAFETY: a fresh piece of the size that this node takes, in the arena that `self` owns. What a
        // region has lent never changes while the region is shared, and `self` keeps it.
        let node = unsafe { NodeRef::write(memory, height, entry) };
        // SAFETY: the splice's nodes are this list's and stand right before the entry's place.
        unsafe { self.link(splice, node) };
        splice.last_head = entry.head;
        splice.height = draw_height(&mut splice.random);
        Arena::prefetch_next(&splice.bump);
        if let Some(directory) = &self.directory {
            let place = Arena::place_of(&splice.bump, node.as_ptr().cast());
            match kin {
                Kin::None => directory.add(hash, place),
                Kin::Newer => {}
                Kin::Older(older) => {
                    let is_older = |place| {
                        // SAFETY: what the directory holds are places of this list's nodes; this is the writer.
                        let node = unsafe { self.node_at(place) };
                        node == older
                    };
                    directory.replace(hash, place, is_older);
                }
            }
        }
        bytes
    }

    /// Asks for the directory's line of a key with this hash.
    #[inline]
    pub(crate) fn request(&self, hash: u64) {
        if let Some(directory) = &self.directory {
            directory.prefetch(hash);
        }
    }

    /// The newest version of `key`, by the directory. `hash` is the key's.
    #[inline]
    pub(crate) fn look(&self, key: &[u8], hash: u64) -> Looked<NodeRef<'_>> {
        let Some(directory) = &self.directory else {
            return Looked::Unknown;
        };
        directory.look(hash, |place| {
            // SAFETY: what the directory holds are places of this list's nodes, and it loads them with acquire.
            let node = unsafe { self.node_at(place) };
            self.compare(node.key(), key).is_eq().then_some(node)
        })
    }

    /// The neighbour with the key of an entry whose place is right behind the splice's nodes.
    ///
    /// # Safety
    /// The splice must be this list's.
    #[inline]
    unsafe fn kin<'a>(&'a self, splice: &Splice, entry: &NewEntry<'_>) -> Kin<'a> {
        // SAFETY: the caller vouches that the node is this list's.
        let prev = unsafe { NodeRef::<'a>::from_ptr(splice.before[0]) };
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

    /// The node at a place that an insert into this list gave.
    ///
    /// # Safety
    /// The place must be one that an insert into this list returned, and the caller must have come by it from the writer
    /// itself or through an acquire load.
    #[inline]
    unsafe fn node_at(&self, place: Place) -> NodeRef<'_> {
        // SAFETY: the caller vouches for the place, and no chunk is at the zero address.
        let address = unsafe { NonNull::new_unchecked(self.arena.address_of(place)) };
        // SAFETY: a node of this list, written before its place was given out, in the arena that `self` owns.
        unsafe { NodeRef::from_ptr(address.cast()) }
    }

    /// Whether the target's place is right behind the last inserted node.
    ///
    /// # Safety
    /// The splice must be this list's.
    #[inline]
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "one branch instead of two, see below"
    )]
    unsafe fn follows_last(&self, splice: &Splice, target: &Target<'_>) -> bool {
        // One branch for both ends: for keys in random order each alone would be a coin toss.
        if (target.head < splice.last_head) | (target.head > splice.next_head) {
            return false;
        }
        // SAFETY: the caller vouches that the node is this list's.
        let last = unsafe { NodeRef::from_ptr(splice.last) };
        let behind_last = target.head > splice.last_head
            || last == self.sentinel()
            || self.is_before_tied(last, target);
        behind_last && (target.head < splice.next_head || !self.is_before_tied(last.next(), target))
    }

    /// Links a new node of the splice's height behind the splice's nodes; steps 1 to 4 of the
    /// protocol.
    ///
    /// The splice is read one pointer at a time. A copy of the whole array lost: its wide loads over
    /// a pointer just stored wait until every store before it has reached the cache, those of the
    /// entry's bytes included, which was half of a sequential insert.
    ///
    /// # Safety
    /// The splice must be this list's, and its nodes the last before the new one's place.
    #[inline]
    unsafe fn link<'a>(&'a self, splice: &mut Splice, node: NodeRef<'a>) {
        let height = splice.height;
        // SAFETY: the caller vouches that the node is this list's.
        let prev = unsafe { NodeRef::<'a>::from_ptr(splice.before[0]) };
        let next = prev.next();
        // SAFETY: every node has link 0.
        unsafe { node.set_next_at(0, next) };
        if height > 1 {
            for (level, &before) in (1..).zip(&splice.before[1..height]) {
                // SAFETY: the caller vouches that the node is this list's.
                let before = unsafe { NodeRef::<'a>::from_ptr(before) };
                // SAFETY: a splice's node at a level has a link there.
                let after = unsafe { before.next_at(level) };
                // SAFETY: the new node has the splice's height.
                unsafe { node.set_next_at(level, after) };
            }
        }
        node.set_prev(prev);
        // SAFETY: every node has link 0.
        unsafe { prev.set_next_at(0, node) };
        next.set_prev(node);
        splice.before[0] = node.as_ptr();
        if height > 1 {
            for (level, place) in (1..).zip(&mut splice.before[1..height]) {
                // SAFETY: the caller vouches that the node is this list's.
                let before = unsafe { NodeRef::<'a>::from_ptr(*place) };
                // SAFETY: a splice's node at a level has a link there, and so has the new node.
                unsafe { before.set_next_at(level, node) };
                *place = node.as_ptr();
            }
            if height > self.height.load(Ordering::Relaxed) {
                self.height.store(height, Ordering::Relaxed);
            }
        }
        if !self.begun.load(Ordering::Relaxed) {
            self.begun.store(true, Ordering::Relaxed);
        }
        splice.last = node.as_ptr();
        splice.next_head = next.head();
    }
}
