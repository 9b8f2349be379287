//! Blocked Bloom filter: each key sets its bits in one 64-byte line, so a probe reads one line.
//!
//! A page has 63 lines after a 64-byte header, aligned to their size. The line and the bits come
//! from 32 folded bits of the key's hash. At ten bits a key one absent key in a hundred passes, and
//! the builder holds only four bytes per key.
//!
//! The idea is that of Putze, Sanders and Singler, "Cache-, hash- and space-efficient Bloom
//! filters" (2007).

use cairndb_base::limits::PAGE_BYTES;
use cairndb_kernel::filter;

use crate::table::page::bits::low32;

/// Size of a line in bytes: one cache line.
pub(crate) const LINE_BYTES: usize = filter::LINE_BYTES;
/// Number of lines on a page; the first 64 bytes are its header.
pub(crate) const LINES_PER_PAGE: usize = PAGE_BYTES / LINE_BYTES - 1;

/// Maximum number of probes of a table.
pub(crate) const PROBES_MAX: u32 = 16;
const _: () = assert!(PROBES_MAX as usize == filter::PROBES_MAX);

/// The number of probes at ten bits per key.
const PROBES_USUAL: u32 = 6;

/// The golden ratio in 32 bits: spreads the state over the upper bits of the product.
const SPREAD: u32 = 0x9e37_79b9;

/// Returns the 32 bits of a hash that a filter uses.
#[inline]
pub(crate) fn fold(hash: u64) -> u32 {
    ((hash ^ (hash >> 32)) & 0xffff_ffff) as u32
}

/// Returns the line of a folded hash.
#[inline]
pub(crate) fn line_of(folded: u32, lines: u32) -> u32 {
    ((u64::from(folded) * u64::from(lines)) >> 32) as u32
}

/// Returns the number of probes for a number of bits per key: the optimum is ln 2 times as many,
/// and a blocked filter needs slightly fewer.
pub(crate) fn probes_for(bits_per_key: u32) -> u32 {
    (bits_per_key * 69 / 100).clamp(1, PROBES_MAX)
}

/// Powers of [`SPREAD`]: the factor of each probe.
const FACTORS: [u32; PROBES_MAX as usize] = {
    let mut factors = [SPREAD; PROBES_MAX as usize];
    let mut probe = 1;
    while probe < factors.len() {
        factors[probe] = factors[probe - 1].wrapping_mul(SPREAD);
        probe += 1;
    }
    factors
};

/// Returns the state from which the bits of a folded hash are computed.
#[inline]
fn state_of(folded: u32) -> u32 {
    folded.wrapping_mul(SPREAD) ^ (folded >> 15)
}

/// Returns whether a line may hold the key with this folded hash. A truncated line passes every
/// key.
#[inline]
pub(crate) fn line_may_hold(line: &[u8], folded: u32, probes: u32) -> bool {
    let Some(line) = line.first_chunk::<LINE_BYTES>() else {
        return true;
    };
    filter::all_set(line, state_of(folded), &FACTORS, probes)
}

/// Sets the bits of a folded hash.
#[inline]
fn set(line: &mut [u8; LINE_BYTES], folded: u32, probes: u32) {
    for (byte, mask) in filter::bits(state_of(folded), &FACTORS, probes) {
        line[byte & (LINE_BYTES - 1)] |= mask;
    }
}

/// The lines of a filter over some keys.
#[derive(Debug)]
pub(crate) struct FilterLines {
    pub(crate) lines: Vec<[u8; LINE_BYTES]>,
    pub(crate) probes: u32,
}

/// The folded hashes of a table's keys, kept until their number is known.
///
/// They are kept in pieces: a vector that doubles would need half as much memory again while it
/// grows, and would leave holes of its size in the heap.
#[derive(Debug, Default)]
pub(crate) struct Hashes {
    pieces: Vec<Vec<u32>>,
    len: usize,
}

/// Number of hashes in a piece: 32 KiB of them.
const PIECE_LEN: usize = 8 << 10;

impl Hashes {
    #[inline]
    pub(crate) fn push(&mut self, folded: u32) {
        self.len += 1;
        match self.pieces.last_mut() {
            Some(piece) if piece.len() < PIECE_LEN => piece.push(folded),
            _ => self.begin_piece(folded),
        }
    }

    fn begin_piece(&mut self, folded: u32) {
        // The first piece grows on demand: most tables of a small database are small.
        let room = if self.pieces.is_empty() {
            64
        } else {
            PIECE_LEN
        };
        let mut piece = Vec::with_capacity(room);
        piece.push(folded);
        self.pieces.push(piece);
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of heap bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.capacity() * 4).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.pieces.iter().flatten().copied()
    }
}

impl FilterLines {
    /// Builds the filter for folded hashes of distinct keys.
    pub(crate) fn build(hashes: &Hashes, bits_per_key: u32) -> FilterLines {
        let bits = hashes.len() as u64 * u64::from(bits_per_key);
        let count = bits.div_ceil(8 * LINE_BYTES as u64).max(1);
        let count = low32(usize::try_from(count).unwrap_or(u32::MAX as usize));
        let probes = probes_for(bits_per_key);
        let mut lines = vec![[0u8; LINE_BYTES]; count as usize];
        for folded in hashes.iter() {
            let line = &mut lines[line_of(folded, count) as usize];
            if probes == PROBES_USUAL {
                // With a constant number of probes the loop is unrolled.
                set(line, folded, PROBES_USUAL);
            } else {
                set(line, folded, probes);
            }
        }
        FilterLines { lines, probes }
    }

    /// Returns the number of lines.
    pub(crate) fn count(&self) -> u32 {
        low32(self.lines.len())
    }
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "small counts")]
mod tests {
    use super::*;
    use cairndb_base::hash64;

    #[test]
    fn no_key_is_lost_and_few_absent_ones_pass() {
        for entries in [1u32, 50, 5_000, 300_000] {
            let hash = |number: u32| fold(hash64(format!("{number:016}").as_bytes()));
            let mut folded = Hashes::default();
            (0..entries).map(hash).for_each(|hash| folded.push(hash));
            assert_eq!(folded.len(), entries as usize);
            let filter = FilterLines::build(&folded, 10);
            let may_hold = |folded: u32| {
                let line = &filter.lines[line_of(folded, filter.count()) as usize];
                line_may_hold(line, folded, filter.probes)
            };
            assert!(folded.iter().all(may_hold));
            let absent = 100_000u32;
            let passed = (entries..entries + absent)
                .filter(|number| may_hold(hash(*number)))
                .count();
            let share = passed as f64 / f64::from(absent);
            println!(
                "{entries} entries: {:.2} % of absent keys pass",
                100.0 * share
            );
            assert!(share < 0.0135, "{share}");
        }
    }

    #[test]
    fn a_short_line_hides_nothing() {
        assert!(line_may_hold(&[0; 10], 7, 6));
        assert!(!line_may_hold(&[0; LINE_BYTES], 7, 6));
    }
}
