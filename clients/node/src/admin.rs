//! Sizes, compaction, forks, properties, keyspaces, following; and what is done to a database that
//! is not open.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cairndb::{Db, Error, ForkReport, Options, RepairOptions};
use rustix::fs::{CWD, RenameFlags, rename, renameat_with};

use crate::handle::{Handle, Place};
use crate::js::callback::Call;
use crate::js::failure::Outcome;
use crate::js::scope::Value;
use crate::js::task;
use crate::js::watch::Watch;
use crate::options::keyspace;
use crate::results::Collector;
use crate::snapshot::Moment;
use crate::write_queue::Work;
use crate::writes::{KEY_BYTES, bytes_of, submit};

/// Reads a range of two keys from the arguments after the flags.
fn range(call: &Call<'_>) -> Outcome<(Vec<u8>, Vec<u8>)> {
    let as_bytes = call.argument::<1>().uint32()? & KEY_BYTES != 0;
    let (mut start, mut end) = (Vec::new(), Vec::new());
    let start = bytes_of(call.argument::<2>(), as_bytes, &mut start)?.to_vec();
    let end = bytes_of(call.argument::<3>(), as_bytes, &mut end)?.to_vec();
    Ok((start, end))
}

/// `approximateSize(handle, flags, start, end)`: returns a promise of a number of bytes.
pub(crate) fn approximate_size<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let (start, end) = range(call)?;
    let place = Place::of(call)?;
    let keyspace = place.keyspace.clone();
    place.promise(
        call.env,
        move |_| keyspace.approximate_size(&start..&end),
        |env, size: Result<u64, Error>| {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a size is approximate, and JavaScript has no other numbers"
            )]
            let size = size? as f64;
            env.number(size)
        },
    )
}

/// `compactRange(handle, flags, start, end, watch)`: returns a promise.
pub(crate) fn compact_range<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let (start, end) = range(call)?;
    let watch = Watch::from_argument(call.argument::<4>())?;
    let place = Place::of(call)?;
    let keyspace = place.keyspace.clone();
    place.promise(
        call.env,
        move |_| watch.over(|| keyspace.compact_range(&start..=&end)),
        |env, compacted: Result<(), Error>| {
            compacted?;
            env.undefined()
        },
    )
}

/// `written(handle)`: returns a promise that resolves when the writes that were called are done;
/// `undefined` if they are.
pub(crate) fn written<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let handle = Handle::of(call)?;
    if handle.writes.is_idle() {
        return call.env.undefined();
    }
    submit(handle, call.env, Work::Call(Box::new(|_| Ok(()))))
}

/// `fork(handle, location, snapshot, watch)`: returns a promise of the report.
pub(crate) fn fork<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let path = PathBuf::from(call.argument::<1>().string()?);
    let moment = Moment::from_argument(call.argument::<2>())?;
    let watch = Watch::from_argument(call.argument::<3>())?;
    let place = Place::of(call)?;
    let keyspace = place.keyspace.clone();
    place.promise(
        call.env,
        move |db| watch.over(|| moment.fork(db, &keyspace, &path)),
        |env, report: Result<ForkReport, Error>| {
            let report = report?;
            let made = env.object()?;
            for (name, count) in [
                (c"shared", report.shared),
                (c"cloned", report.cloned),
                (c"copied", report.copied),
                (c"copiedBytes", report.copied_bytes),
            ] {
                made.set_property(name, env.count(count)?)?;
            }
            Ok(made)
        },
    )
}

/// `property(handle, name)`: returns a string, empty for an unknown name.
pub(crate) fn property<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let handle = Handle::of(call)?;
    let found = handle.db().property(&call.argument::<1>().string()?);
    call.env.string(found.unwrap_or_default().as_bytes())
}

/// `refresh(handle)`: returns a promise, after which reads see everything that was acknowledged.
pub(crate) fn refresh<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    Handle::of(call)?.promise(
        call.env,
        Db::refresh,
        |env, refreshed: Result<(), Error>| {
            refreshed?;
            env.undefined()
        },
    )
}

/// `hasWriter(handle)`: returns a promise of a boolean.
pub(crate) fn has_writer<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    Handle::of(call)?.promise(
        call.env,
        Db::has_writer,
        |env, found: Result<bool, Error>| env.boolean(found?),
    )
}

/// `sequenceNumber(handle)`: returns a number.
pub(crate) fn sequence_number<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a program that writes 2^53 entries takes centuries"
    )]
    let newest = Handle::of(call)?.db().sequence_number() as f64;
    call.env.number(newest)
}

/// `keyspaceNew(handle, name, options)`: creates a keyspace and returns a promise.
pub(crate) fn keyspace_new<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let name = call.argument::<1>().string()?;
    let options = keyspace(call.argument::<2>())?;
    Handle::of(call)?.promise(
        call.env,
        move |db| db.create_keyspace(&name, &options).map(drop),
        |env, created: Result<(), Error>| {
            created?;
            env.undefined()
        },
    )
}

/// `keyspaceDrop(handle, name)`: drops a keyspace after the writes that wait; returns a promise.
pub(crate) fn keyspace_drop<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let name = call.argument::<1>().string()?;
    let work = Work::Call(Box::new(move |db| db.drop_keyspace(&name)));
    submit(Handle::of(call)?, call.env, work)
}

/// `keyspaceNames(handle, sink, collect)`: appends the names of all keyspaces to `sink`.
pub(crate) fn keyspace_names<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let names = Handle::of(call)?.db().keyspaces();
    let to = [call.argument::<1>(), call.argument::<2>()];
    let mut collector = Collector::new(call.env, to, None, names.len())?;
    for name in &names {
        collector.text(name.as_bytes())?;
        collector.end_entry()?;
    }
    collector.flush()?;
    call.env.undefined()
}

/// `isCold(handle)`: returns whether reads run on the thread pool at present, for tests.
pub(crate) fn is_cold<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    call.env.boolean(Handle::of(call)?.gate.is_cold())
}

/// `destroy(location)`: removes a database of ours and returns a promise.
pub(crate) fn destroy<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let path = PathBuf::from(call.argument::<0>().string()?);
    task::promise(
        call.env,
        move || cairndb::destroy(&path, &Options::new()),
        |env, destroyed| {
            destroyed.and_then(|destroyed| destroyed)?;
            env.undefined()
        },
    )
}

/// `repair(location, aside, watch)`: repairs a database into a new directory, gives that one the
/// name `location` and the damaged one the name `aside`. Returns a promise of the report.
pub(crate) fn repair<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let path = PathBuf::from(call.argument::<0>().string()?);
    let aside = PathBuf::from(call.argument::<1>().string()?);
    let watch = Watch::from_argument(call.argument::<2>())?;
    task::promise(
        call.env,
        move || {
            let options = RepairOptions::new(&Options::new());
            let report = watch.over(|| cairndb::repair(&path, &aside, &options))?;
            exchange(&path, &aside)?;
            Ok(report.to_json())
        },
        |env, report: Result<Result<String, Error>, Error>| {
            env.string(report.and_then(|report| report)?.as_bytes())
        },
    )
}

/// Exchanges the names of two directories. Where the file system cannot do it in one step, moves
/// one after the other, so that after a crash both are there under some name.
fn exchange(first: &Path, second: &Path) -> Result<(), Error> {
    let failed = |errno: rustix::io::Errno| {
        Error::io("the directories could not be exchanged", errno.into()).path(first)
    };
    if renameat_with(CWD, first, CWD, second, RenameFlags::EXCHANGE).is_ok() {
        return Ok(());
    }
    let mut between = OsString::from(first);
    between.push(".exchanged");
    rename(second, &between).map_err(failed)?;
    rename(first, second).map_err(failed)?;
    rename(&between, first).map_err(failed)
}
