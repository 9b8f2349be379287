//! Judges a repair. What must be kept is found in the bytes of the undamaged image: values are
//! stored as they were written, and begin with text that no other value has.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use bench_core::engine::{Cursor as _, Engine as _, Session as _, Store as _};
use bench_core::workload::settings::{Memory, Settings};
use cairndb::{DoubtKind, KeySpan, Options, RepairOptions, RepairReport};
use engine_leveldb::LevelDb;

use crate::images::{Files, Image, ROLE, Story, files_of};
use crate::mutants::Mutant;

/// More than a block of a table, which is cut at 4 KiB.
const TABLE_REACH: usize = 5_000;
/// More than the bytes of a batch before its value, and those after.
const LOG_REACH: usize = 300;

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// Counts over many repairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) repairs: u64,
    /// Directories that could not be repaired or opened.
    pub(crate) refused: u64,
    pub(crate) intact: u64,
    pub(crate) intact_kept: u64,
    pub(crate) lost: u64,
    pub(crate) older: u64,
    pub(crate) back: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} repairs, {} refused, {} of {} intact entries kept, {} lost, {} older, {} deleted \
             back",
            self.repairs,
            self.refused,
            self.intact_kept,
            self.intact,
            self.lost,
            self.older,
            self.back
        )
    }
}

fn contains(span: &KeySpan, key: &[u8]) -> bool {
    let after = span.first.as_ref().is_none_or(|first| &first[..] <= key);
    after && span.last.as_ref().is_none_or(|last| key <= &last[..])
}

fn put_files(files: &Files, path: &Path) {
    fs::create_dir_all(path).unwrap();
    for (name, bytes) in files {
        fs::write(path.join(name), bytes).unwrap();
    }
}

/// Names the directory in which a child process runs LevelDB's own repair.
pub(crate) const CHILD: &str = "CAIRN_REPAIR_DB_IN";

/// Runs LevelDB's repair on `home/source`, and writes what it keeps to `home/found`.
pub(crate) fn repair_db(library: &LevelDb, home: &Path) {
    let source = home.join("source");
    let settings = Settings::plain(Memory::shares(64 << 10, 1 << 20));
    let repaired = library.repair(&source);
    let store = repaired.and_then(|()| library.open(&source, &settings));
    let store = store.expect("LevelDB repairs and opens the directory");
    let mut session = store.session(ROLE).unwrap();
    let mut cursor = session.cursor().unwrap();
    let mut bytes = Vec::new();
    cursor.first().unwrap();
    while cursor.valid() {
        let value = cursor.value().unwrap().to_vec();
        for part in [cursor.key(), &value] {
            bytes.extend_from_slice(&u32::try_from(part.len()).unwrap().to_le_bytes());
            bytes.extend_from_slice(part);
        }
        cursor.next().unwrap();
    }
    fs::write(home.join("found"), bytes).unwrap();
}

/// Returns the entries that [`repair_db`] wrote.
fn decode(mut bytes: &[u8]) -> Entries {
    let mut entries = Entries::new();
    let mut part = || {
        let (len, rest) = bytes.split_first_chunk::<4>()?;
        let (part, rest) = rest.split_at(u32::from_le_bytes(*len) as usize);
        bytes = rest;
        Some(part.to_vec())
    };
    while let (Some(key), Some(value)) = (part(), part()) {
        entries.insert(key, value);
    }
    entries
}

/// A damaged directory.
pub(crate) struct Case<'a> {
    pub(crate) image: &'a Image,
    pub(crate) mutant: &'a Mutant,
}

impl Case<'_> {
    /// Repairs a copy with our repair and checks everything.
    pub(crate) fn judge_ours(&self, tally: &mut Tally) -> Result<(), String> {
        tally.repairs += 1;
        let home = tempfile::tempdir().unwrap();
        let (source, target) = (home.path().join("source"), home.path().join("target"));
        put_files(&self.mutant.files, &source);
        let options = Options::new();
        let plan = RepairOptions::new(&options);
        let planned = cairndb::repair(&source, &target, &plan.clone().dry_run(true));
        let mut planned = planned.map_err(|error| format!("dry run failed: {error}"))?;
        let report = cairndb::repair(&source, &target, &plan);
        let report = report.map_err(|error| format!("repair failed: {error}"))?;
        planned.dry_run = false;
        if planned != report {
            return Err(format!("the dry run differs:\n{planned}\n{report}"));
        }
        if files_of(&source) != self.mutant.files {
            return Err("the source was changed".to_owned());
        }
        cairndb::verify(&target, &options).map_err(|error| format!("verify: {error}"))?;
        let db = options
            .open(&target)
            .map_err(|error| format!("open: {error}"))?;
        let mut found = Entries::new();
        for entry in db.iter() {
            let (key, value) = entry.map_err(|error| format!("read: {error}"))?;
            found.insert(key.to_vec(), value.to_vec());
        }
        db.close().map_err(|error| format!("close: {error}"))?;
        for loss in &report.lost {
            let is_hit = self.mutant.damaged.contains_key(&loss.file);
            if !is_hit && !self.mutant.hits_kind("MANIFEST") {
                return Err(format!("a loss in an intact file: {loss}"));
            }
        }
        self.count(&found, tally);
        for (key, story) in &self.image.stories {
            let got = found.get(key);
            self.check_key(key, story, got, &report)
                .and_then(|()| self.check_intact(key, story, got))
                .map_err(|why| format!("key {}: {why}\n{report}", key.escape_ascii()))?;
        }
        Ok(())
    }

    /// Repairs a copy with LevelDB's own repair, and counts what it keeps. That happens in another
    /// process, because an assertion of LevelDB's may end it.
    pub(crate) fn count_theirs(&self, tally: &mut Tally) {
        tally.repairs += 1;
        let home = tempfile::tempdir().unwrap();
        let (source, found) = (home.path().join("source"), home.path().join("found"));
        put_files(&self.mutant.files, &source);
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "repair_db_in_a_child"])
            .env(CHILD, home.path())
            .output()
            .unwrap();
        let entries = match fs::read(found) {
            Ok(bytes) if child.status.success() => decode(&bytes),
            _ => {
                tally.refused += 1;
                Entries::new()
            }
        };
        self.count(&entries, tally);
    }

    /// Returns whether the bytes of the key's value are intact, with everything that a reader needs
    /// to find them. `None` if the value is not in the image.
    fn is_intact(&self, key: &[u8], story: &Story) -> Option<bool> {
        let len = story.now.as_ref()?.len();
        let places = self.image.places.get(key)?;
        Some(places.iter().all(|(name, at)| {
            let range = if name.ends_with(".log") {
                at.saturating_sub(100)..at + len + 20
            } else {
                at.saturating_sub(TABLE_REACH)..at + TABLE_REACH
            };
            !self.mutant.hits(name, &range)
        }))
    }

    /// Returns whether the last batch of a log may be damaged.
    fn is_log_end_hit(&self) -> bool {
        let logs = self.image.files.iter();
        let mut logs = logs.filter(|(name, _)| name.ends_with(".log"));
        logs.any(|(name, bytes)| {
            let end = bytes.len().saturating_sub(LOG_REACH)..usize::MAX;
            self.mutant.hits(name, &end)
        })
    }

    fn count(&self, found: &Entries, tally: &mut Tally) {
        for (key, story) in &self.image.stories {
            let got = found.get(key);
            let right = got == story.now.as_ref();
            if self.is_intact(key, story) == Some(true) {
                tally.intact += 1;
                tally.intact_kept += u64::from(right);
            }
            match (got, &story.now) {
                _ if right => {}
                (None, _) => tally.lost += 1,
                (Some(_), None) => tally.back += 1,
                (Some(_), Some(_)) => tally.older += 1,
            }
        }
    }

    fn check_key(
        &self,
        key: &[u8],
        story: &Story,
        found: Option<&Vec<u8>>,
        report: &RepairReport,
    ) -> Result<(), String> {
        if found == story.now.as_ref() {
            return Ok(());
        }
        if found.is_some_and(|found| !story.ever.contains(found)) {
            return Err("a value that was never written".to_owned());
        }
        let log_hit = self.is_log_end_hit();
        let doubtful = report.doubts.iter().any(|doubt| {
            contains(&doubt.keys, key) && (doubt.kind != DoubtKind::LogEnd || log_hit)
        });
        let mut losses = report.lost.iter().filter(|loss| contains(&loss.keys, key));
        let named = doubtful || losses.any(|loss| found.is_none() || loss.older);
        let why = if found.is_some() {
            "an old value that no loss names"
        } else {
            "a loss that is not named"
        };
        named.then_some(()).ok_or(why.to_owned())
    }

    fn check_intact(
        &self,
        key: &[u8],
        story: &Story,
        found: Option<&Vec<u8>>,
    ) -> Result<(), String> {
        // Without the manifest, obsolete tables cannot be recognised; their entries are older, and
        // sequence numbers say so. Every intact entry is kept in any case.
        match self.is_intact(key, story) {
            Some(true) if found != story.now.as_ref() && !self.mutant.hits_kind("MANIFEST") => {
                Err("an intact entry is lost".to_owned())
            }
            _ => Ok(()),
        }
    }
}
