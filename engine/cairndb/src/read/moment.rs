//! The moment that a snapshot shows.

use std::sync::Arc;

use cairndb_base::{Error, Result, SeqNo};

use crate::read::view::View;
use crate::state::sections::Sections;

/// A sequence number at which the newest views are read or, in a follower, which cannot make the
/// writer keep versions, the views of that moment.
#[derive(Debug)]
pub(crate) struct Moment {
    pub(crate) seq: SeqNo,
    held: Option<Box<Held>>,
}

/// What a snapshot of a follower holds.
#[derive(Debug)]
struct Held {
    views: Sections<Arc<View>>,
    /// Error of looking for the newest state, which reads report.
    failed: Option<Error>,
}

/// A moment to read at; `None` for now.
pub(crate) type At<'m> = Option<&'m Moment>;

impl Moment {
    /// Returns a moment that all views show at a sequence number.
    pub(crate) fn of_seq(seq: SeqNo) -> Moment {
        Moment { seq, held: None }
    }

    /// Returns the moment that these views show at a sequence number. If looking for the newest
    /// state failed, reads report that.
    pub(crate) fn of_views(seq: SeqNo, views: Sections<Arc<View>>, looked: Result<()>) -> Moment {
        let held = Held {
            views,
            failed: looked.err(),
        };
        Moment {
            seq,
            held: Some(Box::new(held)),
        }
    }

    /// Returns the views to read; `None` for the newest ones.
    #[inline]
    pub(crate) fn views(&self) -> Option<&Sections<Arc<View>>> {
        self.held.as_ref().map(|held| &held.views)
    }

    /// Checks that the moment can be read.
    ///
    /// # Errors
    /// `Revoked`; the error of looking for the newest state.
    pub(crate) fn check(&self) -> Result<()> {
        let Some(held) = &self.held else {
            return Ok(());
        };
        if let Some(error) = &held.failed {
            return Err(error.clone());
        }
        let [view, ..] = &held.views.0;
        view.check_pin()
    }
}
