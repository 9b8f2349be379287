//! Iterators over what differs in two databases.
//!
//! A step of the store may take as long as the databases are large where nothing differs, so each
//! read runs on the thread pool, whatever the gates say, and may be aborted.

use std::mem;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use cairndb::{Db, Diff, Difference, Result};

use super::feed::{Feed, Source, lock};
use crate::handle::{Handle, Place};
use crate::js::callback::Call;
use crate::js::external;
use crate::js::failure::Outcome;
use crate::js::scope::Value;
use crate::js::watch::Watch;
use crate::results::Collector;

impl Source for Diff {
    type Item = Difference;

    const ENDS: bool = true;

    fn next_item(&mut self) -> Result<Option<Difference>> {
        self.next().transpose()
    }

    fn len(item: &Difference) -> usize {
        let values = [&item.before, &item.after].into_iter().flatten();
        item.key.len() + values.map(Vec::len).sum::<usize>()
    }
}

/// A comparison of the databases of two handles.
#[derive(Debug)]
struct Comparison {
    handles: [Rc<Handle>; 2],
    feed: Arc<Mutex<Feed<Diff>>>,
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
            let feed = Arc::new(Mutex::new(Feed::new(diff?)));
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
        collector.optional_text(difference.keyspace.as_deref())?;
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
    call.env.boolean(feed.has_ended())
}

/// `diffClose(comparison)`: releases what it holds.
pub(crate) fn diff_close<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let comparison = external::borrow::<Comparison>(call.argument::<0>())?;
    lock(&comparison.feed).source = None;
    call.env.undefined()
}
