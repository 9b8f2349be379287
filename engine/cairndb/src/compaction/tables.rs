//! `Tables`: what flushes and compactions need of each other: the flusher, the schedule of
//! compactions, and the removal of value files that no table points to.

use std::sync::Arc;

use crate::compaction::schedule::Schedule;
use crate::durable::dead_files::DeadFiles;
use crate::durable::disk::Disk;
use crate::flush::flusher::Flusher;
use crate::versions::base::Base;

pub(crate) struct Tables {
    pub(crate) flusher: Flusher,
    pub(crate) schedule: Schedule,
    pub(crate) dead_files: DeadFiles,
}

impl Tables {
    pub(crate) fn new(base: &Arc<Base>, disk: &Arc<Disk>) -> Tables {
        Tables {
            flusher: Flusher::new(base, disk),
            schedule: Schedule::new(base),
            dead_files: DeadFiles::new(base, disk),
        }
    }
}
