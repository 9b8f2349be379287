//! Node: one entry of a memtable in the arena.
//!
//! ```text
//! head, tag: u64 | key len, value len: u32 | next, prev | key | value
//! ```
//! Instead of the value, a node may hold the address and check of a value that stays in the log
//! (the top bit of `value len` is then set). This takes twelve bytes for a value of any length.
//!
//! Invariants:
//! 1. Everything except the links is written only once, before the node's address is stored
//!    anywhere with release.
//! 2. A node lives as long as its arena.
#![expect(unsafe_code, reason = "nodes are laid out by hand in raw memory")]

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::slice;

use cairndb_base::limits::{LONG_VALUE_BYTES_MIN, VALUE_BYTES_MAX};
use cairndb_base::{Kind, SeqNo};
use cairndb_kernel::{memory_check, prefetch_span};

use crate::chunk::ALIGN;
use crate::sync::{AtomicPtr, Ordering, Witness};

/// A pointer from node to node. Never null.
type Link = AtomicPtr<Node>;

/// Number of bytes prefetched of a node that is about to be read: the fixed part and a short key.
const WHOLE_BYTES: usize = 96;
/// Number of bytes prefetched of a value in the log; the hardware prefetcher loads the rest.
const VALUE_AHEAD_BYTES: usize = 192;

/// Set in `value_len` if the value is stored separately, in the log. Value lengths are well below
/// this bit.
const APART: u32 = 1 << 31;
const _: () = assert!(VALUE_BYTES_MAX < APART as usize);
/// Number of bytes in a node for a value that is stored separately: its address and its check.
const APART_BYTES: usize = size_of::<ApartValue>();

/// The address and check of a value outside the node. Follows the key without alignment.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct ApartValue {
    start: NonNull<u8>,
    check: u32,
}

/// The fixed part of an entry, followed by its key and value.
#[derive(Debug)]
#[repr(C, align(8))]
pub(crate) struct Node {
    head: u64,
    tag: u64,
    key_len: u32,
    value_len: u32,
    next: Link,
    prev: Link,
    witness: Witness,
}

const _: () = assert!(align_of::<Node>() <= ALIGN && align_of::<Link>() <= ALIGN);
const _: () = assert!(size_of::<Node>().is_multiple_of(ALIGN));

/// The contents of a new node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewEntry<'a> {
    /// The key's head; `u64::MAX` and empty slices make a sentinel.
    pub(crate) head: u64,
    /// Sequence number and kind, see [`tag`].
    pub(crate) tag: u64,
    /// The whole key.
    pub(crate) key: &'a [u8],
    /// The value; empty for tombstones.
    pub(crate) value: &'a [u8],
    /// The address of the same value in memory that outlives the list, if the value should not be
    /// copied.
    pub(crate) apart: Option<NonNull<u8>>,
}

impl NewEntry<'_> {
    /// Returns the number of bytes after the key.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        if self.apart.is_some() {
            APART_BYTES
        } else {
            self.value.len()
        }
    }
}

/// Returns the number of bytes in a node for a value of `len` that is also in the log.
#[inline]
pub(crate) const fn logged_room(len: usize) -> usize {
    if stays_apart(len) { APART_BYTES } else { len }
}

/// Returns whether a value of this length stays in the log. For a shorter value, the memory saved
/// is not worth the cost of following the address.
#[inline]
pub(crate) const fn stays_apart(len: usize) -> bool {
    len >= LONG_VALUE_BYTES_MIN
}

/// Returns the check of a value that is stored separately, because later reads may return different
/// bytes. Not inlined, so that an insert and the writing of its node stay one function.
#[inline(never)]
fn check_of(value: &[u8]) -> u32 {
    memory_check(value)
}

/// Packs a sequence number and a kind so that newer entries have larger tags.
#[inline]
pub(crate) fn tag(seq: SeqNo, kind: Kind) -> u64 {
    seq << 8 | kind as u64
}

/// Returns the number of bytes that a node takes in the arena, before rounding, with `room` bytes
/// after its key.
#[inline]
pub(crate) fn node_bytes(key_len: usize, room: usize) -> usize {
    size_of::<Node>() + key_len + room
}

/// A node that stays valid for `'a`, as long as its list is borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeRef<'a> {
    node: NonNull<Node>,
    list: PhantomData<&'a Node>,
}

impl PartialEq for NodeRef<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl<'a> NodeRef<'a> {
    /// Returns the node at an address from [`NodeRef::as_ptr`].
    ///
    /// # Safety
    /// The address must be that of an initialised node whose arena outlives `'a`, and the caller
    /// must have obtained it as the writer or through an acquire load.
    #[inline]
    pub(crate) unsafe fn from_ptr(node: NonNull<Node>) -> NodeRef<'a> {
        NodeRef {
            node,
            list: PhantomData,
        }
    }

    /// Returns the node's address, to be stored together with something that keeps the arena alive.
    #[inline]
    pub(crate) fn as_ptr(self) -> NonNull<Node> {
        self.node
    }

    /// Writes a node into `memory`; both links point to the node itself for now.
    ///
    /// # Safety
    /// `memory` must have [`node_bytes`] bytes, be aligned to [`ALIGN`], belong only to the caller
    /// and live for `'a`. The bytes at `entry.apart` must also stay valid and unchanged for `'a`.
    #[inline]
    pub(crate) unsafe fn write(memory: NonNull<u8>, entry: &NewEntry<'_>) -> NodeRef<'a> {
        let node = memory.cast::<Node>();
        let fixed = Node {
            head: entry.head,
            tag: entry.tag,
            key_len: len_u32(entry.key),
            value_len: len_u32(entry.value) | if entry.apart.is_some() { APART } else { 0 },
            next: Link::new(node.as_ptr()),
            prev: Link::new(node.as_ptr()),
            witness: Witness::written(),
        };
        // SAFETY: the fixed part is at the start of the caller's memory, which is aligned for it.
        unsafe { node.write(fixed) };
        // SAFETY: the key follows the fixed part.
        let key = unsafe { node.add(1) }.cast::<u8>();
        let len = entry.key.len();
        // SAFETY: the caller's memory has room for the key, belongs only to the caller, and may be
        // uninitialised.
        let room = unsafe { slice::from_raw_parts_mut(key.cast().as_ptr(), len) };
        cairndb_kernel::copy_into(room, entry.key);
        // SAFETY: the value follows the key.
        let value = unsafe { key.add(entry.key.len()) };
        if let Some(start) = entry.apart {
            let place = ApartValue {
                start,
                check: check_of(entry.value),
            };
            // SAFETY: the caller's memory has `APART_BYTES` after the key of such an entry.
            unsafe { value.cast::<ApartValue>().write_unaligned(place) };
        } else {
            // SAFETY: the caller's memory ends after the value.
            unsafe { value.copy_from_nonoverlapping(start_of(entry.value), entry.value.len()) };
        }
        // SAFETY: just initialised, and the caller promises `'a`.
        unsafe { NodeRef::from_ptr(node) }
    }

    /// Prefetches the lines of a node with a 16-byte key.
    #[inline]
    pub(crate) fn prefetch_whole(self) {
        prefetch_span(self.node.as_ptr().cast(), WHOLE_BYTES);
    }

    #[inline]
    fn fixed(self) -> &'a Node {
        // SAFETY: a `NodeRef` only refers to initialised nodes that live for 'a (invariants 1, 2).
        let fixed = unsafe { self.node.as_ref() };
        fixed.witness.read();
        fixed
    }

    /// Returns the key's head.
    #[inline]
    pub(crate) fn head(self) -> u64 {
        self.fixed().head
    }

    /// Returns the sequence number and kind.
    #[inline]
    pub(crate) fn tag(self) -> u64 {
        self.fixed().tag
    }

    /// Returns the sequence number.
    #[inline]
    pub(crate) fn seq(self) -> SeqNo {
        self.tag() >> 8
    }

    /// Returns the kind.
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        Kind::from_u8(self.tag().to_le_bytes()[0]).expect("tags contain valid kinds")
    }

    /// Returns the whole key.
    #[inline]
    pub(crate) fn key(self) -> &'a [u8] {
        let fixed = self.fixed();
        // SAFETY: the key was written right after the fixed part.
        let start = unsafe { self.node.add(1) }.cast::<u8>();
        // SAFETY: `key_len` bytes were written there before the node was published.
        unsafe { slice::from_raw_parts(start.as_ptr(), fixed.key_len as usize) }
    }

    /// Returns the value. A value stored separately may be used only if [`NodeRef::is_whole`]
    /// returns `true`.
    #[inline]
    pub(crate) fn value(self) -> &'a [u8] {
        let len = (self.fixed().value_len & !APART) as usize;
        let start = match self.place() {
            None => self.behind_key(),
            Some(place) => place.start,
        };
        // SAFETY: `len` bytes were written after the key before the node was published; or they are
        // stored separately, and the inserter promised that they stay valid as long as the node.
        unsafe { slice::from_raw_parts(start.as_ptr(), len) }
    }

    /// Returns whether the value is unchanged since its insert: a failing disk may have changed the
    /// memory of a value that is stored separately.
    #[inline]
    pub(crate) fn is_whole(self) -> bool {
        self.place()
            .is_none_or(|place| place.check == check_of(self.value()))
    }

    /// Prefetches the value's cache lines if the value is stored separately.
    #[inline]
    pub(crate) fn prefetch_value(self) {
        if let Some(place) = self.place() {
            let len = (self.fixed().value_len & !APART) as usize;
            prefetch_span(place.start.as_ptr(), len.min(VALUE_AHEAD_BYTES));
        }
    }

    /// Returns the address and check of the value, unless it is in the node.
    #[inline]
    fn place(self) -> Option<ApartValue> {
        if self.fixed().value_len & APART == 0 {
            return None;
        }
        let place = self.behind_key().cast::<ApartValue>();
        // SAFETY: the bit is set, so an `ApartValue` was written there before the node was
        // published.
        Some(unsafe { place.read_unaligned() })
    }

    /// Returns the address after the key.
    #[inline]
    fn behind_key(self) -> NonNull<u8> {
        let fixed = self.fixed();
        // SAFETY: the key was written right after the fixed part.
        let key = unsafe { self.node.add(1) }.cast::<u8>();
        // SAFETY: the value, or its address, was written right after the key's `key_len` bytes.
        unsafe { key.add(fixed.key_len as usize) }
    }

    /// Returns the node after this one.
    #[inline]
    pub(crate) fn next(self) -> NodeRef<'a> {
        // Acquire: pairs with the release in `set_next`; the next node's bytes become visible.
        NodeRef::from_loaded(self.fixed().next.load(Ordering::Acquire))
    }

    /// Makes `next` this node's successor and publishes its bytes.
    #[inline]
    pub(crate) fn set_next(self, next: NodeRef<'a>) {
        self.fixed()
            .next
            .store(next.node.as_ptr(), Ordering::Release);
    }

    /// Returns the node before this one.
    #[inline]
    pub(crate) fn prev(self) -> NodeRef<'a> {
        // Acquire: pairs with the release in `set_prev`.
        NodeRef::from_loaded(self.fixed().prev.load(Ordering::Acquire))
    }

    /// Makes `prev` this node's predecessor and publishes its bytes.
    #[inline]
    pub(crate) fn set_prev(self, prev: NodeRef<'a>) {
        self.fixed()
            .prev
            .store(prev.node.as_ptr(), Ordering::Release);
    }

    #[inline]
    fn from_loaded(node: *mut Node) -> NodeRef<'a> {
        // SAFETY: links are never null; `write` and the setters store only addresses of nodes.
        let node = unsafe { NonNull::new_unchecked(node) };
        // SAFETY: acquire loads of links return nodes of the same arena, which outlives 'a.
        unsafe { NodeRef::from_ptr(node) }
    }
}

#[inline]
fn start_of(bytes: &[u8]) -> NonNull<u8> {
    NonNull::from(bytes).cast()
}

#[inline]
fn len_u32(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("lengths were checked against the limits")
}
