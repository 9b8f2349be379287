//! Values that hold a view, kept until the next one is published.
//!
//! A call that continues where the last one ended keeps its cursor here. The cursor holds its view,
//! and with it memtables and files, so it must not outlive that view as the newest one. The types
//! are erased: the view refers to this, so this cannot name what refers to a view.
//!
//! Invariant: what is kept belongs to the most recently published view, as in
//! [`thread_cache`](crate::read::hints::thread_cache).
//!
//! Threads: all threads of a handle share the places. A caller that does not get the lock at once
//! does without.

use std::any::Any;

use cairndb_env::sync::Mutex;

/// Number of places: one for each end of the keys.
const PLACES: usize = 2;

#[derive(Debug, Default)]
struct ViewBoundPlace {
    /// Number of the view that is, or is about to be, published.
    view: u64,
    kept: Option<Box<dyn Any + Send>>,
}

/// The values that are kept for a handle.
#[derive(Debug, Default)]
pub(crate) struct ViewBound([Mutex<ViewBoundPlace>; PLACES]);

impl ViewBound {
    /// Returns places for the view with this number.
    pub(crate) fn new(view: u64) -> ViewBound {
        let places = ViewBound::default();
        places.begin_view(view);
        places
    }

    /// Drops everything kept; from then on, values of older views are refused. Called before the
    /// view is published.
    pub(crate) fn begin_view(&self, view: u64) {
        for place in &self.0 {
            let old = {
                let mut place = place.lock();
                place.view = view;
                place.kept.take()
            };
            // Without the lock: this may drop the last reference to a table.
            drop(old);
        }
    }

    /// Drops everything kept and refuses everything from then on, because the handle is closed.
    pub(crate) fn end(&self) {
        self.begin_view(u64::MAX);
    }

    /// Takes what was kept at `place`.
    pub(crate) fn take<T: Any>(&self, place: usize) -> Option<Box<T>> {
        let kept = self.0[place].try_lock()?.kept.take();
        kept.and_then(|kept| (kept as Box<dyn Any>).downcast().ok())
    }

    /// Keeps `value`, which holds the view with this number, unless that is not the newest.
    pub(crate) fn keep(&self, place: usize, view: u64, value: Box<dyn Any + Send>) {
        let Some(mut place) = self.0[place].try_lock() else {
            return;
        };
        if place.view == view {
            let before = place.kept.replace(value);
            drop(place);
            drop(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_kept_until_the_next_view() {
        let places = ViewBound::new(7);
        places.keep(0, 7, Box::new(1_u8));
        places.keep(1, 7, Box::new(2_u8));
        assert_eq!(places.take::<u8>(0), Some(Box::new(1)));
        assert_eq!(places.take::<u8>(0), None, "taken");
        places.begin_view(8);
        assert_eq!(places.take::<u8>(1), None, "a new view drops it");
        places.keep(1, 7, Box::new(3_u8));
        assert_eq!(places.take::<u8>(1), None, "an older view keeps nothing");
        places.end();
        places.keep(1, 8, Box::new(4_u8));
        assert_eq!(places.take::<u8>(1), None, "the handle is closed");
    }

    #[test]
    fn who_does_not_get_the_lock_does_without() {
        let places = ViewBound::new(7);
        places.keep(0, 7, Box::new(1_u8));
        let held = places.0[0].lock();
        assert_eq!(places.take::<u8>(0), None);
        places.keep(0, 7, Box::new(2_u8));
        drop(held);
        assert_eq!(places.take::<u8>(0), Some(Box::new(1)));
    }
}
