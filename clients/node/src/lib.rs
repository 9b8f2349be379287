//! The addon of the npm package `@cairndb/level`: what the package has in Rust.
//!
//! JavaScript (`../lib`) has the classes of `abstract-level`, which check arguments, encode keys
//! and values, and defer what is called before the database is open. Here are the calls below them.
//! Each takes the state that it works on as an external: a `handle` of a keyspace, a `snapshot`, an
//! iterator (`scan`), a comparison, a feed of changes, a long batch.
//!
//! Rules for every call:
//!
//! 1. It does not wait. What may take long (opening, closing, syncs, `clear`, compactions, reads of
//!    a cold database) runs on Node's thread pool, and the call returns a promise.
//! 2. A read of a warm database (`gate`) and a write that finds room (`writes`) run at once.
//! 3. Objects of the store that a task on the pool uses are shared with it, so that neither a
//!    collected object nor the end of an environment takes them from it.
//! 4. A panic becomes an error.
//!
//! Threads: the main thread and each worker thread load the module separately. What they share is
//! in `share`.

mod admin;
mod clear;
mod gate;
mod handle;
mod js;
mod options;
mod reads;
mod results;
mod scan;
mod scratch;
mod share;
mod snapshot;
mod staged;
mod usage;
mod write_queue;
mod writes;

use js::callback::Export;

/// The functions of the addon, which `lib/binding.js` loads.
pub(crate) static EXPORTS: &[Export] = &[
    Export {
        name: "open",
        body: handle::open,
    },
    Export {
        name: "close",
        body: handle::close,
    },
    Export {
        name: "keyspaceNew",
        body: admin::keyspace_new,
    },
    Export {
        name: "keyspaceOpen",
        body: handle::keyspace_open,
    },
    Export {
        name: "keyspaceDrop",
        body: admin::keyspace_drop,
    },
    Export {
        name: "keyspaceNames",
        body: admin::keyspace_names,
    },
    Export {
        name: "get",
        body: reads::get,
    },
    Export {
        name: "getSync",
        body: reads::get_sync,
    },
    Export {
        name: "getMany",
        body: reads::get_many,
    },
    Export {
        name: "takeMany",
        body: reads::take_many,
    },
    Export {
        name: "has",
        body: reads::has,
    },
    Export {
        name: "hasMany",
        body: reads::has_many,
    },
    Export {
        name: "put",
        body: writes::put,
    },
    Export {
        name: "del",
        body: writes::del,
    },
    Export {
        name: "write",
        body: writes::write,
    },
    Export {
        name: "batchNew",
        body: writes::batch_new,
    },
    Export {
        name: "batchAppend",
        body: writes::batch_append,
    },
    Export {
        name: "batchPut",
        body: writes::batch_put,
    },
    Export {
        name: "batchWrite",
        body: writes::batch_write,
    },
    Export {
        name: "iteratorNew",
        body: scan::object::iterator_new,
    },
    Export {
        name: "iteratorSeek",
        body: scan::object::iterator_seek,
    },
    Export {
        name: "iteratorRead",
        body: scan::object::iterator_read,
    },
    Export {
        name: "iteratorTake",
        body: scan::object::iterator_take,
    },
    Export {
        name: "iteratorAbort",
        body: scan::object::iterator_abort,
    },
    Export {
        name: "iteratorClose",
        body: scan::object::iterator_close,
    },
    Export {
        name: "snapshotNew",
        body: snapshot::snapshot_new,
    },
    Export {
        name: "snapshotClose",
        body: snapshot::snapshot_close,
    },
    Export {
        name: "clear",
        body: clear::clear,
    },
    Export {
        name: "approximateSize",
        body: admin::approximate_size,
    },
    Export {
        name: "compactRange",
        body: admin::compact_range,
    },
    Export {
        name: "written",
        body: admin::written,
    },
    Export {
        name: "fork",
        body: admin::fork,
    },
    Export {
        name: "diffNew",
        body: scan::diff::diff_new,
    },
    Export {
        name: "diffRead",
        body: scan::diff::diff_read,
    },
    Export {
        name: "diffTake",
        body: scan::diff::diff_take,
    },
    Export {
        name: "diffClose",
        body: scan::diff::diff_close,
    },
    Export {
        name: "changesNew",
        body: scan::changes::changes_new,
    },
    Export {
        name: "changesSnapshot",
        body: scan::changes::changes_snapshot,
    },
    Export {
        name: "changesPlace",
        body: scan::changes::changes_place,
    },
    Export {
        name: "changesRead",
        body: scan::changes::changes_read,
    },
    Export {
        name: "changesTake",
        body: scan::changes::changes_take,
    },
    Export {
        name: "changesAcknowledge",
        body: scan::changes::changes_acknowledge,
    },
    Export {
        name: "changesClose",
        body: scan::changes::changes_close,
    },
    Export {
        name: "place",
        body: scan::changes::place,
    },
    Export {
        name: "leases",
        body: scan::changes::leases,
    },
    Export {
        name: "leaseDrop",
        body: scan::changes::lease_drop,
    },
    Export {
        name: "property",
        body: admin::property,
    },
    Export {
        name: "refresh",
        body: admin::refresh,
    },
    Export {
        name: "hasWriter",
        body: admin::has_writer,
    },
    Export {
        name: "sequenceNumber",
        body: admin::sequence_number,
    },
    Export {
        name: "isCold",
        body: admin::is_cold,
    },
    Export {
        name: "watchNew",
        body: js::watch::watch_new,
    },
    Export {
        name: "watchAbort",
        body: js::watch::watch_abort,
    },
    Export {
        name: "watchReport",
        body: js::watch::watch_report,
    },
    Export {
        name: "destroy",
        body: admin::destroy,
    },
    Export {
        name: "repair",
        body: admin::repair,
    },
];
