//! `clear`: deletes the entries of a range.
//!
//! All that is there now is one write, the deletion of the range. With a limit, a snapshot or
//! another order than the bytewise one, the keys are deleted one by one: on the thread pool, in
//! batches, so that a range of any size needs little memory and other threads get their turn. A
//! failure then leaves what was not deleted yet; so do a crash and an abort. Either waits for the
//! writes that were called before it, and those that are called after it wait for its end.

use cairndb::{Db, Error, Keyspace, WriteBatch};

use crate::handle::Place;
use crate::js::callback::Call;
use crate::js::failure::Outcome;
use crate::js::scope::Value;
use crate::js::watch::{AbortFlag, Watch};
use crate::scan::bounds::Bounds;
use crate::scan::object::bounds;
use crate::snapshot::Moment;
use crate::write_queue::{Places, Work};
use crate::writes::{submit, write_batch};

/// Encoded bytes of deletions after which they are written.
const BATCH_BYTES: usize = 64 << 10;

/// `clear(handle, flags, lower, upper, limit, snapshot, watch)`: returns `undefined` if it is done,
/// or a promise. A limit below zero is none.
pub(crate) fn clear<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let place = Place::of(call)?;
    let flags = call.argument::<1>().uint32()?;
    let bounds = bounds(flags, [call.argument::<2>(), call.argument::<3>()])?;
    let limit = call.argument::<4>().number()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion saturates, and the number is not negative"
    )]
    let limit = if limit < 0.0 { u64::MAX } else { limit as u64 };
    let moment = Moment::from_argument(call.argument::<5>())?;
    let watch = Watch::from_argument(call.argument::<6>())?;
    place.check_open()?;
    if limit == u64::MAX && moment.is_now() && place.keyspace.order().is_bytewise() {
        let mut batch = WriteBatch::new();
        batch.delete_range_in(&place.keyspace, (bounds.lower, bounds.upper));
        if call.argument::<6>().is_nullish()? {
            return write_batch(place, call, 0, &mut batch, Places::One(place.id));
        }
        // On the thread pool, so that it can be aborted until then.
        let clear = move |db: &Db| watch.abort.check().and_then(|()| db.write(&batch));
        return submit(place, call.env, Work::Call(Box::new(clear)));
    }
    // If no earlier write waits, the moment is now, also for other threads with the same database.
    let moment = if place.writes.is_idle() {
        moment.fixed(place.db())
    } else {
        moment
    };
    let keyspace = place.keyspace.clone();
    let clear = move |db: &Db| delete_each((db, &keyspace), &moment, &bounds, limit, &watch.abort);
    submit(place, call.env, Work::Call(Box::new(clear)))
}

fn delete_each(
    (db, keyspace): (&Db, &Keyspace),
    moment: &Moment,
    bounds: &Bounds,
    limit: u64,
    abort: &AbortFlag,
) -> Result<(), Error> {
    let mut batch = WriteBatch::with_capacity(BATCH_BYTES);
    let (mut left, mut cursor) = (limit, moment.cursor(keyspace)?);
    bounds.place(&mut cursor)?;
    while left > 0 && cursor.valid() && bounds.contains(cursor.key()) {
        abort.check()?;
        batch.delete_in(keyspace, cursor.key());
        left -= 1;
        if batch.byte_len() >= BATCH_BYTES {
            db.write(&batch)?;
            batch.clear();
        }
        bounds.step(&mut cursor)?;
    }
    if batch.is_empty() {
        return Ok(());
    }
    db.write(&batch)
}
