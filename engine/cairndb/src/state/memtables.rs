//! Memtables that are filled and sealed together, one for each section that was written to.
//!
//! They share the budget, the log and the moment of their seal, so a busy keyspace gets nearly all
//! of the memory, and idle ones neither cause flushes nor hold the log.

use std::sync::Arc;

use cairndb_base::{SEQ_MAX, SeqNo};
use cairndb_mem::{MemWriter, Memtable};

use crate::state::sections::{Section, Sections};

/// Memtables of one seal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memtables(Sections<Option<Arc<Memtable>>>);

impl Memtables {
    /// Returns the memtable of `section`, if it was written to.
    #[inline]
    pub(crate) fn part(&self, section: Section) -> Option<&Arc<Memtable>> {
        self.0[section].as_ref()
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        self.0.iter().flatten()
    }

    /// Adds the memtable of a section that has none.
    pub(crate) fn add(&mut self, section: Section, part: Arc<Memtable>) {
        let before = self.0.get_mut(section).replace(part);
        assert!(before.is_none(), "a section has one memtable at a time");
    }

    /// Removes the memtable of `section`, if it has one.
    pub(crate) fn take(&mut self, section: Section) -> Option<Arc<Memtable>> {
        self.0.get_mut(section).take()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts().all(|part| part.is_empty())
    }

    pub(crate) fn allocated_bytes(&self) -> usize {
        self.parts().map(|part| part.allocated_bytes()).sum()
    }

    /// Returns the smallest sequence number; [`SEQ_MAX`] while empty.
    pub(crate) fn seq_min(&self) -> SeqNo {
        let parts = self.parts().map(|part| part.seq_min());
        parts.min().unwrap_or(SEQ_MAX)
    }

    /// Returns the largest sequence number; 0 while empty.
    pub(crate) fn seq_max(&self) -> SeqNo {
        self.parts().map(|part| part.seq_max()).max().unwrap_or(0)
    }
}

/// The right to insert into memtables.
#[derive(Debug, Default)]
pub(crate) struct MemWriters(Sections<Option<MemWriter>>);

impl MemWriters {
    /// Returns the writer of `section`.
    ///
    /// # Panics
    /// If it has none: the caller has prepared the section.
    #[inline]
    pub(crate) fn of(&mut self, section: Section) -> &mut MemWriter {
        let writer = self.0.get_mut(section).as_mut();
        writer.expect("a section has a memtable before it is written to")
    }

    /// Adds the writer of a section that has none.
    pub(crate) fn add(&mut self, section: Section, writer: MemWriter) {
        let before = self.0.get_mut(section).replace(writer);
        assert!(before.is_none(), "a section has one memtable at a time");
    }

    /// Removes the writer of `section`, if it has one.
    pub(crate) fn take(&mut self, section: Section) -> Option<MemWriter> {
        self.0.get_mut(section).take()
    }

    #[inline]
    pub(crate) fn has(&self, section: Section) -> bool {
        self.0[section].is_some()
    }

    /// Returns whether an entry of this size fits into the capacity that all share.
    #[inline]
    pub(crate) fn has_room(&self, section: Section, key_len: usize, value_len: usize) -> bool {
        if let (Section::Default, [Some(writer), None, None]) = (section, &self.0.0) {
            return writer.has_room(key_len, value_len);
        }
        self.has_room_beside(section, key_len, value_len)
    }

    /// The same with memtables of several sections.
    #[inline(never)]
    fn has_room_beside(&self, section: Section, key_len: usize, value_len: usize) -> bool {
        // A section that has no memtable yet gets one of the same capacity.
        let section = if self.has(section) {
            section
        } else {
            Section::Default
        };
        let others = Section::ALL.into_iter().filter(|other| *other != section);
        let writers = others.filter_map(|other| self.0[other].as_ref());
        let others = writers.map(|writer| writer.table().bytes_used()).sum();
        let writer = self.0[section].as_ref();
        writer.is_some_and(|writer| writer.has_room_beside(others, key_len, value_len))
    }
}
