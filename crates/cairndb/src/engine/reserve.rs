//! A reserve of disk space that is kept for making room: deletions, flushes and merges that free more
//! than they take.
//!
//! On a full disk nothing can be deleted without it: a tombstone has to be logged, flushed to a table and
//! merged before one byte is free. So while a file system is nearly full the database keeps files there
//! for nothing, and gives them up when it finds no room ([`crate::engine::full_disk`]). They are log files
//! that are no segment yet, so that an opening uses or removes them as it does with spare ones.
//!
//! Not always: the reserve is larger than all that a small idle database takes. A disk that others fill
//! between two looks is met without one, and then what is left must do.
//!
//! Invariant: while the reserve is given up (`short`) only what makes room may be written.
//!
//! Locks: `held`, inside all others; files are created under it, one handle's at a time.

use cairndb_base::FileNumber;
use cairndb_env::Space;
use cairndb_format::name;

use crate::engine::core::Core;
use crate::state::reserve::{Held, Plan};

/// Large values after which free space is looked at again.
const APPENDED_BYTES: u64 = 16 << 20;

impl Core {
    /// How much room there is, and what is kept of it; `None` where nothing is known.
    pub(crate) fn space(&self) -> Option<(Space, Plan)> {
        let space = self.dir.space().ok().flatten()?;
        Some((space, Plan::new(&self.settings.budget, space.total)))
    }

    /// Whether the file system is nearly full.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.space()
            .is_some_and(|(space, plan)| space.free < plan.near)
    }

    /// Looks at the free space, and takes or gives back the reserve, unless it was given up. About a
    /// microsecond where nothing is to be done; before files are begun.
    pub(crate) fn tend_reserve(&self) {
        let Some((space, plan)) = self.space() else {
            return;
        };
        let mut held = self.reserve.held.lock();
        if !held.short {
            self.tend(&mut held, space, plan);
        }
    }

    /// Takes a reserve that was given up again, if there is room; whether there is one now, or no need.
    pub(crate) fn retake_reserve(&self) -> bool {
        let mut held = self.reserve.held.lock();
        if held.short
            && let Some((space, plan)) = self.space()
        {
            self.tend(&mut held, space, plan);
        }
        !held.short
    }

    fn tend(&self, held: &mut Held, space: Space, plan: Plan) {
        held.appended = 0;
        let small = plan.table_bytes < self.settings.budget.table;
        held.table_bytes = small.then_some(plan.table_bytes);
        if space.free >= plan.near {
            held.short = false;
            // Some way above, so that it is not taken and given back in turns.
            if space.free >= plan.near + plan.bytes {
                for file in held.files.drain(..) {
                    self.reaper.add(name::log(FileNumber(file)));
                }
            }
            return;
        }
        let missing = plan.files.saturating_sub(held.files.len());
        // A quarter more, for what is begun before the next look.
        let room = missing as u64 * self.settings.budget.segment / 4 * 5;
        if held.short && space.free < room {
            return;
        }
        for _ in 0..missing {
            let Ok((number, region)) = self.create_log(self.settings.budget.segment) else {
                return;
            };
            drop(region);
            held.files.push(number.0);
        }
        held.short = false;
    }

    /// The same, once enough large values were appended since.
    pub(crate) fn tend_reserve_after(&self, appended: u64) {
        let mut held = self.reserve.held.lock();
        held.appended += appended;
        let due = held.appended >= APPENDED_BYTES;
        drop(held);
        if due {
            self.tend_reserve();
        }
    }

    /// Gives the reserve up; whether there was any.
    pub(crate) fn give_up_reserve(&self) -> bool {
        let mut held = self.reserve.held.lock();
        held.short = true;
        let files = std::mem::take(&mut held.files);
        drop(held);
        for file in &files {
            self.reaper.add(name::log(FileNumber(*file)));
        }
        !files.is_empty() && self.reap()
    }

    /// Where tables are to be cut.
    pub(crate) fn table_bytes(&self) -> u64 {
        let small = self.reserve.table_bytes();
        small.unwrap_or(self.settings.budget.table)
    }
}
