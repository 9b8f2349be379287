//! A view as a cursor holds it: without a count at first, with one when the cursor turns out to be
//! more than a seek.
//!
//! A counted reference costs two turns of a cache line that all threads share. A guard costs none,
//! but a thread has room for eight, point reads need some, and whoever replaces the view must find
//! them all: they are not for what is kept. So a cursor that is moved, or placed again, counts.

use std::ops::Deref;
use std::sync::Arc;

use arc_swap::Guard;

use crate::read::view::View;

/// A view that stays as it is while this lives.
#[derive(Debug)]
pub(crate) struct HeldView {
    view: Guard<Arc<View>>,
    counted: bool,
}

impl HeldView {
    pub(crate) fn new(view: Guard<Arc<View>>) -> HeldView {
        HeldView {
            view,
            counted: false,
        }
    }

    /// The same view for another cursor.
    pub(crate) fn fork(&self) -> HeldView {
        HeldView {
            view: Guard::from_inner(Arc::clone(&self.view)),
            counted: true,
        }
    }

    /// Holds it by a count from here on.
    #[inline]
    pub(crate) fn count(&mut self) {
        if !self.counted {
            *self = self.fork();
        }
    }
}

impl Deref for HeldView {
    type Target = View;

    #[inline]
    fn deref(&self) -> &View {
        &self.view
    }
}
