//! `Slot`: where a follower says which files it needs.
//!
//! A follower first holds *everything* from the present generation on, then reads the manifest and
//! makes a view, then holds what the view names, and stops holding everything. Each view is held
//! until its last reader is gone. The writer removes a file only if no slot needs it.

use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::Origin;

use crate::layout::{Needs, SLOTS, SlotWords, VIEWS};
use crate::shared::Shared;
use crate::sync::{Mutex, Ordering, fence};

/// A view in the slot.
#[derive(Clone, Copy, Debug)]
struct Held {
    needs: Needs,
    /// Number of versions that share the entry.
    count: usize,
}

/// The slot of one follower. Dropping it frees it; so does the end of the process.
#[derive(Debug)]
pub struct Slot {
    pub(crate) shared: Shared,
    pub(crate) words: SlotWords,
    views: Mutex<[Option<Held>; VIEWS]>,
    /// The process that took it. A forked child shares the words, and must not change them.
    origin: Origin,
}

/// Keeps the files of a version as long as the writer allows.
#[derive(Debug)]
pub struct Pin {
    slot: Option<Arc<Slot>>,
    index: usize,
}

/// Returns the error of a view whose files the writer has removed.
#[cold]
pub fn revoked() -> Error {
    Error::new(
        ErrorKind::Revoked,
        "the process that writes has removed files of this view; take a new snapshot or cursor",
    )
}

impl Slot {
    /// Takes a free slot; `None` if this process may not write the shared memory. Each slot needs a
    /// separate [`Shared`]: locks belong to the open file.
    ///
    /// # Errors
    /// `Locked` if every slot is taken; those of the lock.
    pub fn take(shared: &Shared) -> Result<Option<Arc<Slot>>> {
        let file = shared.file();
        if !file.is_writable() {
            return Ok(None);
        }
        for words in (0..SLOTS).map(SlotWords::of) {
            if !file.try_lock(words.process())? {
                continue;
            }
            // Before the process is named, so that nobody sees what an earlier one has left.
            for index in 0..VIEWS {
                shared.word(words.view(index).0).store(0, Ordering::Relaxed);
            }
            let first = [words.reading(), words.lease(), words.revoked()];
            for word in first.into_iter().chain([words.log(), words.log_wish()]) {
                shared.word(word).store(0, Ordering::Relaxed);
            }
            let process = file.process();
            let (namespace, started) = (process.namespace, process.started);
            shared
                .word(words.namespace())
                .store(namespace, Ordering::Relaxed);
            shared
                .word(words.started())
                .store(started, Ordering::Relaxed);
            // Never 0, which is a free slot.
            let number = process.number.max(1);
            shared
                .word(words.process())
                .store(number, Ordering::Release);
            return Ok(Some(Arc::new(Slot {
                shared: shared.clone(),
                words,
                views: Mutex::new([None; VIEWS]),
                origin: Origin::here(),
            })));
        }
        Err(Error::new(
            ErrorKind::Locked,
            "there are too many followers of this database; close some",
        )
        .file(shared.name())
        .expected(format_args!("at most {SLOTS}")))
    }

    /// Holds everything from now on, until [`Slot::end_reading`]. Returns the generation since
    /// which it does, at least 1: 0 means that nothing is held.
    pub fn begin_reading(&self) -> u64 {
        let reading = self.shared.word(self.words.reading());
        loop {
            let generation = self.shared.generation();
            let held = generation.max(1);
            reading.store(held, Ordering::Release);
            // Either the writer sees this slot before it removes a file, or this process sees the
            // generation without the file.
            fence(Ordering::SeqCst);
            if self.shared.generation() == generation {
                return held;
            }
        }
    }

    /// Holds only the views from now on.
    pub fn end_reading(&self) {
        self.shared
            .word(self.words.reading())
            .store(0, Ordering::Release);
    }

    /// Renews the lease until this time.
    pub fn lease_until(&self, ns: u64) {
        self.shared
            .word(self.words.lease())
            .store(ns, Ordering::Relaxed);
    }

    /// Returns whether the writer has revoked what was held since [`Slot::begin_reading`] returned
    /// `reading`. Called after the view is pinned, which may be of a later generation.
    pub fn is_revoked_since(&self, reading: u64) -> bool {
        // Either the writer sees the pin before it removes a file, or this process sees that the
        // writer has revoked what it held before.
        fence(Ordering::SeqCst);
        self.revoked() >= reading
    }

    /// Returns the generation up to which everything is revoked.
    #[inline]
    pub fn revoked(&self) -> u64 {
        self.shared.load(self.words.revoked())
    }

    /// Adds a view, which the slot holds until the pin is dropped.
    fn add(&self, needs: Needs) -> usize {
        let mut views = self.views.lock();
        let same = |held: &Option<Held>| held.is_some_and(|held| held.needs == needs);
        let at = views.iter().position(same);
        let at = at.or_else(|| views.iter().position(Option::is_none));
        // Without room, the newest view stands for several: it needs what any of them needs.
        let newest = || {
            let generation = |at: &usize| views[*at].map(|held| held.needs.generation);
            (0..VIEWS).max_by_key(generation).expect("there are views")
        };
        let at = at.unwrap_or_else(newest);
        let held = views[at].map_or(Held { needs, count: 1 }, |held| Held {
            needs: Needs {
                generation: held.needs.generation.min(needs.generation),
                next_file: held.needs.next_file.max(needs.next_file),
            },
            count: held.count + 1,
        });
        views[at] = Some(held);
        let (generation, next_file) = self.words.view(at);
        // In this order, so that whatever the writer sees in between holds enough.
        let word = self.shared.word(next_file);
        word.store(held.needs.next_file, Ordering::Release);
        let word = self.shared.word(generation);
        word.store(held.needs.generation, Ordering::Release);
        at
    }

    fn remove(&self, at: usize) {
        if !self.origin.is_here() {
            return;
        }
        let mut views = self.views.lock();
        let held = views[at].as_mut().expect("a pin is dropped once");
        held.count -= 1;
        if held.count == 0 {
            views[at] = None;
            let (generation, _) = self.words.view(at);
            self.shared.word(generation).store(0, Ordering::Release);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.origin.is_here() {
            return;
        }
        self.end_reading();
        self.shared
            .word(self.words.process())
            .store(0, Ordering::Release);
        self.shared.file().unlock(self.words.process());
    }
}

impl Pin {
    /// Holds the files that a view of this generation names. Without a slot, nothing is held.
    pub fn new(slot: Option<&Arc<Slot>>, needs: Needs) -> Pin {
        Pin {
            index: slot.map_or(0, |slot| slot.add(needs)),
            slot: slot.map(Arc::clone),
        }
    }

    /// Returns whether the writer has removed files of the view, or may do so.
    #[inline]
    pub fn is_revoked(&self) -> bool {
        self.slot.as_ref().is_some_and(|slot| {
            // That of the entry: it may be older than the view's, if several share it.
            let (generation, _) = slot.words.view(self.index);
            slot.shared.load(generation) <= slot.revoked()
        })
    }

    /// Checks that the view may still be read.
    ///
    /// # Errors
    /// `Revoked`.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.is_revoked() {
            Err(revoked())
        } else {
            Ok(())
        }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            slot.remove(self.index);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use cairndb_env::implement::SharedHeap;

    use super::*;
    use crate::layout::WORDS;

    #[test]
    fn a_view_of_the_time_before_the_first_announcement_is_held() -> Result<()> {
        let file = SharedHeap::new(WORDS);
        let [writer, follower] = [1, 2].map(|process| Shared::set_up(file.open(process), "SHARED"));
        let (writer, follower) = (writer?, follower?);
        let slot = Slot::take(&follower)?.expect("the words are writable");
        let needs = Needs {
            generation: slot.begin_reading(),
            next_file: 6,
        };
        let pin = Pin::new(Some(&slot), needs);
        slot.end_reading();
        pin.check()?;
        writer.begin_session(1, 10, (0, 0));
        let retired = writer.generation();
        assert!(writer.holders()[0].needs(5, retired));
        assert!(!writer.holders()[0].needs(6, retired));
        drop(pin);
        assert!(writer.holders().is_empty());
        Ok(())
    }

    #[test]
    fn views_that_share_an_entry_are_revoked_together() -> Result<()> {
        let file = SharedHeap::new(WORDS);
        let follower = Shared::set_up(file.open(2), "SHARED")?;
        let slot = Slot::take(&follower)?.expect("the words are writable");
        let pin = |generation| {
            let next_file = 6;
            Pin::new(
                Some(&slot),
                Needs {
                    generation,
                    next_file,
                },
            )
        };
        let count = VIEWS as u64;
        let pins: Vec<Pin> = (1..=count + 1).map(pin).collect();
        // The last two views share an entry, which the writer knows by the older of the two.
        follower
            .word(slot.words.revoked())
            .store(count, Ordering::Relaxed);
        assert!(pins.iter().all(Pin::is_revoked));
        drop(pins);
        assert!(!pin(count + 2).is_revoked());
        Ok(())
    }
}
