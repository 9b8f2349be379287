//! Makes the dictionary of a table from its first values.
//!
//! Most of a value is its own: only what values share is worth keeping. So each half of the sample
//! is matched against the other, and the dictionary is what of either was copied most often.

use cairndb_kernel::codec::{DICTIONARY_BYTES_MAX, Matcher, Padded};

/// Bytes of a value's end in its column, which groups do not have.
pub(crate) const END_BYTES: usize = 2;

/// Shortest part of a value that its use is counted of: shorter ones are often chance, such as four
/// digits of a number, and save little.
const PART_BYTES_MIN: usize = 6;

/// A dictionary, and what it makes of the values it was made from.
#[derive(Debug)]
pub(crate) struct Trained {
    pub(crate) bytes: Vec<u8>,
    /// Bytes that the values take, with their ends.
    pub(crate) stored: usize,
}

/// Makes a dictionary from values that stand one behind the other in `raw` and end at `ends`.
pub(crate) fn train(raw: &[u8], ends: &[usize]) -> Trained {
    let (first, second) = ends.split_at(ends.len() / 2);
    let middle = first.last().copied().unwrap_or(0);
    // How often each byte of the sample was copied into a value of the other half.
    let mut uses = vec![0u16; raw.len()];
    let stored = count_uses(raw, (0, middle), (middle, second), &mut uses)
        + count_uses(raw, (middle, raw.len()), (0, first), &mut uses);
    let kept = |least: u16| uses.iter().filter(|uses| **uses >= least).count();
    let mut least = 1;
    while kept(least) > DICTIONARY_BYTES_MAX {
        least += 1;
    }
    let counted = raw.iter().zip(&uses);
    let bytes = counted.filter(|(_, uses)| **uses >= least);
    Trained {
        bytes: bytes.map(|(byte, _)| *byte).collect(),
        stored,
    }
}

/// Matches the values that begin at `start` and end at `ends` against the part `from..to` of `raw`,
/// and counts what of it they copy; gives the bytes they take.
fn count_uses(
    raw: &[u8],
    (from, to): (usize, usize),
    (mut start, ends): (usize, &[usize]),
    uses: &mut [u16],
) -> usize {
    let matcher = Matcher::new(&raw[from..to]);
    let uses = &mut uses[from..to];
    let mut padded = Padded::default();
    let mut stored = 0;
    for end in ends {
        let value = &raw[start..*end];
        start = *end;
        let encoded = matcher.parts(value, &mut padded, |_, first, len| {
            if len >= PART_BYTES_MIN {
                for uses in &mut uses[first..first + len] {
                    *uses = uses.saturating_add(1);
                }
            }
        });
        stored += END_BYTES + encoded.min(value.len());
    }
    stored
}
