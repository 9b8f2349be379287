//! Compression without a store: one block is encoded or decoded until 1 GiB is done.
//!
//! The codecs are the ones of well-known crates, not the engines' own.

use crate::measure::meter::Meter;
use crate::workload::definition::Values;
use crate::workload::plan::Plan;
use crate::workload::pool::Pool;

/// Block size in bytes if `--block_size` is not given.
const BLOCK_BYTES: usize = 4096;

/// Total number of bytes that are encoded or decoded.
const TOTAL_BYTES: u64 = 1 << 30;

/// LevelDB's level.
const ZSTD_LEVEL: i32 = 1;

/// One codec with reusable buffers.
enum Codec {
    Snappy(Box<snap::raw::Encoder>, snap::raw::Decoder),
    Lz4,
    Zstd(
        Box<zstd::bulk::Compressor<'static>>,
        Box<zstd::bulk::Decompressor<'static>>,
    ),
}

impl Codec {
    fn named(name: &str) -> Option<Self> {
        match name {
            "snappy" => Some(Self::Snappy(
                Box::new(snap::raw::Encoder::new()),
                snap::raw::Decoder::new(),
            )),
            "lz4" => Some(Self::Lz4),
            "zstd" => {
                let encoder = zstd::bulk::Compressor::new(ZSTD_LEVEL).ok()?;
                let decoder = zstd::bulk::Decompressor::new().ok()?;
                Some(Self::Zstd(Box::new(encoder), Box::new(decoder)))
            }
            _ => None,
        }
    }

    /// Returns the maximum size of an encoded block in bytes.
    fn bound(&self, bytes: usize) -> usize {
        match self {
            Self::Snappy(..) => snap::raw::max_compress_len(bytes),
            Self::Lz4 => lz4_flex::block::get_maximum_output_size(bytes),
            Self::Zstd(..) => zstd::zstd_safe::compress_bound(bytes),
        }
    }

    fn encode(&mut self, plain: &[u8], out: &mut [u8]) -> Option<usize> {
        match self {
            Self::Snappy(encoder, _) => encoder.compress(plain, out).ok(),
            Self::Lz4 => lz4_flex::block::compress_into(plain, out).ok(),
            Self::Zstd(encoder, _) => encoder.compress_to_buffer(plain, out).ok(),
        }
    }

    fn decode(&mut self, packed: &[u8], out: &mut [u8]) -> Option<usize> {
        match self {
            Self::Snappy(_, decoder) => decoder.decompress(packed, out).ok(),
            Self::Lz4 => lz4_flex::block::decompress_into(packed, out).ok(),
            Self::Zstd(_, decoder) => decoder.decompress_to_buffer(packed, out).ok(),
        }
    }
}

/// Returns a block of the pool's bytes.
fn block(plan: &Plan, pool: &Pool) -> Vec<u8> {
    let wanted = plan
        .block_size
        .and_then(|bytes| usize::try_from(bytes).ok())
        .unwrap_or(BLOCK_BYTES);
    let set = pool.set(Values::Flag);
    let mut block = Vec::with_capacity(wanted);
    for ordinal in (0..set.count()).cycle().take(wanted) {
        block.extend_from_slice(set.value(ordinal));
        if block.len() >= wanted {
            break;
        }
    }
    block.resize(wanted, b' ');
    block
}

/// Returns the number of operations of a row of this plan.
pub(super) fn ops(plan: &Plan) -> u64 {
    TOTAL_BYTES.div_ceil(plan.block_size.unwrap_or(BLOCK_BYTES as u64))
}

/// Runs the row. Returns the text of its line.
pub(super) fn run(
    plan: &Plan,
    pool: &Pool,
    (name, decode): (&str, bool),
    meter: &mut Meter,
) -> String {
    let failed = || format!("({name} failure)");
    let input = block(plan, pool);
    let Some(mut codec) = Codec::named(name) else {
        return failed();
    };
    let mut packed = vec![0; codec.bound(input.len())];
    let mut back = vec![0; input.len()];
    let Some(length) = codec.encode(&input, &mut packed) else {
        return failed();
    };
    if codec.decode(&packed[..length], &mut back) != Some(input.len()) || back != input {
        meter.wrong(|| format!("{name} does not decode to its input"));
        return failed();
    }
    let mut produced = 0;
    meter.start();
    while meter.wants() {
        let done = if decode {
            codec.decode(&packed[..length], &mut back)
        } else {
            codec.encode(&input, &mut packed)
        };
        let Some(bytes) = done else {
            meter.stop();
            return failed();
        };
        produced += bytes as u64;
        meter.op();
    }
    meter.stop();
    meter.bytes = meter.done() * input.len() as u64;
    if decode {
        return String::new();
    }
    format!("(output: {:.1}%)", percent(produced, meter.bytes))
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::meter::MeterMode;

    #[test]
    fn every_codec_gives_back_what_it_was_given_and_shows_its_ratio() {
        let plan = crate::testing::plan(std::path::Path::new("db"), 10, &[]);
        let pool = Pool::new(0.5, 100);
        for name in ["snappy", "lz4", "zstd"] {
            for decode in [false, true] {
                let mut meter = Meter::new(MeterMode {
                    ops: 50,
                    ..MeterMode::default()
                });
                let text = run(&plan, &pool, (name, decode), &mut meter);
                assert_eq!(meter.wrong_answers().count(), 0, "{name}");
                assert_eq!((meter.done(), meter.bytes), (50, 50 * 4096), "{name}");
                let shrunk: f64 = text
                    .strip_prefix("(output: ")
                    .and_then(|rest| rest.strip_suffix("%)"))
                    .map_or(50.0, |share| share.parse().expect("a number"));
                assert!((30.0..75.0).contains(&shrunk), "{name}: {text}");
                assert_eq!(text.is_empty(), decode, "{name}");
            }
        }
    }
}
