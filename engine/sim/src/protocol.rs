//! The protocol checker: verifies that changes become durable in the order that recovery relies on.
//!
//! It runs on every operation of every simulated environment, so that a missing sync fails a test
//! even without a crash. It knows files by their names and, given a reader of manifests
//! ([`crate::SimEnv::check_manifests`]), what the durable manifest needs. The rules:
//!
//! 1. Every file that a manifest names is durable, bytes and name, before that manifest is synced.
//! 2. `CURRENT` is replaced only by a synced file, and only when the manifest it names is durable;
//!    nothing that the old state may need is removed before the directory sync that follows.
//! 3. A file is removed only after the edit that retires it is durable.
//! 4. A log's name is durable, and the durable manifest names it, before its first record is
//!    synced.
//! 5. No record in a log is synced before all earlier live logs are synced to their ends.
//! 6. After a failed write a file is not written again, but its earlier contents may be synced;
//!    after a failed sync it is neither written nor synced again, nor is a directory. A log
//!    rewritten from its start, and a reopened directory, are trusted again.
//! 7. Synced bytes of a live log are not overwritten, a log is rewritten from its start only when
//!    the durable manifest no longer needs it, and no numbered name is created twice, unless the
//!    first file of that name disappeared without ever having been synced.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::content::SECTOR_BYTES;
use crate::disk::{DirId, Disk, Inode, InodeId, NameOp};
use crate::unit::Unit;

/// The contents of a manifest that the checker needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestFacts {
    /// Tables and value files that the database needs, each with its required length, or 0 if the
    /// manifest does not record it.
    pub files: BTreeMap<String, u64>,
    /// Files of the live log segments, oldest first.
    pub logs: Vec<String>,
}

/// A function that reads facts from the name and bytes of a manifest, including a torn tail; `None`
/// if there are none yet.
#[derive(Clone)]
pub(crate) struct ManifestReader(pub(crate) Arc<ReadFacts>);

type ReadFacts = dyn Fn(&str, &[u8]) -> Option<ManifestFacts> + Send + Sync;

impl fmt::Debug for ManifestReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ManifestReader")
    }
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The operation that broke it.
    pub op: u64,
    /// The rule's number in the list at the top of this module.
    pub rule: u8,
    /// A description of the violation.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "operation {}: rule {}: {}",
            self.op, self.rule, self.what
        )
    }
}

/// An operation that is about to happen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    Create(DirId, &'a str),
    Append(InodeId),
    WriteLog(DirId, InodeId, u64, u64),
    SyncFile(DirId, InodeId),
    Rename(DirId, &'a str, &'a str),
    Unlink(DirId, &'a str),
    SyncDir(DirId),
}

/// The way in which a file has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    Write,
    Sync,
}

/// The ends of a log's written and synced bytes, since its first byte was last written.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    written: u64,
    synced: u64,
}

/// The checker's state.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    pub(crate) reader: Option<ManifestReader>,
    pub(crate) violations: Vec<Violation>,
    created: BTreeSet<(DirId, String)>,
    broken_files: BTreeMap<InodeId, Broken>,
    synced: BTreeSet<InodeId>,
    broken_dirs: BTreeSet<DirId>,
    ends: BTreeMap<InodeId, Ends>,
}

impl Checker {
    pub(crate) fn new(reader: Option<ManifestReader>) -> Checker {
        Checker {
            reader,
            ..Checker::default()
        }
    }

    /// Checks an event, not yet done, against the rules.
    pub(crate) fn check(&mut self, disk: &Disk, op: u64, event: Event<'_>) {
        let mut found = Vec::new();
        match event {
            Event::Create(dir, name) => self.check_create(dir, name, &mut found),
            Event::Append(id) => self.check_file_works(disk, id, true, &mut found),
            Event::WriteLog(dir, id, offset, len) => {
                if offset == 0 {
                    self.broken_files.remove(&id);
                }
                self.check_file_works(disk, id, true, &mut found);
                self.check_overwrite(disk, dir, id, (offset, len), &mut found);
            }
            Event::SyncFile(dir, id) => {
                self.check_file_works(disk, id, false, &mut found);
                self.synced.insert(id);
                self.check_sync(disk, dir, id, &mut found);
                let ends = self.ends.entry(id).or_default();
                ends.synced = ends.written;
            }
            Event::Rename(dir, from, to) => self.check_rename(disk, dir, from, to, &mut found),
            Event::Unlink(dir, name) => self.check_unlink(disk, dir, name, &mut found),
            Event::SyncDir(dir) => {
                if self.broken_dirs.contains(&dir) {
                    found.push((6, "a directory is synced again after a failed sync".into()));
                }
            }
        }
        let violation = |(rule, what)| Violation { op, rule, what };
        self.violations.extend(found.into_iter().map(violation));
    }

    /// Records that a numbered file was created.
    pub(crate) fn file_made(&mut self, dir: DirId, name: &str) {
        self.created.insert((dir, name.to_owned()));
    }

    /// Records that a write of a file was refused.
    pub(crate) fn write_failed(&mut self, id: InodeId) {
        self.broken_files.entry(id).or_insert(Broken::Write);
    }

    /// Records that a sync of a file was refused.
    pub(crate) fn sync_failed(&mut self, id: InodeId) {
        self.broken_files.insert(id, Broken::Sync);
    }

    /// Records that a directory was opened.
    pub(crate) fn dir_opened(&mut self, dir: DirId) {
        self.broken_dirs.remove(&dir);
    }

    /// Records that a directory sync was refused.
    pub(crate) fn dir_failed(&mut self, dir: DirId) {
        self.broken_dirs.insert(dir);
    }

    fn check_create(&self, dir: DirId, name: &str, found: &mut Violations) {
        if SimFileKind::of(name).is_numbered() && self.created.contains(&(dir, name.to_owned())) {
            found.push((7, format!("{name} is created a second time")));
        }
    }

    fn check_file_works(&self, disk: &Disk, id: InodeId, write: bool, found: &mut Violations) {
        let how = match self.broken_files.get(&id) {
            Some(Broken::Sync) => "used after a failed sync",
            Some(Broken::Write) if write => "written after a failed write",
            _ => return,
        };
        let name = &disk.inode(id).name;
        found.push((6, format!("{name} is {how}")));
    }

    fn check_overwrite(
        &mut self,
        disk: &Disk,
        dir: DirId,
        id: InodeId,
        (offset, len): (u64, u64),
        found: &mut Violations,
    ) {
        let ends = self.ends.get(&id).copied().unwrap_or_default();
        if offset == 0 && ends.written > 0 {
            let name = &disk.inode(id).name;
            let facts = self.durable_facts(disk, dir);
            if facts.is_some_and(|(_, facts)| facts.logs.contains(name)) {
                found.push((
                    7,
                    format!("{name} is rewritten but the durable manifest needs it"),
                ));
            }
            self.ends.insert(id, Ends::default());
        } else if offset < ends.synced {
            let name = &disk.inode(id).name;
            let synced = ends.synced;
            found.push((
                7,
                format!("{name} is overwritten at {offset}, synced up to {synced}"),
            ));
        }
        let ends = self.ends.entry(id).or_default();
        ends.written = ends.written.max(offset + len);
    }

    fn check_sync(&self, disk: &Disk, dir: DirId, id: InodeId, found: &mut Violations) {
        let inode = disk.inode(id);
        match SimFileKind::of(&inode.name) {
            // A new manifest counts once CURRENT is about to name it.
            SimFileKind::Manifest if is_current(disk, dir, &inode.name) => {
                self.check_manifest(disk, dir, inode, found);
            }
            // A copy of a segment is appended as a whole, and named afterwards.
            SimFileKind::Log if has_pending_records(inode) && self.ends.contains_key(&id) => {
                if disk.dirs[dir].durable.get(&inode.name) != Some(&id) {
                    found.push((4, format!("records of {} before its name", inode.name)));
                }
                if let Some((_, facts)) = self.durable_facts(disk, dir) {
                    self.check_log_order(disk, dir, inode, &facts, found);
                }
            }
            _ => {}
        }
    }

    /// Checks that every file that the manifest names is durable.
    fn check_manifest(&self, disk: &Disk, dir: DirId, inode: &Inode, found: &mut Violations) {
        let Some(ManifestReader(read)) = &self.reader else {
            return;
        };
        let Some(facts) = read(&inode.name, &inode.visible.to_vec()) else {
            return;
        };
        let durable = &disk.dirs[dir].durable;
        let logs = facts.logs.iter().map(|name| (name, None));
        let files = facts.files.iter().map(|(name, &len)| (name, Some(len)));
        for (name, len) in files.chain(logs) {
            let Some(&id) = durable.get(name) else {
                found.push((
                    1,
                    format!("{} names {name}, whose name is not durable", inode.name),
                ));
                continue;
            };
            let target = disk.inode(id);
            let Some(len) = len.filter(|&len| len > 0) else {
                continue;
            };
            if target.durable.len() < len || has_pending_below(target, len) {
                found.push((
                    1,
                    format!("{} names {name}, whose bytes are not durable", inode.name),
                ));
            }
        }
    }

    fn check_rename(&self, disk: &Disk, dir: DirId, from: &str, to: &str, found: &mut Violations) {
        let Some(id) = disk.lookup(dir, from).filter(|_| to == "CURRENT") else {
            return;
        };
        let inode = disk.inode(id);
        if !is_synced(inode) {
            found.push((2, format!("{from} becomes CURRENT before it is synced")));
        }
        let Some(manifest) = named(inode) else {
            return;
        };
        match disk.dirs[dir].durable.get(&manifest) {
            Some(&id) if is_synced(disk.inode(id)) => {
                self.check_manifest(disk, dir, disk.inode(id), found);
            }
            _ => found.push((
                2,
                format!("CURRENT will name {manifest}, which is not durable"),
            )),
        }
    }

    fn check_log_order(
        &self,
        disk: &Disk,
        dir: DirId,
        inode: &Inode,
        facts: &ManifestFacts,
        found: &mut Violations,
    ) {
        let name = &inode.name;
        let Some(place) = facts.logs.iter().position(|log| log == name) else {
            found.push((4, format!("records of {name} before the manifest names it")));
            return;
        };
        for earlier in &facts.logs[..place] {
            let id = disk.lookup(dir, earlier);
            // The partial bytes of a failed write are not a record.
            let torn = |id| self.broken_files.get(&id) == Some(&Broken::Write);
            if id.is_some_and(|id| has_pending_records(disk.inode(id)) && !torn(id)) {
                found.push((5, format!("records of {name} before those of {earlier}")));
            }
        }
    }

    fn check_unlink(&mut self, disk: &Disk, dir: DirId, name: &str, found: &mut Violations) {
        if !SimFileKind::of(name).is_numbered() {
            return;
        }
        let id = disk.lookup(dir, name);
        if id.is_some_and(|id| !self.synced.contains(&id)) {
            self.created.remove(&(dir, name.to_owned()));
        }
        let renames = |op: &NameOp| matches!(op, NameOp::Rename { to, .. } if to == "CURRENT");
        let mut names = disk.names.iter().filter(|pending| pending.dir == dir);
        if names.any(|pending| renames(&pending.op)) {
            found.push((
                2,
                format!("{name} is removed before the new CURRENT is durable"),
            ));
        }
        if let Some((manifest, facts)) = self.durable_facts(disk, dir) {
            let needed = facts.files.contains_key(name) || facts.logs.iter().any(|log| log == name);
            if needed || manifest == name {
                found.push((
                    3,
                    format!("{name} is removed but the durable state needs it"),
                ));
            }
        }
    }

    /// Returns what any crash now would leave: the manifest that `CURRENT` names, and its facts.
    fn durable_facts(&self, disk: &Disk, dir: DirId) -> Option<(String, ManifestFacts)> {
        let ManifestReader(read) = self.reader.as_ref()?;
        let names = &disk.dirs[dir].durable;
        let current = disk.inode(*names.get("CURRENT")?).durable.to_vec();
        let manifest = String::from_utf8(current).ok()?.trim_end().to_owned();
        let bytes = disk.inode(*names.get(&manifest)?).durable.to_vec();
        let facts = read(&manifest, &bytes)?;
        Some((manifest, facts))
    }
}

/// Broken rules and their descriptions, without an operation yet.
type Violations = Vec<(u8, String)>;

/// Returns the name of the manifest in a CURRENT file.
fn named(current: &Inode) -> Option<String> {
    let text = String::from_utf8(current.visible.to_vec()).ok()?;
    Some(text.trim_end().to_owned())
}

fn is_current(disk: &Disk, dir: DirId, manifest: &str) -> bool {
    let current = disk.lookup(dir, "CURRENT").map(|id| disk.inode(id));
    current.and_then(named).as_deref() == Some(manifest)
}

fn is_synced(inode: &Inode) -> bool {
    inode.pending.is_empty() && !inode.diverged
}

/// Returns whether bytes after a log's header sector are not yet durable.
fn has_pending_records(inode: &Inode) -> bool {
    let is_record = |unit: &Unit| matches!(unit, Unit::Sector { index, .. } if *index > 0);
    inode.pending.iter().any(|pending| is_record(&pending.unit))
}

fn has_pending_below(inode: &Inode, len: u64) -> bool {
    let end = len.div_ceil(SECTOR_BYTES as u64);
    let below = |unit: &Unit| matches!(unit, Unit::Sector { index, .. } if *index + 1 < end);
    inode.diverged || inode.pending.iter().any(|pending| below(&pending.unit))
}

/// The kind of a file, derived from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SimFileKind {
    Table,
    Value,
    Log,
    Manifest,
    Other,
}

impl SimFileKind {
    fn of(name: &str) -> SimFileKind {
        match name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("tbl") => SimFileKind::Table,
            Some("val") => SimFileKind::Value,
            Some("log") => SimFileKind::Log,
            None if name.starts_with("MANIFEST-") => SimFileKind::Manifest,
            _ => SimFileKind::Other,
        }
    }

    fn is_numbered(self) -> bool {
        self != SimFileKind::Other
    }
}
