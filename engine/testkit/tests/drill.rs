//! Tests of the crash tests, on media that lie. If the oracle accepted a state after a skipped
//! sync, it could also not detect an engine that forgets the sync.
//!
//! Each drill represents a known failure of some store. The crash tests must detect it within a few
//! workloads.

#![expect(clippy::print_stdout, reason = "tests print their findings")]

use cairndb_sim::{Effect, Fault, OpKind};
use cairndb_testkit::campaign::{Campaign, Effort};

/// Maximum number of workloads that a drill may take.
const WORKLOADS_MAX: u64 = 40;

/// Runs workloads under the fault until a violation is found.
fn finds(name: &str, fault: &Fault) {
    let campaign = Campaign::default();
    let mut seed = 0;
    while campaign.violations() == 0 {
        assert!(seed < WORKLOADS_MAX, "{name}: not found: {campaign}");
        campaign.lying(seed, 120, fault.clone(), &Effort::LONG);
        seed += 1;
    }
    println!("{name}: found in workload {seed}: {}", campaign.kept()[0]);
}

fn lies(kind: OpKind, name: &str) -> Fault {
    Fault::on(kind, name, Effect::SyncLies).sticky()
}

#[test]
fn a_missing_directory_sync_is_found() {
    finds("no directory sync", &lies(OpKind::SyncDir, ""));
}

#[test]
fn an_unsynced_manifest_is_found() {
    finds("manifest not synced", &lies(OpKind::SyncFile, "MANIFEST"));
}

#[test]
fn an_unsynced_log_is_found() {
    finds("log not synced", &lies(OpKind::SyncFile, ".log"));
}

#[test]
fn an_unsynced_current_is_found() {
    finds("CURRENT not synced", &lies(OpKind::SyncFile, ".tmp"));
}

#[test]
fn an_unsynced_table_is_found() {
    finds("table not synced", &lies(OpKind::SyncFile, ".tbl"));
}

#[test]
fn an_unsynced_value_file_is_found() {
    finds("value file not synced", &lies(OpKind::SyncFile, ".val"));
}

#[test]
fn one_ignored_sync_error_is_found() {
    // The error is reported on a descriptor that is not used again. A later sync of the file has
    // nothing left to write.
    let late = |name| Fault::on(OpKind::SyncFile, name, Effect::SyncReportsLate);
    finds("one table sync fails unnoticed", &late(".tbl"));
}

#[test]
fn one_sync_that_was_not_done_is_found() {
    let once = |kind, name| Fault::on(kind, name, Effect::SyncLies).after(3);
    finds("one log sync is missing", &once(OpKind::SyncFile, ".log"));
    finds("one table sync is missing", &once(OpKind::SyncFile, ".tbl"));
    finds(
        "one manifest sync is missing",
        &once(OpKind::SyncFile, "MANIFEST"),
    );
    finds("one directory sync is missing", &once(OpKind::SyncDir, ""));
}
