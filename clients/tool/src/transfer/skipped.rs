//! What `--skip-bad` has passed over, by the numbers of its lines.

use crate::output::counted;

/// Places that are listed; further lines are counted.
const PLACES_MAX: usize = 100;

/// What was passed over.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    /// The first and the last line of each place.
    places: Vec<(u64, u64)>,
    lines: u64,
    /// Lines that are not in `places`.
    unlisted: u64,
    /// Entries of a source that is no text.
    entries: u64,
}

impl Skipped {
    /// Adds something with these lines.
    pub(super) fn add(&mut self, lines: Option<(u64, u64)>) {
        let Some((first, last)) = lines else {
            self.entries += 1;
            return;
        };
        let count = last + 1 - first;
        self.lines += count;
        let has_room = self.places.len() < PLACES_MAX;
        match self.places.last_mut() {
            Some(place) if self.unlisted == 0 && place.1 + 1 == first => place.1 = last,
            _ if has_room => self.places.push((first, last)),
            _ => self.unlisted += count,
        }
    }

    /// Returns a text for each kind of what was skipped.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        let places = self.places.iter().map(|place| match place {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        });
        let mut places: Vec<String> = places.collect();
        if self.unlisted > 0 {
            places.push(format!("and {} more", self.unlisted));
        }
        let lines = counted(self.lines, "line", "lines");
        let lines = (self.lines > 0).then(|| format!("{lines}: {}", places.join(", ")));
        let noun = ("entry that is too long", "entries that are too long");
        let entries = (self.entries > 0).then(|| counted(self.entries, noun.0, noun.1));
        lines.into_iter().chain(entries)
    }
}
