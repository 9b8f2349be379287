//! Makes the dictionary of a table from its first values.
//!
//! Most bytes of a value are unique to it; only bytes that values share are worth keeping. So each
//! half of the sample is matched against the other half, and the dictionary takes the parts of each
//! that were copied most often.

use cairndb_kernel::codec::{DICTIONARY_BYTES_MAX, Matcher, Padded};

/// Size of a value's end in its column, in bytes. Groups have no such column.
pub(crate) const END_BYTES: usize = 2;

/// Minimum length of a match that counts as a use: shorter ones are often coincidences, such as
/// four digits of a number, and save little.
const PART_BYTES_MIN: usize = 6;

/// A dictionary, and the size of its sample when encoded with it.
#[derive(Debug)]
pub(crate) struct Trained {
    pub(crate) bytes: Vec<u8>,
    /// Number of bytes that the values take, including their ends.
    pub(crate) stored: usize,
}

/// Makes a dictionary from the consecutive values in `raw`, which end at `ends`.
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

/// Matches the values that begin at `start` and end at `ends` against `raw[from..to]` and counts
/// the bytes that they copy. Returns the bytes that they take.
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
