//! The flags.

use std::fmt::Write as _;

use bench_core::flags::{Family, Flag, FlagKind};

const fn flag(
    name: &'static str,
    kind: FlagKind,
    default: &'static str,
    help: &'static str,
) -> Flag {
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
        flag("help", FlagKind::Bool, "0", "print this text"),
        flag("version", FlagKind::Bool, "0", "print the version"),
        flag(
            "db",
            FlagKind::Text,
            "",
            "directory that the stores are created in; required, and created if it is missing",
        ),
        flag(
            "engines",
            FlagKind::Text,
            "cairndb,leveldb,rocksdb,lmdb",
            "engines, separated by commas",
        ),
        flag(
            "workloads",
            FlagKind::Text,
            "queue,stack,window,deleteall,deleterange",
            "workloads, separated by commas",
        ),
        flag(
            "threads",
            FlagKind::Text,
            "1,4",
            "numbers of threads, separated by commas",
        ),
        flag(
            "num",
            FlagKind::Number(100, 1 << 40),
            "400000",
            "number of entries before the first deletion, of all threads",
        ),
        flag(
            "turns",
            FlagKind::Number(1, 1 << 40),
            "200000",
            "number of turns of all threads",
        ),
        flag(
            "seconds",
            FlagKind::Number(1, 86_400),
            "5",
            "time after which the turns of a run end early",
        ),
        flag(
            "memory",
            FlagKind::Number(1 << 20, 1 << 40),
            "4194304",
            "memory of each store in bytes",
        ),
        flag(
            "rounds",
            FlagKind::Number(1, 1000),
            "3",
            "number of rounds; the engines take turns",
        ),
        flag(
            "json",
            FlagKind::Text,
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
