//! What tests of jobs share: entries in memtables, rules, and a job that writes them to tables.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cairndb_base::{FileNumber, Kind, Order, SeqNo};
use cairndb_env::{Background, Dir, Env, MemEnv};
use cairndb_files::OutputSettings;
use cairndb_format::name;
use cairndb_format::table::{Compression, PageAccess, Table};
use cairndb_mem::Memtable;

use crate::jobs::inputs::Inputs;
use crate::jobs::job::Job;
use crate::jobs::rules::{JobRanges, Rules};
use crate::read::source::MergeSource;
use crate::state::context::ReadContext;
use crate::state::fold_limits::FoldLimits;
use crate::state::merge_operator::MergeOperator;
use crate::state::sections::Section;

pub(crate) type Entry = (Vec<u8>, SeqNo, Kind, Vec<u8>);

/// Returns an empty directory in memory.
pub(crate) fn directory() -> Arc<dyn Dir> {
    let env = MemEnv::new(Background::Stepped);
    env.open_dir("/jobs".as_ref(), true).unwrap()
}

/// Returns a memtable with `entries`, whose keys may begin with `hint`.
pub(crate) fn memtable(entries: &[Entry], order: &Order, hint: &str) -> MergeSource {
    let hint = hint.as_bytes().to_vec();
    let (table, mut writer) = Memtable::new(order.clone(), hint, 1 << 20);
    for (key, seq, kind, value) in entries {
        writer.insert(*seq, *kind, key, value);
    }
    MergeSource::Mem(table.cursor())
}

/// Returns rules in `order`, with the default limits.
pub(crate) fn rules(
    order: &Order,
    merge_operator: Option<Arc<dyn MergeOperator>>,
    snapshots: &[SeqNo],
    bottom: bool,
) -> Rules {
    Rules {
        snapshots: snapshots.to_vec(),
        bottom,
        context: ReadContext {
            path: Path::new("db").into(),
            section: Section::Default,
            order: order.clone(),
            merge_operator,
            fold_limits: FoldLimits::default(),
        },
        values: Arc::default(),
        end: None,
        live: None,
        drops: 0,
        ranges: JobRanges::default(),
    }
}

/// Returns the entries that a job over `sources` writes, in steps of `step` entries, in the order
/// of its tables.
pub(crate) fn written(
    dir: &dyn Dir,
    rules: Rules,
    sources: Vec<MergeSource>,
    compression: Compression,
    step: u64,
) -> Vec<Entry> {
    let order = rules.context.order.clone();
    let settings = OutputSettings {
        order: order.clone(),
        section: 0,
        compression,
        classes: None,
        filter_bits_per_key: 10,
        table_bytes: 8 << 10,
        dictionaries: Arc::default(),
        begin_syncs: false,
        relocation: None,
    };
    let next_file = AtomicU64::new(1);
    let inputs = Inputs::new(sources, order.clone());
    let mut job = Job::chained(VecDeque::from([inputs]), rules, settings);
    while job.step(dir, &next_file, step).unwrap() {}
    let mut entries = Vec::new();
    for table in job.finish(dir, &next_file).unwrap().tables {
        let number = FileNumber(table.record.file);
        let file = dir.open_read(&name::table(number)).unwrap();
        let (access, checksum) = (PageAccess::Mapped(None), table.record.checksum);
        let table = Table::open(file, number, &order, access, checksum).unwrap();
        let mut cursor = Arc::new(table).cursor();
        cursor.first().unwrap();
        while cursor.valid() {
            cursor.load_value().unwrap();
            let (key, value) = (cursor.key().to_vec(), cursor.loaded().to_vec());
            entries.push((key, cursor.seq(), cursor.kind(), value));
            cursor.next().unwrap();
        }
        dir.unlink(&name::table(number)).unwrap();
    }
    entries
}
