//! The layout of `SHARED`: what a writer announces, and what followers hold.
//!
//! The words are atomic and shared by processes that may die at any moment, so this module only
//! says where each value is and how it is encoded. `docs/format/shared.md` has the protocol.

/// Contents of [`MAGIC_WORD`] once the file has been set up.
pub const MAGIC: u64 = u64::from_le_bytes(*b"CAIRNSHR");
/// The version of the layout.
pub const VERSION: u64 = 1;

/// Word of the magic number.
pub const MAGIC_WORD: usize = 0;
/// Word of the version.
pub const VERSION_WORD: usize = 1;
/// Word that the writer keeps locked; its contents are the number of its process.
pub const WRITER_WORD: usize = 2;
/// Word of the session: the number of writers that have set up the file.
pub const SESSION_WORD: usize = 3;
/// Word of the manifest's number.
pub const MANIFEST_WORD: usize = 4;
/// Word of the length of the manifest up to the last whole edit.
pub const MANIFEST_END_WORD: usize = 5;
/// Word of the number of seals in this session.
pub const SEALS_WORD: usize = 6;
/// Word of the log's floor: everything that was logged after this sequence number can be read.
pub const FLOOR_WORD: usize = 7;
/// Word of the last published position of the log.
pub const POSITION_WORD: usize = 8;
/// Word of the generation.
pub const GENERATION_WORD: usize = 9;
/// Word of the sequence number up to which everything is durable.
pub const DURABLE_WORD: usize = 10;

// Loom tracks each word, so its models have few of them.

/// Word that is 1 once the writer looks for requests.
pub const SERVES_WORD: usize = 11;
/// First word of what followers ask of the writer; the models have none.
pub const REQUEST_AT: usize = 16;

/// First word of the ring of seals.
const RING_AT: usize = if cfg!(loom) { 12 } else { 64 };
/// Number of words of the ring.
const RING_WORDS: usize = if cfg!(loom) { 2 } else { 64 };
/// Number of seals in the ring.
pub const RING: u64 = RING_WORDS as u64;

/// First word of the slots.
const SLOTS_AT: usize = RING_AT + RING_WORDS;
/// Number of words of a slot.
const SLOT: usize = 8 + 2 * VIEWS;
/// Number of slots.
pub const SLOTS: usize = if cfg!(loom) { 1 } else { 124 };
/// Number of views in a slot.
pub const VIEWS: usize = if cfg!(loom) { 2 } else { 12 };

/// Number of words: 32 KiB.
pub const WORDS: usize = SLOTS_AT + SLOTS * SLOT;

/// Returns the word of the seal with this number.
pub fn seal_word(seal: u64) -> usize {
    RING_AT + usize::try_from(seal % RING).unwrap_or(0)
}

/// The words of one slot.
///
/// ```
/// use cairndb_shared::layout::{SLOTS, SlotWords, WORDS};
/// let last = SlotWords::of(SLOTS - 1);
/// assert!(last.view(11).1 < WORDS);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotWords {
    at: usize,
}

impl SlotWords {
    /// Returns the words of slot `index`.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn of(index: usize) -> SlotWords {
        assert!(index < SLOTS, "a slot is one of those in the file");
        SlotWords {
            at: SLOTS_AT + index * SLOT,
        }
    }

    /// Word of the process's number; 0 in a free slot. The follower keeps this word locked.
    pub fn process(self) -> usize {
        self.at
    }

    /// Word of the namespace of that number.
    pub fn namespace(self) -> usize {
        self.at + 1
    }

    /// Word of the start of the process.
    pub fn started(self) -> usize {
        self.at + 2
    }

    /// Word of the generation up to which views are revoked.
    pub fn revoked(self) -> usize {
        self.at + 3
    }

    /// Word of the generation since which the follower is reading files to make a view; 0 if it is
    /// not.
    pub fn reading(self) -> usize {
        self.at + 4
    }

    /// Word of the time at which the lease ends, in nanoseconds of the system's monotonic clock; 0
    /// without a lease.
    pub fn lease(self) -> usize {
        self.at + 5
    }

    /// Word of the sequence number after which a consumer of changes needs the log, plus 1; 0
    /// without a consumer, and the maximum once it has fallen off.
    pub fn log(self) -> usize {
        self.at + 6
    }

    /// Word of what else that consumer wants.
    pub fn log_wish(self) -> usize {
        self.at + 7
    }

    /// Words of a view: the generation from which it was made, 0 if there is none, and the number
    /// of the next file then.
    ///
    /// # Panics
    /// If a slot has fewer views.
    pub fn view(self, index: usize) -> (usize, usize) {
        assert!(index < VIEWS, "a slot has so many views");
        (self.at + 8 + 2 * index, self.at + 9 + 2 * index)
    }
}

/// A position in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPosition(u64);

impl LogPosition {
    /// Returns the position at `offset` of a segment.
    #[inline]
    pub fn new(segment: u64, offset: u64) -> LogPosition {
        debug_assert!(offset >> 32 == 0, "segments are shorter than 4 GiB");
        LogPosition(segment << 32 | offset)
    }

    /// Returns the position that a word holds.
    pub fn of_word(word: u64) -> LogPosition {
        LogPosition(word)
    }

    /// Returns the word that holds the position; 0 if nothing was logged.
    #[inline]
    pub fn word(self) -> u64 {
        self.0
    }

    /// Returns whether it is in the segment of this number: only its lower half is known.
    pub fn is_in(self, segment: u64) -> bool {
        self.0 != 0 && self.0 >> 32 == segment & 0xFFFF_FFFF
    }

    /// Returns the offset in the segment.
    pub fn offset(self) -> u64 {
        self.0 & 0xFFFF_FFFF
    }
}

/// Which files a view needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Generation from which the view was made.
    pub generation: u64,
    /// The view names files with smaller numbers.
    pub next_file: u64,
}

impl Needs {
    /// Returns whether it needs a file that no view from `retired` on names.
    pub fn includes(self, file: u64, retired: u64) -> bool {
        self.generation < retired && file < self.next_file
    }
}
