//! `Disk`: what writers append to, and how it becomes durable.
//!
//! * [`group_sync`](crate::durable::group_sync): syncs of the log, for concurrent writers
//! * [`keeping`](crate::durable::keeping): what stays of the log for readers of changes;
//!   [`intervals`](crate::durable::intervals): when it is synced for them
//! * [`persist`](crate::durable::persist): syncs of tables and the manifest that names them

use std::sync::Arc;

use crate::durable::log::Log;
use crate::durable::reserve::DiskReserve;
use crate::durable::value_files::ValueFiles;
use crate::log::commit::Commit;
use crate::log::history::History;
use crate::log::segments::Segments;
use crate::recovery::report::OpenReport;
use crate::versions::base::Base;
use crate::versions::install::Installer;

pub(crate) struct Disk {
    pub(super) base: Arc<Base>,
    pub(crate) log: Arc<Log>,
    pub(crate) value_files: ValueFiles,
    pub(crate) reserve: DiskReserve,
    pub(crate) installer: Installer,
}

impl Disk {
    pub(crate) fn new(
        base: &Arc<Base>,
        commit: Commit,
        segments: (Segments, History),
        report: OpenReport,
    ) -> Disk {
        let log = Arc::new(Log::new(base, commit, segments, report));
        Disk {
            base: Arc::clone(base),
            value_files: ValueFiles::new(base, &log),
            reserve: DiskReserve::new(base, &log),
            installer: Installer::new(base),
            log,
        }
    }
}
