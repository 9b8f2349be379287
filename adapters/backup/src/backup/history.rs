//! `History`: what the place has of the database's history.

use cairndb::Place;

use crate::catalog::{Catalog, number_in};
use crate::records::{Base, Piece, Prune};

/// What the place has, up to a moment.
#[derive(Debug)]
pub(super) struct History {
    pub(super) timeline: u32,
    /// Up to where the place has everything.
    pub(super) place: Place,
    /// Time of the last change that has one, in milliseconds since 1970.
    pub(super) time_ms: u64,
    /// Parts since the newest base.
    pub(super) pieces: Vec<Piece>,
    /// Last number of a write that was not logged and that no base has, or 0.
    pub(super) unlogged: u64,
    /// Whether a base must come first.
    pub(super) needs_base: bool,
    /// The object of the newest base.
    pub(super) previous: Option<String>,
    /// The newest base, and its edit, if this program has recorded or read it.
    pub(super) base: Option<(Base, Vec<u8>)>,
    /// The first record, and the first base, that is not pruned.
    pub(super) first: (u64, u64),
}

impl History {
    /// Returns what a catalog states, of which the database is at `place`. If it does not
    /// `continue` that, another timeline begins.
    pub(super) fn of(catalog: &Catalog, continues: bool, place: Place) -> History {
        let last = catalog.bases.last();
        let since = last.map_or(0, |last| last.base.number);
        let pieces = catalog.pieces.range(since..);
        History {
            timeline: catalog.timeline() + u32::from(!continues),
            place,
            time_ms: match catalog.last_piece() {
                Some(piece) if continues => piece.to_ms,
                _ => 0,
            },
            pieces: pieces.map(|(_, piece)| piece.clone()).collect(),
            unlogged: match last {
                Some(last) if continues => catalog.unlogged_after(&last.base),
                _ => 0,
            },
            needs_base: !continues || !catalog.damage.is_empty() || last.is_none(),
            previous: last.map(|last| last.object.clone()),
            base: None,
            first: (catalog.first, catalog.kept_from),
        }
    }

    /// Returns the bytes of the changes since the newest base.
    pub(super) fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.bytes).sum()
    }

    /// Adds a part that was recorded.
    pub(super) fn add(&mut self, piece: Piece) {
        self.place = Place {
            incarnation: piece.incarnation,
            seq: piece.until,
        };
        self.unlogged = self.unlogged.max(piece.unlogged);
        self.pieces.push(piece);
    }

    /// Adds a base that was recorded as `object`.
    pub(super) fn add_base(&mut self, object: String, base: Base, edit: Vec<u8>) {
        self.needs_base = false;
        if self.unlogged <= base.seq {
            self.unlogged = 0;
        }
        self.pieces.clear();
        self.previous = Some(object);
        self.base = Some((base, edit));
    }

    /// Another program has pruned the place.
    pub(super) fn note_pruned(&mut self, prune: &Prune) {
        self.first = (prune.first, prune.kept_from);
        // It may list objects that are pruned.
        self.base = None;
        self.previous.take_if(|it| number_in(it) < prune.kept_from);
    }
}
