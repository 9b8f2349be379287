//! The source of values: a pool of bytes that is cut into values before any clock runs.
//!
//! The classic pool is LevelDB's: 1 MiB of 100-byte pieces, each a random printable string repeated
//! until it fills the piece, so that it compresses to the requested ratio. It favours stores that
//! compress each value alone; the records of `json` share their structure across values but not
//! within one. `random` has random bytes, in keys too. `pareto` is the classic pool in values of
//! many sizes. A `file` contains the user's own keys and values.
//!
//! Every value is identified by its *ordinal*, its position in a [`ValueSet`]; the first value
//! follows the last. This lets the model store a value in a few bits.

mod file;
mod json;
mod noise;
mod pareto;
mod set;

use std::sync::Arc;

use crate::fault::Fault;
use crate::workload::definition::{LARGE_VALUE_BYTES, Values};
use crate::workload::key::{DIGITS, Layout};
use crate::workload::plan::{Data, Keys, Plan};
use crate::workload::random::Random;

pub use file::{FileShape, examine};
pub use set::{VALUE_BYTES_MAX, ValueSet, ValueStream};

use set::{POOL_BYTES, POOL_SEED};

const PIECE_BYTES: usize = 100;

/// The keys and values of a run.
#[derive(Clone, Debug)]
pub struct Pool {
    flag: ValueSet,
    large: ValueSet,
    layout: Layout,
}

impl Pool {
    /// Creates the pool that a plan requires.
    ///
    /// # Errors
    /// If the data file cannot be read or is malformed.
    pub fn load(plan: &Plan) -> Result<Self, Fault> {
        let layout = match plan.keys {
            Keys::LevelDb => Layout::Decimal {
                prefix: plan.key_bytes().saturating_sub(DIGITS),
            },
            Keys::RocksDb => Layout::BigEndian {
                bytes: plan.key_bytes(),
            },
        };
        Ok(match &plan.data {
            Data::Synthetic => Self {
                layout,
                ..Self::new(plan.compression_ratio, plan.value_size)
            },
            Data::Json => Self {
                flag: json::records(plan.value_size),
                large: json::records(LARGE_VALUE_BYTES),
                layout,
            },
            Data::Random => Self {
                flag: noise::values(plan.value_size),
                large: noise::values(LARGE_VALUE_BYTES),
                layout: Layout::scattered(plan.key_bytes(), plan.num),
            },
            Data::Pareto => Self {
                flag: pareto::values(classic(plan.compression_ratio)),
                layout,
                ..Self::new(plan.compression_ratio, plan.value_size)
            },
            Data::File { path, .. } => {
                let (flag, large, keys) = file::load(path)?;
                Self {
                    flag,
                    large,
                    layout: Layout::Listed(Arc::new(keys)),
                }
            }
        })
    }

    /// Creates LevelDB's pool for a compression ratio in `0 < ratio <= 1`, with LevelDB's keys.
    pub fn new(ratio: f64, value_bytes: usize) -> Self {
        let bytes = classic(ratio);
        Self {
            flag: ValueSet::equal(bytes.clone(), value_bytes),
            large: ValueSet::equal(bytes, LARGE_VALUE_BYTES),
            layout: Layout::Decimal { prefix: 0 },
        }
    }

    /// Returns the values of a kind of row.
    pub const fn set(&self, values: Values) -> &ValueSet {
        match values {
            Values::Flag => &self.flag,
            Values::Large => &self.large,
        }
    }

    /// Returns the key layout.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }
}

/// Returns the bytes that LevelDB's values are cut from.
fn classic(ratio: f64) -> Arc<[u8]> {
    let mut random = Random::new(POOL_SEED);
    let mut bytes = Vec::with_capacity(POOL_BYTES + PIECE_BYTES);
    let raw_bytes = raw_bytes(ratio);
    let mut raw = Vec::with_capacity(raw_bytes);
    while bytes.len() < POOL_BYTES {
        raw.clear();
        raw.extend((0..raw_bytes).map(|_| printable(&mut random)));
        let end = bytes.len() + PIECE_BYTES;
        while bytes.len() < end {
            bytes.extend_from_slice(&raw);
        }
        bytes.truncate(end);
    }
    bytes.into()
}

/// Returns the number of random bytes in each piece.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a ratio of at most 1 of 100 bytes, cut as LevelDB cuts it"
)]
fn raw_bytes(ratio: f64) -> usize {
    ((PIECE_BYTES as f64 * ratio) as usize).clamp(1, PIECE_BYTES)
}

/// Draws one of the 95 printable characters.
fn printable(random: &mut Random) -> u8 {
    let [low, ..] = random.uniform(95).to_le_bytes();
    b' ' + low
}

#[cfg(test)]
mod tests;
