//! Writes the new database: tables of one run, value files, and the manifest of a clean close.
//!
//! The directory gets its name when it is whole ([`make_directory`]).
//!
//! [`make_directory`]: cairndb_files::make_directory

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::limits::{KEYSPACE_BYTES, LARGE_VALUE_BYTES_MIN};
use cairndb_base::{FileNumber, Kind, Result, SeqNo};
use cairndb_env::Dir;
use cairndb_files::{DatabaseSettings, DatabaseWriter, OutputSettings, TableClasses};
use cairndb_format::manifest::{KeyspaceRecord, ManifestWriter, install_current};

use crate::findings::Findings;
use crate::keyspaces::Keyspaces;

/// The versions of one key that make up its value, newest first.
#[derive(Debug, Default)]
pub(super) struct Versions {
    pub(super) key: Vec<u8>,
    /// Merge operands, newest first.
    pub(super) operands: Vec<Vec<u8>>,
    /// The value below the operands.
    pub(super) value: Option<Vec<u8>>,
}

/// Takes the keys of the new database.
pub(super) enum Sink<'a> {
    /// Writes them.
    Files(Box<Files<'a>>),
    /// Counts them, for a dry run.
    Count,
}

impl Sink<'_> {
    /// Begins a section with entries.
    ///
    /// # Errors
    /// The errors of writing.
    pub(super) fn enter(&mut self, section: u8, keyspaces: &Arc<Keyspaces>) -> Result<()> {
        let Sink::Files(files) = self else {
            return Ok(());
        };
        if section == 0 {
            return Ok(());
        }
        files.writer.enter(OutputSettings {
            order: keyspaces.order(section).clone(),
            section,
            classes: Some(Arc::clone(keyspaces) as Arc<dyn TableClasses>),
            ..files.output.clone()
        })
    }

    /// Takes one key.
    ///
    /// # Errors
    /// The errors of writing.
    pub(super) fn add(
        &mut self,
        section: u8,
        versions: &Versions,
        findings: &mut Findings,
    ) -> Result<()> {
        let kept = &mut findings.report.kept;
        let value = versions.value.as_ref();
        let operands: usize = versions.operands.iter().map(Vec::len).sum();
        let prefix = if section == 0 { 0 } else { KEYSPACE_BYTES };
        let bytes = versions.key.len() - prefix + value.map_or(0, Vec::len) + operands;
        kept.keys += 1;
        kept.bytes += bytes as u64;
        let is_large = value.is_some_and(|value| value.len() >= LARGE_VALUE_BYTES_MIN);
        kept.large_values += u64::from(is_large);
        match self {
            Sink::Files(files) => files.add(versions),
            Sink::Count => Ok(()),
        }
    }
}

/// The files of the new database.
pub(super) struct Files<'a> {
    dir: &'a dyn Dir,
    next_file: &'a AtomicU64,
    output: &'a OutputSettings,
    writer: DatabaseWriter<'a>,
    /// The largest sequence number written.
    seq_max: SeqNo,
}

/// What the manifest states about the database as a whole.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) comparator: String,
    pub(super) merge_operator: Option<String>,
    pub(super) keyspaces: Vec<KeyspaceRecord>,
    pub(super) last_seq: SeqNo,
    pub(super) salt: u64,
}

impl<'a> Files<'a> {
    pub(super) fn new(
        dir: &'a dyn Dir,
        next_file: &'a AtomicU64,
        settings: &'a DatabaseSettings,
    ) -> Files<'a> {
        Files {
            dir,
            next_file,
            output: &settings.output,
            writer: DatabaseWriter::new(dir, next_file, settings),
            seq_max: 0,
        }
    }

    fn add(&mut self, versions: &Versions) -> Result<()> {
        let key = &versions.key;
        // A key with one version gets the number 0, as after a compaction. Otherwise the numbers
        // only order its versions: the base of operands gets 1, so each of them is one higher.
        let mut seq = versions.operands.len() as u64 + 1;
        self.seq_max = self.seq_max.max(seq);
        let mut new_key = true;
        for operand in &versions.operands {
            self.writer.add(new_key, key, seq, Kind::Merge, operand)?;
            new_key = false;
            seq -= 1;
        }
        match &versions.value {
            Some(value) => self.writer.add(new_key, key, 0, Kind::Put, value),
            None => Ok(()),
        }
    }

    /// Makes everything durable, writes the manifest and then `CURRENT`.
    ///
    /// # Errors
    /// The errors of writing.
    pub(super) fn finish(mut self, identity: &Identity, edit_bytes: usize) -> Result<()> {
        let last_seq = identity.last_seq.max(self.seq_max);
        let mut edit = self.writer.finish()?.edit(&identity.comparator, last_seq);
        self.dir.sync()?;
        let number = FileNumber(self.next_file.fetch_add(1, Ordering::Relaxed));
        edit.next_file = Some(self.next_file.load(Ordering::Relaxed));
        edit.merge_operator.clone_from(&identity.merge_operator);
        edit.created_keyspaces.clone_from(&identity.keyspaces);
        let base = edit.divided(edit_bytes);
        drop(ManifestWriter::create(
            self.dir,
            number,
            identity.salt,
            &base,
        )?);
        install_current(self.dir, number)
    }
}
