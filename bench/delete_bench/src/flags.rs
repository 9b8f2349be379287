//! The flags.

use std::fmt::Write as _;

use bench_core::flags::{Family, Flag, Kind};

const fn flag(name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Flag {
    Flag {
        name,
        aliases: &[],
        kind,
        default,
        help,
        topic: "",
    }
}

/// All flags.
pub(crate) const FAMILY: Family = Family {
    flags: &[
        flag("help", Kind::Bool, "0", "print this text"),
        flag("version", Kind::Bool, "0", "print the version"),
        flag(
            "db",
            Kind::Text,
            "",
            "directory that the stores are created in; required, and created if it is missing",
        ),
        flag(
            "engines",
            Kind::Text,
            "cairndb,leveldb,rocksdb,lmdb",
            "engines, separated by commas",
        ),
        flag(
            "workloads",
            Kind::Text,
            "queue,stack,window,deleteall,deleterange",
            "workloads, separated by commas",
        ),
        flag(
            "threads",
            Kind::Text,
            "1,4",
            "numbers of threads, separated by commas",
        ),
        flag(
            "num",
            Kind::Number(100, 1 << 40),
            "400000",
            "number of entries before the first deletion, of all threads",
        ),
        flag(
            "turns",
            Kind::Number(1, 1 << 40),
            "200000",
            "number of turns of all threads",
        ),
        flag(
            "seconds",
            Kind::Number(1, 86_400),
            "5",
            "time after which the turns of a run end early",
        ),
        flag(
            "memory",
            Kind::Number(1 << 20, 1 << 40),
            "4194304",
            "memory of each store in bytes",
        ),
        flag(
            "rounds",
            Kind::Number(1, 1000),
            "3",
            "number of rounds; the engines take turns",
        ),
        flag(
            "json",
            Kind::Text,
            "",
            "file for the results, one JSON object a line",
        ),
    ],
    model: "db_bench",
    refused: &[],
    tolerated_valued: &[],
    tolerated_switches: &[],
};

/// Returns the help text.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "delete_bench: time of a turn, dead entries passed and disk space where much is deleted\n\
         usage: delete_bench --db=DIR [--flag=value]...\n\n",
    );
    for flag in FAMILY.flags {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  --{:<10} {} (default: {})",
            flag.name, flag.help, flag.default
        );
    }
    text
}
