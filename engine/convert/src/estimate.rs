//! Estimates the size and duration of a conversion from samples of LevelDB's tables.

use std::path::Path;
use std::time::Duration;

use cairndb_base::limits::{KEY_BYTES_MAX, LARGE_VALUE_BYTES_MIN};
use cairndb_base::{FileNumber, Kind, Result};
use cairndb_env::{Background, Dir, Env, MemEnv};
use cairndb_format::name;
use cairndb_format::table::{BoundLimits, TableBuilder, TableOptions, ValueIn};
use cairndb_leveldb::TableInfo;

use crate::Target;
use crate::report::UpgradePlan;
use crate::source::UpgradeSource;

/// Number of tables sampled, evenly spread over the database.
const SAMPLES: usize = 8;
/// Bytes of keys and values after which a sample ends.
const SAMPLE_BYTES: u64 = 256 << 10;
/// Space that even an empty database takes: a manifest, `CURRENT` and a table.
const FIXED_BYTES: u64 = 64 << 10;

/// Sums over samples.
#[derive(Clone, Copy, Debug, Default)]
struct Sampled {
    /// Bytes of LevelDB's blocks.
    stored: u64,
    entries: u64,
    raw: u64,
    /// Bytes of ours.
    written: u64,
    ns: u64,
}

impl Sampled {
    /// Returns `part` in proportion to all stored bytes.
    fn scaled(self, part: u64, stored: u64) -> u64 {
        let scaled = u128::from(part) * u128::from(stored) / u128::from(self.stored.max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

/// Returns the plan of a conversion of `source`.
///
/// # Errors
/// The errors of reading the sampled tables.
pub(crate) fn estimate(target: &Target, source: &UpgradeSource) -> Result<UpgradePlan> {
    let tables = source.database.tables();
    let stored: u64 = tables.iter().map(|table| table.size).sum();
    let mut sampled = Sampled::default();
    for info in tables.iter().step_by(tables.len().div_ceil(SAMPLES).max(1)) {
        sample(target, source, info, &mut sampled)?;
    }
    let written = sampled.scaled(sampled.written, stored);
    let written = written.saturating_add(source.log_bytes);
    let ns = sampled.scaled(sampled.ns, stored);
    Ok(UpgradePlan {
        source_bytes: source.bytes,
        target_bytes: written.saturating_add(written / 10 + FIXED_BYTES),
        entries: sampled.scaled(sampled.entries, stored),
        raw_bytes: sampled
            .scaled(sampled.raw, stored)
            .saturating_add(source.log_bytes),
        free_bytes: target.dir.space()?.map(|space| space.free),
        duration: Duration::from_nanos(ns),
    })
}

/// Adds the first entries of one table, written to a table of ours in memory.
fn sample(
    target: &Target,
    source: &UpgradeSource,
    info: &TableInfo,
    sums: &mut Sampled,
) -> Result<()> {
    let begun = target.env.now_ns();
    let memory = MemEnv::new(Background::Stepped).open_dir(Path::new("sample"), true)?;
    let mut builder = builder(target, &*memory)?;
    let mut cursor = source.database.table(info)?.cursor();
    let (mut last, mut raw): (Option<Vec<u8>>, u64) = (None, 0);
    cursor.seek_to_first()?;
    while cursor.valid() && raw < SAMPLE_BYTES {
        let (key, value) = (cursor.key(), cursor.value());
        let order = last
            .as_ref()
            .map(|last| source.database.order().compare(last, key));
        if order.is_none_or(std::cmp::Ordering::is_lt) && key.len() <= KEY_BYTES_MAX {
            if value.len() < LARGE_VALUE_BYTES_MIN {
                builder.add(key, 0, Kind::Put, ValueIn::Raw(value))?;
            } else {
                sums.written += (key.len() + value.len()) as u64;
            }
            last = Some(key.to_vec());
        }
        raw += (key.len() + value.len()) as u64;
        sums.entries += 1;
        cursor.next()?;
    }
    sums.stored += if cursor.valid() {
        cursor.block_offset()
    } else {
        info.size
    };
    sums.raw += raw;
    if builder.entries() > 0 {
        sums.written += builder.finish(&BoundLimits::default())?.bytes;
    }
    sums.ns += target.env.now_ns().saturating_sub(begun);
    Ok(())
}

fn builder(target: &Target, memory: &dyn Dir) -> Result<TableBuilder> {
    let (number, output) = (FileNumber(1), &target.settings.output);
    let options = TableOptions {
        order: output.order.clone(),
        compression: output.compression,
        filter_bits_per_key: output.filter_bits_per_key,
        file: number,
        dictionary: None,
        section: output.section,
    };
    Ok(TableBuilder::new(
        memory.create(&name::table(number))?,
        options,
    ))
}
