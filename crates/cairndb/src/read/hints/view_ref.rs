//! A cursor's reference to its view: an uncounted guard at first, a counted reference once the
//! cursor is more than a seek.
//!
//! A counted reference costs two transfers of a cache line that all threads share. A guard costs
//! none, but a thread has room for only eight, point reads need some, and the thread that replaces
//! the view must find them all. Guards are therefore not for long-lived references: a cursor that
//! is moved, or positioned again, counts.

use std::ops::Deref;
use std::sync::Arc;

use arc_swap::Guard;

use crate::read::view::View;

/// A view that stays unchanged while this lives.
#[derive(Debug)]
pub(crate) struct ViewRef {
    view: Guard<Arc<View>>,
    counted: bool,
}

impl ViewRef {
    pub(crate) fn new(view: Guard<Arc<View>>) -> ViewRef {
        ViewRef {
            view,
            counted: false,
        }
    }

    /// Returns a counted reference to the same view for another cursor.
    pub(crate) fn fork(&self) -> ViewRef {
        ViewRef {
            view: Guard::from_inner(Arc::clone(&self.view)),
            counted: true,
        }
    }

    /// Replaces the guard by a counted reference.
    #[inline]
    pub(crate) fn count(&mut self) {
        if !self.counted {
            *self = self.fork();
        }
    }
}

impl Deref for ViewRef {
    type Target = View;

    #[inline]
    fn deref(&self) -> &View {
        &self.view
    }
}
