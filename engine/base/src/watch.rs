//! Watching a long call: how far it is, and whether to stop it.
//!
//! A watcher belongs to a thread while it makes one call, and the call's loops find it there.
//! Passing it down was rejected: dozens of functions in five crates would carry a parameter that
//! means nothing to them. Threads that work for a call have no watcher; the calling thread, which
//! waits for them, stops them.

use std::cell::RefCell;
use std::ops::ControlFlow;

use crate::error::{Error, ErrorKind, Result};

/// How far a watched call is.
///
/// ```
/// # mod cairndb { pub use cairndb_base::watch::*; }
/// let progress = cairndb::Progress::default();
/// assert_eq!((progress.done, progress.total), (0, 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Number of bytes that were read, or written, so far. Never decreases.
    pub done: u64,
    /// Estimate of all of them; 0 while it is not known.
    pub total: u64,
}

type Watcher = Box<dyn FnMut(Progress) -> ControlFlow<()>>;

struct Watched {
    /// `None` while the watcher runs: what it calls is not watched.
    watcher: Option<Watcher>,
    progress: Progress,
    /// Whether the watcher has stopped the call, which takes a while to unwind.
    stopped: bool,
}

thread_local! {
    static WATCHED: RefCell<Option<Watched>> = const { RefCell::new(None) };
}

/// Restores the watcher of an enclosing call.
struct Restore(Option<Watched>);

impl Drop for Restore {
    fn drop(&mut self) {
        WATCHED.set(self.0.take());
    }
}

/// Makes `call` on this thread, and passes its progress to `watcher` in between, at least every few
/// milliseconds of work: after each page, step of a compaction or few entries, and while it waits
/// for other threads. A call that waits for work, which may be done already, asks before it begins.
/// If `watcher` returns [`ControlFlow::Break`], the call ends with `Interrupted`.
///
/// Watched are the calls whose documentation says so. Others, and those of other threads, go on. A
/// watcher must be quick; what it calls itself is not watched. It may read from the database but
/// not write to it: a write may wait for the compaction that the watcher interrupts. If it panics,
/// so does the call.
///
/// ```
/// # mod cairndb { pub use cairndb_base::watch::*; }
/// use std::ops::ControlFlow;
/// let deadline = std::time::Instant::now() + std::time::Duration::from_secs(1);
/// let watcher = move |_progress| {
///     if std::time::Instant::now() > deadline {
///         return ControlFlow::Break(());
///     }
///     ControlFlow::Continue(())
/// };
/// let sum = cairndb::watch(watcher, || 1 + 1);
/// assert_eq!(sum, 2);
/// ```
pub fn watch<T>(
    watcher: impl FnMut(Progress) -> ControlFlow<()> + 'static,
    call: impl FnOnce() -> T,
) -> T {
    let begun = Watched {
        watcher: Some(Box::new(watcher)),
        progress: Progress::default(),
        stopped: false,
    };
    let _restore = Restore(WATCHED.replace(Some(begun)));
    call()
}

/// Makes `call`, which must get to its end, for example to release what a stopped call holds.
pub fn unwatched<T>(call: impl FnOnce() -> T) -> T {
    let _restore = Restore(WATCHED.take());
    call()
}

/// Returns whether this thread's call is watched. If so, a wait should end every few milliseconds
/// to [`check`].
pub fn is_watched() -> bool {
    WATCHED.with_borrow(Option::is_some)
}

/// Adds to the estimate of the bytes of the watched call.
pub fn expect(bytes: u64) {
    WATCHED.with_borrow_mut(|watched| {
        if let Some(watched) = watched {
            watched.progress.total = watched.progress.total.saturating_add(bytes);
        }
    });
}

/// Returns the number of bytes done by the watched call; 0 without one.
pub fn done() -> u64 {
    WATCHED.with_borrow(|watched| watched.as_ref().map_or(0, |it| it.progress.done))
}

/// Advances to `bytes` done, unless more are done already. For the end of a file, of which some
/// bytes were read without [`advance`].
///
/// # Errors
/// `Interrupted` if the watcher stops the call.
pub fn reach(bytes: u64) -> Result<()> {
    advance(bytes.saturating_sub(done()))
}

/// Same as [`advance`] by nothing.
///
/// # Errors
/// `Interrupted` if the watcher stops the call.
pub fn check() -> Result<()> {
    advance(0)
}

/// Adds to the bytes done, and asks the watcher whether to go on. Without one it does nothing.
///
/// # Errors
/// `Interrupted` if the watcher stops the call, or has stopped it before.
#[inline]
pub fn advance(bytes: u64) -> Result<()> {
    if is_watched() { ask(bytes) } else { Ok(()) }
}

#[cold]
fn ask(bytes: u64) -> Result<()> {
    let asked = WATCHED.with_borrow_mut(|watched| {
        let call = watched.as_mut()?;
        if call.stopped {
            return None;
        }
        // What the watcher itself reads is not progress of the call.
        let watcher = call.watcher.take()?;
        call.progress.done = call.progress.done.saturating_add(bytes);
        Some((watcher, call.progress))
    });
    let answer = asked.map(|(mut watcher, progress)| (watcher(progress), watcher));
    WATCHED.with_borrow_mut(|watched| {
        let Some(watched) = watched else {
            return Ok(());
        };
        if let Some((flow, watcher)) = answer {
            watched.watcher = Some(watcher);
            watched.stopped = flow.is_break();
        }
        if watched.stopped {
            return Err(Error::new(
                ErrorKind::Interrupted,
                "the caller stopped the call",
            ));
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn a_watcher_sees_progress_and_stops_the_call_for_good() {
        assert!(!is_watched());
        check().unwrap();
        let seen = Rc::new(Cell::new(Progress::default()));
        let watcher = {
            let seen = Rc::clone(&seen);
            move |progress: Progress| {
                seen.set(progress);
                // What a watcher calls is not watched.
                advance(1_000).unwrap();
                if progress.done < 30 {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            }
        };
        watch(watcher, || {
            expect(100);
            advance(10).unwrap();
            assert_eq!((seen.get().done, seen.get().total), (10, 100));
            reach(5).unwrap();
            assert_eq!(done(), 10, "a call does not go back");
            watch(|_| ControlFlow::Break(()), || advance(5).unwrap_err());
            assert_eq!(
                seen.get().done,
                10,
                "a call within has a watcher of its own"
            );
            assert_eq!(advance(1_020).unwrap_err().kind(), ErrorKind::Interrupted);
            assert_eq!(check().unwrap_err().kind(), ErrorKind::Interrupted);
            unwatched(|| check().unwrap());
            assert_eq!(check().unwrap_err().kind(), ErrorKind::Interrupted);
        });
        assert!(!is_watched());
    }

    #[test]
    fn a_panic_of_the_watcher_ends_the_watch() {
        let caught = std::panic::catch_unwind(|| watch(|_| panic!("watcher"), check));
        assert!(caught.is_err() && !is_watched());
    }
}
