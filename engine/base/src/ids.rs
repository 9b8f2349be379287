//! Identifiers: sequence numbers, file numbers, entry kinds.

use std::fmt;

/// The position of a write in the commit order. 0 is before every write.
pub type SeqNo = u64;

/// The largest sequence number; it leaves eight bits for an entry kind.
pub const SEQ_MAX: SeqNo = (1 << 56) - 1;

/// The number in a file's name. A database never reuses a file number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileNumber(pub u64);

impl fmt::Display for FileNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06}", self.0)
    }
}

/// The effect of an entry on its key. The numbers are stored on disk and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A tombstone.
    Delete = 0,
    /// The value follows.
    Put = 1,
    /// A merge operand follows.
    Merge = 2,
    /// The value is in a value file; a pointer follows.
    Pointer = 3,
    /// The deletion of a range of keys; its end follows. Only in batches.
    RangeDelete = 4,
    /// No entry: the time of the next ones follows, in milliseconds since 1970. Only in batches.
    TimeMark = 7,
}

impl Kind {
    /// Returns the kind with this number, if this version knows it; readers reject others as
    /// "format too new". `docs/format/batch.md` lists reserved numbers.
    #[inline]
    pub const fn from_u8(number: u8) -> Option<Kind> {
        match number {
            0 => Some(Kind::Delete),
            1 => Some(Kind::Put),
            2 => Some(Kind::Merge),
            3 => Some(Kind::Pointer),
            4 => Some(Kind::RangeDelete),
            7 => Some(Kind::TimeMark),
            _ => None,
        }
    }
}
