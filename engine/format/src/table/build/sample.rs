//! Chooses how a table's values are compressed, from a sample: its first values.
//!
//! Values stored alone are read one by one, and compactions copy them verbatim unless they need
//! another dictionary. Storing neighbours together is therefore only chosen if it is considerably
//! smaller: the choice is the finest granularity within a tenth of what whole pages reach.

use std::sync::Arc;

use cairndb_kernel::codec::{Dictionary, Encoder, Matcher, Padded};

use crate::table::build::dictionary::{self, END_BYTES};

/// Number of raw bytes that complete the sample: at least two pages of compressible data.
const SAMPLE_BYTES: usize = 16 << 10;
/// Number of raw bytes that represent a page when the sample is compressed by pages.
const PAGE_RAW_BYTES: usize = 8 << 10;
/// Group sizes to try, finest first.
const GROUP_BYTES: [usize; 3] = [1 << 10, 2 << 10, 4 << 10];

/// Storage of the table's values from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Each alone.
    Each,
    /// Each alone, against this dictionary.
    Dictionary {
        /// The dictionary.
        dictionary: Arc<Dictionary>,
        /// Whether it was made from these values.
        trained: bool,
    },
    /// In groups of about this many raw bytes.
    Groups(usize),
    /// One group per page.
    Page,
}

impl Plan {
    fn known(dictionary: Arc<Dictionary>) -> Plan {
        Plan::Dictionary {
            dictionary,
            trained: false,
        }
    }
}

/// Form in which a value was received.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReceivedAs<'a> {
    /// Raw, or from a group.
    Raw,
    /// As another table stores it, encoded alone.
    Alone,
    /// As another table stores it, encoded against this dictionary.
    Shared(&'a Arc<Dictionary>),
}

/// The first values of a table.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    raw: Vec<u8>,
    ends: Vec<usize>,
    /// Total bytes of the values if each is stored alone.
    stored: usize,
    /// Total bytes of the values that were received encoded alone, without a dictionary.
    received_alone: usize,
    /// Total bytes of the values that were received encoded against each dictionary.
    received_shared: Vec<(Arc<Dictionary>, usize)>,
}

impl Sample {
    pub(crate) fn memory_bytes(&self) -> usize {
        self.raw.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    /// Adds a value that takes `stored` bytes if stored alone. Returns whether the sample is
    /// complete.
    pub(crate) fn add(&mut self, value: &[u8], stored: usize, received: ReceivedAs<'_>) -> bool {
        self.raw.extend_from_slice(value);
        self.ends.push(self.raw.len());
        self.stored += stored;
        match received {
            ReceivedAs::Raw => {}
            ReceivedAs::Alone => self.received_alone += value.len(),
            ReceivedAs::Shared(dictionary) => self.count_dictionary(dictionary, value.len()),
        }
        self.raw.len() >= SAMPLE_BYTES
    }

    /// Returns whether an incomplete sample is large enough to decide.
    pub(crate) fn will_do(&self) -> bool {
        self.raw.len() >= SAMPLE_BYTES / 4
    }

    fn count_dictionary(&mut self, dictionary: &Arc<Dictionary>, bytes: usize) {
        let known = |(known, _): &&mut (Arc<Dictionary>, usize)| {
            Arc::ptr_eq(known, dictionary) || known == dictionary
        };
        match self.received_shared.iter_mut().find(known) {
            Some((_, count)) => *count += bytes,
            None => self.received_shared.push((Arc::clone(dictionary), bytes)),
        }
    }

    /// Returns whether the tables that most of the values come from store each alone. Then the new
    /// table does, too, and copies them verbatim.
    fn is_alone(&self) -> bool {
        2 * self.received_alone > self.raw.len()
    }

    /// Returns the dictionary that most of the values were received with. It need not suit them: a
    /// table may have chosen it for other values, before these or among earlier ones.
    fn usual_dictionary(&mut self) -> Option<Arc<Dictionary>> {
        let most = |(_, bytes): &(Arc<Dictionary>, usize)| 2 * bytes > self.raw.len();
        let at = self.received_shared.iter().position(most)?;
        Some(self.received_shared.swap_remove(at).0)
    }

    /// Returns whether [`Sample::plan`] would store each value alone if no table had stored them
    /// yet.
    pub(crate) fn is_best_alone(&self, encoder: &mut Encoder) -> bool {
        within_a_tenth(self.stored, self.bytes_in_groups(PAGE_RAW_BYTES, encoder))
    }

    /// Returns the finest granularity within a tenth of the whole-page ratio. A dictionary that
    /// most of the values were received with, or the one `offered`, is preferred if it is within
    /// that tenth, too, or within a tenth of a dictionary made for these values.
    pub(crate) fn plan(&mut self, encoder: &mut Encoder, offered: Option<Arc<Dictionary>>) -> Plan {
        if self.is_alone() {
            return Plan::Each;
        }
        let page = self.bytes_in_groups(PAGE_RAW_BYTES, encoder);
        let mut known = Vec::new();
        if let Some(dictionary) = self.usual_dictionary() {
            let taken = self.bytes_against(&dictionary);
            if within_a_tenth(taken, page) {
                return Plan::known(dictionary);
            }
            known.push((taken, dictionary));
        }
        if within_a_tenth(self.stored, page) {
            return Plan::Each;
        }
        if let Some(dictionary) = offered {
            let taken = self.bytes_against(&dictionary);
            if within_a_tenth(taken, page) {
                return Plan::known(dictionary);
            }
            known.push((taken, dictionary));
        }
        let made = dictionary::train(&self.raw, &self.ends);
        if within_a_tenth(made.stored, page) {
            let mut known = known.into_iter();
            return match known.find(|(taken, _)| within_a_tenth(*taken, made.stored)) {
                Some((_, dictionary)) => Plan::known(dictionary),
                None => Plan::Dictionary {
                    dictionary: Arc::new(Dictionary::new(&made.bytes)),
                    trained: true,
                },
            };
        }
        GROUP_BYTES
            .into_iter()
            .find(|group| within_a_tenth(self.bytes_in_groups(*group, encoder), page))
            .map_or(Plan::Page, Plan::Groups)
    }

    /// Returns the number of bytes of the sample when encoded against a dictionary.
    fn bytes_against(&self, dictionary: &Dictionary) -> usize {
        let matcher = Matcher::new(dictionary.bytes());
        let mut padded = Padded::default();
        let mut start = 0;
        let taken = self.ends.iter().map(|end| {
            let value = &self.raw[start..*end];
            start = *end;
            END_BYTES
                + matcher
                    .parts(value, &mut padded, |_, _, _| ())
                    .min(value.len())
        });
        taken.sum()
    }

    /// Returns the number of bytes of the sample in groups of at least `group` raw bytes, none
    /// splitting a value.
    fn bytes_in_groups(&self, group: usize, encoder: &mut Encoder) -> usize {
        let mut total = 0;
        let mut start = 0;
        let mut out = Vec::new();
        for end in &self.ends {
            if end - start >= group || *end == self.raw.len() {
                compress(encoder, &self.raw[start..*end], &mut out);
                total += out.len();
                start = *end;
            }
        }
        total
    }
}

/// Replaces `out` with the stored form of a group: encoded, or raw if that is not larger.
pub(crate) fn compress(encoder: &mut Encoder, raw: &[u8], out: &mut Vec<u8>) {
    out.clear();
    if !encoder.encode(raw, out) {
        out.extend_from_slice(raw);
    }
}

fn within_a_tenth(bytes: usize, best: usize) -> bool {
    10 * bytes <= 11 * best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_of(values: impl Iterator<Item = Vec<u8>>, stored: usize) -> Plan {
        let mut sample = Sample::default();
        for value in values {
            if sample.add(&value, stored.min(value.len()), ReceivedAs::Raw) {
                break;
            }
        }
        sample.plan(&mut Encoder::new(), None)
    }

    #[test]
    fn data_decides() {
        let noise = |number: u64| {
            let mut state = number + 1;
            let mut byte = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state.to_le_bytes()[3]
            };
            (0..100).map(|_| byte()).collect::<Vec<u8>>()
        };
        let twice = |number| noise(number)[..50].repeat(2);
        let alone = plan_of((0..1000).map(twice), 55);
        assert_eq!(alone, Plan::Each, "values that halve alone");
        let raw = plan_of((0..1000).map(noise), 100);
        assert_eq!(raw, Plan::Each, "values that do not compress at all");
        let row = |number: u64| {
            format!("{{\"id\":{number},\"city\":\"Bergen\",\"state\":\"open\",\"tags\":[\"a\"]}}")
                .into_bytes()
        };
        assert!(matches!(
            plan_of((0..1000).map(row), 100),
            Plan::Groups(_) | Plan::Page
        ));
    }
}
