//! A tree in a directory: its configuration, and how it is opened and closed.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bench_core::engine::{Role, Store, Variant};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;
use bf_tree::{BfTree, Config, ConfigError, ScanReturnField, WalConfig};

use crate::recovery;
use crate::session::{BfTreeSession, FIRST_KEY};

/// The largest value of the rows that run: half of a leaf of the largest size, less what a record
/// needs besides.
pub const LARGEST_VALUE: usize = 16_000;
/// The largest record of a leaf of the default size.
const RECORD_BYTES: usize = 1952;
const LEAF_BYTES: usize = 4096;
const LARGE_LEAF_BYTES: usize = 32 << 10;
/// The log is written in units of this size, or of a large leaf: a record must fit into one.
const SEGMENT_BYTES: usize = 4096;
/// The harness looks up keys that are somewhat longer than those it stores.
const LONGER_KEYS: usize = 8;
const KEY_BYTES: usize = 16;
/// What a leaf needs besides two records and two fences, rounded up.
const LEAF_OVERHEAD: usize = 128;

#[expect(clippy::needless_pass_by_value, reason = "the argument of `map_err`")]
fn fault(error: ConfigError) -> Fault {
    Fault::new(format!("{error:?}"))
}

#[expect(clippy::needless_pass_by_value, reason = "the argument of `map_err`")]
fn io_fault(error: std::io::Error) -> Fault {
    Fault::new(error.to_string())
}

/// The files of a store.
#[derive(Debug)]
struct Files {
    /// The contents at the last close.
    snapshot: PathBuf,
    /// The pages of the open tree.
    tree: PathBuf,
    /// What was written since the snapshot.
    log: PathBuf,
}

impl Files {
    fn of(dir: &Path) -> Files {
        Files {
            snapshot: dir.join("snapshot"),
            tree: dir.join("tree"),
            log: dir.join("log"),
        }
    }

    /// Removes everything but the snapshot.
    fn remove_others(&self) -> Result<(), Fault> {
        for path in [&self.log, &self.tree] {
            if path.exists() {
                fs::remove_file(path).map_err(io_fault)?;
            }
        }
        Ok(())
    }
}

/// The sizes that follow from the settings.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    buffer: usize,
    leaf: usize,
    key: usize,
    record: usize,
    segment: usize,
}

impl Sizes {
    fn of(settings: &Settings) -> Sizes {
        let key = KEY_BYTES.max(settings.key_bytes + LONGER_KEYS);
        let record_in = |leaf: usize| (leaf - LEAF_OVERHEAD) / 2 - key;
        let small = record_in(LEAF_BYTES).min(RECORD_BYTES);
        let (leaf, record, segment) = if settings.key_bytes + settings.value_bytes <= small {
            (LEAF_BYTES, small, SEGMENT_BYTES)
        } else {
            let record = record_in(LARGE_LEAF_BYTES);
            (LARGE_LEAF_BYTES, record, LARGE_LEAF_BYTES)
        };
        let total = usize::try_from(settings.memory.total_bytes).unwrap_or(usize::MAX);
        Sizes {
            buffer: 1 << total.max(4 * leaf).ilog2(),
            leaf,
            key,
            record,
            segment,
        }
    }
}

/// An open tree.
pub struct BfTreeStore {
    tree: BfTree,
    files: Files,
    sizes: Sizes,
    settings: Settings,
}

impl fmt::Debug for BfTreeStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("BfTreeStore");
        debug.field("files", &self.files).finish_non_exhaustive()
    }
}

impl BfTreeStore {
    /// Opens the tree in a directory.
    pub(crate) fn open(dir: &Path, settings: &Settings) -> Result<BfTreeStore, Fault> {
        let files = Files::of(dir);
        let sizes = Sizes::of(settings);
        if files.log.exists() {
            // The process ended without closing the store.
            let tree = start(&files, sizes, None)?;
            recovery::apply(&tree, &files.log, sizes.segment)?;
            save(&tree, &files, sizes)?;
        }
        files.remove_others()?;
        let log = (settings.variant == Variant::Fair).then(|| {
            let mut log = WalConfig::new(&files.log);
            log.segment_size(sizes.segment);
            log.flush_interval(Duration::from_micros(1));
            Arc::new(log)
        });
        let tree = start(&files, sizes, log)?;
        // The log counts its first record as written before it is. This makes one that no one
        // needs.
        tree.delete(FIRST_KEY);
        Ok(BfTreeStore {
            tree,
            files,
            sizes,
            settings: *settings,
        })
    }
}

/// Starts a tree with the contents of the snapshot, or an empty one if there is none.
fn start(files: &Files, sizes: Sizes, log: Option<Arc<WalConfig>>) -> Result<BfTree, Fault> {
    if files.snapshot.exists() {
        fs::copy(&files.snapshot, &files.tree).map_err(io_fault)?;
        let buffer = Some(sizes.buffer);
        return BfTree::new_from_cpr_snapshot(&files.tree, true, None, buffer, log).map_err(fault);
    }
    if files.tree.exists() {
        fs::remove_file(&files.tree).map_err(io_fault)?;
    }
    let mut config = Config::new(&files.tree, sizes.buffer);
    config.leaf_page_size(sizes.leaf);
    config.cb_max_key_len(sizes.key);
    config.cb_max_record_size(sizes.record);
    config.use_snapshot(true);
    // Whole leaves in the buffer would damage the snapshot: see the head of the crate.
    config.write_load_full_page(false);
    config.scan_promotion_rate(0);
    if let Some(log) = log {
        config.enable_write_ahead_log(log);
    }
    BfTree::with_config(config, None).map_err(fault)
}

/// Replaces the snapshot with one of the tree.
///
/// A snapshot contains the mini-pages, and cannot be opened with a buffer that has no room for
/// them. A scan writes them into their leaves.
fn save(tree: &BfTree, files: &Files, sizes: Sizes) -> Result<(), Fault> {
    let mut record = vec![0; sizes.record.max(tree.config().get_cb_max_record_size())];
    let scan = tree.scan_with_count(FIRST_KEY, usize::MAX, ScanReturnField::Key);
    let mut scan = scan.map_err(|error| Fault::new(format!("{error:?}")))?;
    while scan.next(&mut record).is_some() {}
    drop(scan);
    tree.cpr_snapshot(&files.snapshot);
    Ok(())
}

impl Store for BfTreeStore {
    type Session<'s> = BfTreeSession<'s>;

    fn session(&self, _role: Role) -> Result<BfTreeSession<'_>, Fault> {
        Ok(BfTreeSession::new(&self.tree))
    }

    fn options(&self) -> Vec<(String, String)> {
        let config = self.tree.config();
        let log = match self.settings.variant {
            Variant::Fair => format!("segments of {} bytes, every 1 us", self.sizes.segment),
            Variant::Seed => "none".to_owned(),
        };
        let reported = [
            ("cb_size_byte", config.get_cb_size_byte().to_string()),
            ("leaf_page_size", config.get_leaf_page_size().to_string()),
            (
                "cb_max_record_size",
                config.get_cb_max_record_size().to_string(),
            ),
            ("write_load_full_page", "false".to_owned()),
            ("scan_promotion_rate", "0".to_owned()),
            ("write_ahead_log", log),
            ("storage_backend", "Std".to_owned()),
            ("compression", "none (it has none)".to_owned()),
        ];
        let reported = reported.map(|(name, value)| (name.to_owned(), value));
        reported.into_iter().chain(self.settings.unused()).collect()
    }

    /// Writes a snapshot, from which the store is opened again.
    fn close(self) -> Result<(), Fault> {
        save(&self.tree, &self.files, self.sizes)?;
        drop(self.tree);
        self.files.remove_others()
    }
}
