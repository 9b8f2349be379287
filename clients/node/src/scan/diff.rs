//! Iterators over what differs in two databases.
//!
//! A step of the store may take as long as the databases are large where nothing differs, so each
//! read runs on the thread pool, whatever the gates say, and may be aborted.

use std::mem;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cairndb::{Db, Diff, Difference, Error, ErrorKind};

use crate::handle::{Handle, Place};
use crate::js::callback::Call;
use crate::js::external;
use crate::js::failure::Outcome;
use crate::js::scope::Value;
use crate::js::watch::Watch;
use crate::results::Collector;

/// Differences after which a read ends.
const DIFFERENCES_MAX: usize = 1000;
/// Bytes of keys and values after which a read ends.
const BYTES_MAX: usize = 64 << 10;

/// What was read, and where to read more.
#[derive(Debug)]
struct Feed {
    /// `None` at the end.
    diff: Option<Diff>,
    read: Vec<Difference>,
    bytes: usize,
    /// The error that ended it, for the read after the differences before it.
    error: Option<Error>,
}

impl Feed {
    fn fetch(&mut self) -> Result<(), Error> {
        while self.read.len() < DIFFERENCES_MAX && self.bytes < BYTES_MAX {
            match self.diff.as_mut().and_then(Iterator::next) {
                Some(Ok(difference)) => {
                    let values = [&difference.before, &difference.after];
                    let values = values.into_iter().flatten().map(Vec::len);
                    self.bytes += difference.key.len() + values.sum::<usize>();
                    self.read.push(difference);
                }
                Some(Err(error)) if error.kind() == ErrorKind::Interrupted => return Err(error),
                last => {
                    self.error = last.and_then(Result::err).or(self.error.take());
                    self.diff = None;
                    break;
                }
            }
        }
        if self.read.is_empty() {
            return self.error.take().map_or(Ok(()), Err);
        }
        Ok(())
    }
}

/// A comparison of the databases of two handles.
#[derive(Debug)]
struct Comparison {
    handles: [Rc<Handle>; 2],
    feed: Arc<Mutex<Feed>>,
}

fn lock(feed: &Mutex<Feed>) -> MutexGuard<'_, Feed> {
    feed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `diffNew(before, after, watch)`: returns a promise of a comparison, as of now.
pub(crate) fn diff_new<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let (before, after) = (Place::argument::<0>(call)?, Place::argument::<1>(call)?);
    let watch = Watch::from_argument(call.argument::<2>())?;
    let handles = [before, after].map(|place| Rc::clone(place));
    Handle::promise_of_both(
        &handles.clone(),
        call.env,
        move |[before, after]: [&Db; 2]| watch.over(|| cairndb::diff(before, after)),
        move |env, diff| {
            let feed = Feed {
                diff: Some(diff?),
                read: Vec::new(),
                bytes: 0,
                error: None,
            };
            let feed = Arc::new(Mutex::new(feed));
            external::give(env, Comparison { handles, feed })
        },
    )
}

/// `diffRead(comparison, watch)`: returns a promise, after which `diffTake` has differences, unless
/// none is left.
pub(crate) fn diff_read<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let comparison = external::borrow::<Comparison>(call.argument::<0>())?;
    let watch = Watch::from_argument(call.argument::<1>())?;
    let feed = Arc::clone(&comparison.feed);
    Handle::promise_of_both(
        &comparison.handles,
        call.env,
        move |_: [&Db; 2]| watch.over(|| lock(&feed).fetch()),
        |env, fetched| {
            fetched?;
            env.undefined()
        },
    )
}

/// `diffTake(comparison, sink, collect)`: appends what was read to `sink`: of each difference, the
/// name of the keyspace or `undefined`, the key, and both values, each of which may be `undefined`.
/// Returns whether nothing is left.
pub(crate) fn diff_take<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let comparison = external::borrow::<Comparison>(call.argument::<0>())?;
    let mut feed = lock(&comparison.feed);
    let read = mem::take(&mut feed.read);
    let mut bytes = Vec::with_capacity(mem::take(&mut feed.bytes));
    for difference in &read {
        bytes.extend_from_slice(&difference.key);
        for value in [&difference.before, &difference.after] {
            bytes.extend_from_slice(value.as_deref().unwrap_or_default());
        }
    }
    let buffer = Some(call.env.buffer_of(bytes)?);
    let to = [call.argument::<1>(), call.argument::<2>()];
    let mut collector = Collector::new(call.env, to, buffer, read.len() * 4)?;
    for difference in &read {
        match &difference.keyspace {
            Some(name) => collector.text(name.as_bytes())?,
            None => collector.absent(),
        }
        collector.bytes(difference.key.len())?;
        for value in [&difference.before, &difference.after] {
            match value {
                Some(value) => collector.bytes(value.len())?,
                None => collector.absent(),
            }
        }
        collector.end_entry()?;
    }
    collector.flush()?;
    call.env
        .boolean(feed.diff.is_none() && feed.error.is_none())
}

/// `diffClose(comparison)`: releases what it holds.
pub(crate) fn diff_close<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let comparison = external::borrow::<Comparison>(call.argument::<0>())?;
    lock(&comparison.feed).diff = None;
    call.env.undefined()
}
