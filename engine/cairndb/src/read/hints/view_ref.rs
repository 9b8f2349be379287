//! A cursor's reference to its view: initially an uncounted guard, then a counted reference once
//! the cursor does more than one seek.
//!
//! A counted reference costs two transfers of a cache line that all threads share. A guard costs
//! none, but a thread has room for only eight, point reads need some, and the thread that replaces
//! the view must find them all. Guards are therefore unsuitable for long-lived references: a cursor
//! that is moved, or positioned again, takes a counted reference.

use std::ops::Deref;
use std::sync::Arc;

use arc_swap::Guard;

use crate::read::view::View;

/// Reference to a view, which is kept as long as the reference exists.
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

    /// Replaces the guard with a counted reference.
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
