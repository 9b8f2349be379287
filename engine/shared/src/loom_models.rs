//! Loom models: a writer and a follower in every interleaving with a bounded number of preemptions
//! and every reordering that C11 atomics allow.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p cairndb-shared --lib`. The protocol is the code
//! that runs; the models add what a file system does: a file exists or was removed. Manifest 1
//! names the file [`FILE`], manifest 2 does not.
//!
//! A writer stores a generation and loads slots, while a follower stores its slot and loads the
//! generation. That this cannot miss both rests on `SeqCst` fences only, which loom orders totally.
//! Two limits of loom: it lets two such fences synchronise by themselves, which C11 does not, and a
//! fence follows the operation before it without an interruption.

use std::sync::Arc;

use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;

use crate::layout::{LogPosition, Needs, WORDS};
use crate::sync::Words;
use crate::{Announced, Holder, LogWish, Pin, Shared, SharedLog, Slot};

/// Number of the file that the writer removes.
const FILE: u64 = 5;

/// A database with one file, one writer and one follower.
struct World {
    writer: Shared,
    follower: Shared,
    /// The follower's slot, in models that begin with one.
    slot: Option<Arc<Slot>>,
    /// Whether the file was removed.
    removed: AtomicBool,
}

impl World {
    /// Returns a database whose first manifest, up to 10, was announced in generation 2.
    fn new() -> World {
        let world = World::without_slot();
        let slot = world.take_slot();
        World {
            slot: Some(slot),
            ..world
        }
    }

    fn without_slot() -> World {
        let (ours, theirs) = Words::new(WORDS);
        let set_up = |words| Shared::set_up(words, "SHARED").expect("the words are ours");
        let (writer, follower) = (set_up(ours), set_up(theirs));
        assert!(writer.become_writer().expect("locks of memory work"));
        writer.begin_session(1, 10, (0, 0));
        World {
            writer,
            follower,
            slot: None,
            removed: AtomicBool::new(false),
        }
    }

    fn take_slot(&self) -> Arc<Slot> {
        let slot = Slot::take(&self.follower).expect("the slot is free");
        slot.expect("the words are writable")
    }

    fn slot(&self) -> &Arc<Slot> {
        self.slot.as_ref().expect("the model began with a slot")
    }

    /// Announces a manifest without the file. Returns the generation.
    fn retire(&self) -> u64 {
        self.writer.announce(2, 20);
        self.writer.generation()
    }

    /// Returns what holds the file.
    fn holders(&self, retired: u64) -> Vec<Holder> {
        let mut holders = self.writer.holders();
        holders.retain(|holder| holder.needs(FILE, retired));
        holders
    }

    /// Removes the file if no follower needs it.
    fn remove_unneeded(&self, retired: u64) {
        if self.holders(retired).is_empty() {
            self.removed.store(true, Ordering::Release);
        }
    }

    /// Revokes whatever needs the file, and removes it, as on a full disk.
    fn revoke_and_remove(&self, retired: u64) {
        while let Some(holder) = self.holders(retired).first() {
            let oldest = holder.oldest().expect("it needs a file");
            self.writer.revoke(holder, oldest);
        }
        self.removed.store(true, Ordering::Release);
    }

    /// Asserts that the file is there. Relaxed, because nothing else shows a removal to the reader.
    fn use_file(&self) {
        assert!(!self.removed.load(Ordering::Relaxed), "a file in use");
    }

    /// Pins the file for a view of what is announced, if that names it.
    fn pin(slot: &Arc<Slot>, announced: &Announced) -> Option<Pin> {
        let needs = Needs {
            generation: announced.generation,
            next_file: FILE + 1,
        };
        (announced.manifest == 1).then(|| Pin::new(Some(slot), needs))
    }

    /// Makes a view that nothing revokes, as a follower that catches up.
    fn view(&self, slot: &Arc<Slot>) -> Option<Pin> {
        slot.begin_reading();
        let announced = self.follower.announced();
        let pin = announced.and_then(|announced| World::pin(slot, &announced));
        if pin.is_some() {
            self.use_file();
        }
        slot.end_reading();
        pin
    }
}

/// Runs `follower` concurrently with `writer`.
fn model<S: Send + Sync + 'static>(
    preemptions: usize,
    start: fn() -> S,
    writer: fn(&S),
    follower: fn(&S),
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let world = Arc::new(start());
        let thread = {
            let world = Arc::clone(&world);
            thread::spawn(move || follower(&world))
        };
        writer(&world);
        thread.join().expect("the follower's assertions must hold");
    });
}

#[test]
fn loom_a_file_stays_while_a_reader_may_open_it() {
    let writer = |world: &World| world.remove_unneeded(world.retire());
    model(6, World::new, writer, |world| {
        world.slot().begin_reading();
        let announced = world.follower.announced();
        if announced.is_some_and(|announced| announced.manifest == 1) {
            world.use_file();
        }
        world.slot().end_reading();
    });
}

/// A database whose manifest a follower reads without an announcement, as it does when it opens.
struct Unannounced {
    world: World,
    manifest: AtomicU64,
}

#[test]
fn loom_a_file_stays_while_the_manifest_on_disk_names_it() {
    let start = || Unannounced {
        world: World::new(),
        manifest: AtomicU64::new(1),
    };
    let writer = |at: &Unannounced| {
        at.manifest.store(2, Ordering::Relaxed);
        at.world.remove_unneeded(at.world.retire());
    };
    model(6, start, writer, |at| {
        at.world.slot().begin_reading();
        if at.manifest.load(Ordering::Relaxed) == 1 {
            at.world.use_file();
        }
        at.world.slot().end_reading();
    });
}

#[test]
fn loom_a_file_stays_while_a_view_names_it() {
    let writer = |world: &World| {
        let retired = world.retire();
        world.remove_unneeded(retired);
        world.remove_unneeded(retired);
    };
    model(6, World::new, writer, |world| {
        if let Some(pin) = world.view(world.slot()) {
            world.use_file();
            drop(pin);
        }
    });
}

#[test]
fn loom_a_file_stays_while_one_view_replaces_another() {
    let writer = |world: &World| {
        // A view of another generation takes another entry of the slot.
        world.writer.announce(1, 11);
        world.remove_unneeded(world.retire());
    };
    model(3, World::new, writer, |world| {
        let old = world.view(world.slot());
        let new = world.view(world.slot());
        drop(old);
        if new.is_some() {
            world.use_file();
        }
    });
}

#[test]
fn loom_a_slot_holds_from_its_first_view_on() {
    let writer = |world: &World| world.remove_unneeded(world.retire());
    model(2, World::without_slot, writer, |world| {
        // The second time, the words are those that the first follower has left.
        for _ in 0..2 {
            let slot = world.take_slot();
            if let Some(pin) = world.view(&slot) {
                world.use_file();
                drop(pin);
            }
        }
    });
}

#[test]
fn loom_the_log_stays_for_a_consumer_that_has_begun() {
    let writer = |world: &World| {
        let log = SharedLog::of(&world.writer);
        log.announce_floor(9);
        let needed = log.readers().iter().any(|reader| reader.wish.after < 9);
        if needed {
            log.announce_floor(0);
        } else {
            world.removed.store(true, Ordering::Release);
        }
    };
    model(6, World::new, writer, |world| {
        world.slot().hold_log(&LogWish {
            after: 5,
            lease: None,
            bytes_max: 1,
            interval_us: 0,
        });
        if SharedLog::of(&world.follower).floor() <= 5 {
            world.use_file();
        }
    });
}

/// Returns the position at which the log ends in a model.
fn position(segment: u64) -> LogPosition {
    LogPosition::new(segment, 100)
}

#[test]
fn loom_what_is_announced_is_never_a_mixture() {
    let writer = |world: &World| {
        world.writer.publish(position(1));
        world.writer.announce(2, 20);
        world.writer.publish(position(2));
    };
    model(6, World::new, writer, |world| {
        if let Some(announced) = world.follower.announced() {
            let Announced {
                generation,
                session,
                manifest,
                manifest_end,
                position: end,
            } = announced;
            assert_eq!(session, 1);
            assert_eq!(generation, 2 * manifest);
            assert_eq!(manifest_end, 10 * manifest);
            // Each manifest names the segment of the position.
            let named: &[LogPosition] = match manifest {
                1 => &[LogPosition::of_word(0), position(1)],
                _ => &[position(1), position(2)],
            };
            assert!(named.contains(&end), "{announced:?}");
        }
    });
}

#[test]
fn loom_a_session_is_announced_as_a_whole() {
    let start = || {
        let world = World::new();
        world.writer.publish(position(1));
        world
    };
    let writer = |world: &World| {
        world.writer.begin_session(2, 20, (0, 0));
        world.writer.publish(position(2));
    };
    model(6, start, writer, |world| {
        if let Some(announced) = world.follower.announced() {
            let session = announced.session;
            assert_eq!(announced.generation, 2 * session);
            assert_eq!(announced.manifest, session);
            assert_eq!(announced.manifest_end, 10 * session);
            let end = announced.position;
            let fresh = session == 2 && end.word() == 0;
            assert!(end == position(session) || fresh, "{announced:?}");
        }
    });
}

/// A database with a log of one record.
struct Logged {
    world: World,
    record: AtomicU64,
}

impl Logged {
    fn new() -> Logged {
        Logged {
            world: World::new(),
            record: AtomicU64::new(0),
        }
    }

    fn write_record(&self, segment: u64) {
        // Relaxed: a record is plain memory.
        self.record.store(7, Ordering::Relaxed);
        self.world.writer.publish(position(segment));
    }

    /// Returns whether the record is published. If so, checks that it is visible.
    fn read_record(&self) -> bool {
        let is_published = self.world.follower.position() != 0;
        if is_published {
            assert_eq!(self.record.load(Ordering::Relaxed), 7);
        }
        is_published
    }
}

#[test]
fn loom_published_records_and_seals_are_visible() {
    let writer = |logged: &Logged| {
        logged.world.writer.announce_seal(30);
        logged.write_record(1);
    };
    model(6, Logged::new, writer, |logged| {
        if logged.read_record() {
            assert_eq!(logged.world.follower.seals_since(0), (vec![30], 1));
        }
    });
}

#[test]
fn loom_seals_are_visible_as_they_are_counted() {
    // More seals than the ring holds.
    let writer = |world: &World| (0..3).for_each(|seal| world.writer.announce_seal(10 + seal));
    model(6, World::new, writer, |world| {
        let (first, count) = world.follower.seals_since(0);
        let (second, all) = world.follower.seals_since(count);
        assert!(count <= all && all <= 3);
        // Only those that others have overwritten are missing.
        let known = [first, second].concat();
        let last = (all > 0).then(|| 9 + all);
        assert!(
            known.iter().all(|seal| (10..13).contains(seal)),
            "{known:?}"
        );
        assert!(last.is_none_or(|last| known.iter().any(|seal| *seal >= last)));
    });
}

#[test]
fn loom_a_position_is_in_a_segment_that_the_generation_names() {
    let writer = |logged: &Logged| {
        logged.world.writer.announce(2, 20);
        logged.write_record(2);
    };
    model(6, Logged::new, writer, |logged| {
        // The order of a follower that catches up.
        if logged.read_record() {
            assert_eq!(logged.world.follower.generation(), 4);
            let announced = logged.world.follower.announced();
            assert_eq!(announced.map(|it| it.manifest), Some(2));
        }
    });
}

/// A follower with a view, and a flag that the writer sets once it has revoked it.
struct Revocable {
    world: World,
    pin: Pin,
    is_revoked: AtomicBool,
}

#[test]
fn loom_a_view_is_revoked_before_its_file_is_removed() {
    let start = || {
        let world = World::new();
        Revocable {
            pin: world.view(world.slot()).expect("manifest 1 names it"),
            world,
            is_revoked: AtomicBool::new(false),
        }
    };
    let writer = |at: &Revocable| {
        let retired = at.world.retire();
        let holders = at.world.holders(retired);
        let oldest = holders[0].oldest().expect("it holds a view");
        at.world.writer.revoke(&holders[0], oldest);
        at.is_revoked.store(true, Ordering::Release);
        at.world.revoke_and_remove(retired);
    };
    model(6, start, writer, |at| {
        let was_revoked = at.is_revoked.load(Ordering::Acquire);
        let checked = at.pin.check();
        assert!(!was_revoked || checked.is_err(), "revoked before the check");
        if at.world.removed.load(Ordering::Acquire) {
            assert!(at.pin.check().is_err(), "a missing file of a valid view");
        }
    });
}

#[test]
fn loom_a_view_that_is_revoked_while_it_is_made_is_given_up() {
    let writer = |world: &World| {
        // The follower may hold an older generation than the one whose files it reads.
        world.writer.announce(1, 11);
        let retired = world.retire();
        world.revoke_and_remove(retired);
    };
    model(4, World::new, writer, |world| {
        let slot = world.slot();
        let reading = slot.begin_reading();
        let announced = world.follower.announced();
        let pin = announced.and_then(|announced| World::pin(slot, &announced));
        let is_revoked = slot.is_revoked_since(reading);
        slot.end_reading();
        if let Some(pin) = pin
            && !is_revoked
            && world.removed.load(Ordering::Acquire)
        {
            assert!(pin.check().is_err(), "a missing file of a valid view");
        }
    });
}
