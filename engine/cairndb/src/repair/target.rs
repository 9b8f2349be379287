//! Writes the new database: tables of one run, value files, and the manifest of a clean close.
//!
//! The directory gets its name when it is whole ([`make_directory`]).
//!
//! [`make_directory`]: crate::recovery::staged_dir::make_directory

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::limits::LARGE_VALUE_BYTES_MIN;
use cairndb_base::{FileNumber, Kind, Order, Result, SeqNo};
use cairndb_env::Dir;
use cairndb_format::manifest::{CleanClose, ManifestWriter, VersionEdit, install_current};
use cairndb_format::table::ValueIn;
use cairndb_format::value_file::ValueWriter;

use crate::jobs::output::{Output, OutputParts, OutputSettings, Written};
use crate::repair::findings::Findings;
use crate::state::budget::Budget;
use crate::state::files::new_files::create_unused;
use crate::state::options::Options;

/// The only run of the new database.
const RUN: u64 = 1;

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
    /// Takes one key.
    ///
    /// # Errors
    /// The errors of writing.
    pub(super) fn add(&mut self, versions: &Versions, findings: &mut Findings) -> Result<()> {
        let kept = &mut findings.report.kept;
        let value = versions.value.as_ref();
        let operands: usize = versions.operands.iter().map(Vec::len).sum();
        let bytes = versions.key.len() + value.map_or(0, Vec::len) + operands;
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
    output: Output<'a>,
    order: Order,
    /// Length at which a value file is closed.
    value_file_bytes: u64,
    value_writer: Option<ValueWriter>,
    /// Numbers and lengths of the finished value files.
    finished_values: Vec<(u64, u64)>,
    /// The largest sequence number written.
    seq_max: SeqNo,
}

/// What the manifest states about the database as a whole.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) comparator: String,
    pub(super) merge_operator: Option<String>,
    pub(super) last_seq: SeqNo,
    pub(super) salt: u64,
    /// Maximum size of the keys in one edit.
    pub(super) edit_bytes: usize,
}

impl<'a> Files<'a> {
    pub(super) fn new(
        dir: &'a dyn Dir,
        next_file: &'a AtomicU64,
        options: &Options,
        budget: Budget,
    ) -> Files<'a> {
        let settings = OutputSettings {
            order: options.order.clone(),
            compression: options.compression.table(),
            filter_bits_per_key: options.filter_bits_per_key,
            table_bytes: budget.table,
            dictionaries: Arc::default(),
            begin_syncs: true,
            relocation: None,
        };
        Files {
            dir,
            next_file,
            output: Output::from_parts(dir, next_file, settings, OutputParts::default()),
            order: options.order.clone(),
            value_file_bytes: options.value_file_bytes,
            value_writer: None,
            finished_values: Vec::new(),
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
            let value = ValueIn::Raw(operand);
            self.output.add(new_key, key, seq, Kind::Merge, &value)?;
            new_key = false;
            seq -= 1;
        }
        let Some(value) = &versions.value else {
            return Ok(());
        };
        if value.len() < LARGE_VALUE_BYTES_MIN {
            return self
                .output
                .add(new_key, key, 0, Kind::Put, &ValueIn::Raw(value));
        }
        let pointer = self.add_large(key, value)?;
        self.output
            .add(new_key, key, 0, Kind::Pointer, &ValueIn::Raw(&pointer))
    }

    /// Writes a large value and returns the encoded pointer to it.
    fn add_large(&mut self, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        let full = self.value_writer.as_ref();
        if full.is_some_and(|writer| writer.bytes() >= self.value_file_bytes) {
            self.finish_values()?;
        }
        if self.value_writer.is_none() {
            let (_, writer) = create_unused(
                || self.next_file.fetch_add(1, Ordering::Relaxed),
                |number| ValueWriter::create(self.dir, number),
            )?;
            self.value_writer = Some(writer);
        }
        let writer = self.value_writer.as_mut().expect("a file was begun above");
        let pointer = writer.append(self.order.hash(key), &[value])?;
        Ok(pointer.encode().to_vec())
    }

    fn finish_values(&mut self) -> Result<()> {
        if let Some(mut writer) = self.value_writer.take() {
            writer.sync()?;
            self.finished_values
                .push((writer.number().0, writer.bytes()));
        }
        Ok(())
    }

    /// Makes everything durable, writes the manifest and then `CURRENT`.
    ///
    /// # Errors
    /// The errors of writing.
    pub(super) fn finish(mut self, mut identity: Identity) -> Result<()> {
        identity.last_seq = identity.last_seq.max(self.seq_max);
        self.finish_values()?;
        let tables = self.output.finish()?;
        tables.iter().try_for_each(|table| table.sync.sync())?;
        self.dir.sync()?;
        let number = FileNumber(self.next_file.fetch_add(1, Ordering::Relaxed));
        let next_file = self.next_file.load(Ordering::Relaxed);
        let base = base(tables, &self.finished_values, next_file, &identity);
        let base = base.divided(identity.edit_bytes);
        drop(ManifestWriter::create(
            self.dir,
            number,
            identity.salt,
            &base,
        )?);
        install_current(self.dir, number)
    }
}

/// Returns the whole state of the new database as one edit.
fn base(
    tables: Vec<Written>,
    value_files: &[(u64, u64)],
    next_file: u64,
    identity: &Identity,
) -> VersionEdit {
    let added_tables: Vec<_> = tables
        .into_iter()
        .map(|written| {
            let mut record = written.record;
            record.run = RUN;
            record
        })
        .collect();
    let runs = if added_tables.is_empty() {
        Vec::new()
    } else {
        vec![RUN]
    };
    VersionEdit {
        comparator: Some(identity.comparator.clone()),
        merge_operator: identity.merge_operator.clone(),
        next_file: Some(next_file),
        last_seq: Some(identity.last_seq),
        added_tables,
        runs: Some(runs),
        added_values: value_files.iter().map(|(number, _)| *number).collect(),
        value_sizes: value_files.to_vec(),
        clean_close: Some(CleanClose {
            last_seq: identity.last_seq,
            log_ends: Vec::new(),
        }),
        ..VersionEdit::default()
    }
}
