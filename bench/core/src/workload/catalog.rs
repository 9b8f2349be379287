//! Every workload by name, as data: what it does, whether it starts from an empty store, how many
//! operations it counts and how large its values are.
//!
//! Where LevelDB's program and its own help text differ, the help text applies: synchronous rows
//! run N/100.

use crate::workload::definition::{Action, Beside, End, Mix, Order, Pattern, Target, Workload};

const SEQ: Action = Action::Fill(Order::Sequential);
const RANDOM: Action = Action::Fill(Order::Random);

const fn codec(name: &'static str, codec: &'static str, decode: bool) -> Workload {
    let help = if decode {
        "decode one block until 1 GiB is done"
    } else {
        "encode one block until 1 GiB is done"
    };
    Workload::new(name, Action::Codec { codec, decode }, help)
}

const fn turns(name: &'static str, pattern: Pattern, help: &'static str) -> Workload {
    let action = Action::Turns {
        pattern,
        held: false,
    };
    Workload::new(name, action, help).fresh().divided(2)
}

const fn held(name: &'static str, pattern: Pattern) -> Workload {
    Workload {
        action: Action::Turns {
            pattern,
            held: true,
        },
        ..turns(
            name,
            pattern,
            "the same while a cursor opened before the first deletion is held",
        )
    }
}

const NO_MIX: Mix = Mix {
    read: 0,
    update: 0,
    insert: 0,
    scan: 0,
    modify: 0,
    latest: false,
};

/// The mixes from "Benchmarking Cloud Serving Systems with YCSB" (Cooper et al., 2010), table 2,
/// and mix F from the program published with it.
const YCSB_A: Mix = Mix {
    read: 50,
    update: 50,
    ..NO_MIX
};
const YCSB_B: Mix = Mix {
    read: 95,
    update: 5,
    ..NO_MIX
};
const YCSB_C: Mix = Mix {
    read: 100,
    ..NO_MIX
};
const YCSB_D: Mix = Mix {
    read: 95,
    insert: 5,
    latest: true,
    ..NO_MIX
};
const YCSB_E: Mix = Mix {
    scan: 95,
    insert: 5,
    ..NO_MIX
};
const YCSB_F: Mix = Mix {
    read: 50,
    modify: 50,
    ..NO_MIX
};

/// Every workload.
pub const CATALOG: &[Workload] = &[
    Workload::new("fillseq", SEQ, "write N values in sequential key order").fresh(),
    Workload::new("fillrandom", RANDOM, "write N values in random key order").fresh(),
    Workload::new(
        "filluniquerandom",
        Action::Fill(Order::Unique),
        "write each of N keys once in random order",
    )
    .fresh(),
    Workload::new(
        "overwrite",
        RANDOM,
        "overwrite N values in random key order",
    ),
    Workload::new(
        "fillsync",
        RANDOM,
        "write N/100 values in random key order in sync mode",
    )
    .fresh()
    .sync(),
    Workload::new("fillrandsync", RANDOM, "the same as fillsync")
        .fresh()
        .sync(),
    Workload::new(
        "fillseqsync",
        SEQ,
        "write N/100 values in sequential key order in sync mode",
    )
    .fresh()
    .sync(),
    Workload::new(
        "fillbatch",
        SEQ,
        "write N values in sequential key order, 1000 in a batch",
    )
    .fresh()
    .batch(),
    Workload::new("fillseqbatch", SEQ, "the same as fillbatch")
        .fresh()
        .batch(),
    Workload::new(
        "fillrandbatch",
        RANDOM,
        "write N values in random key order, 1000 in a batch",
    )
    .fresh()
    .batch(),
    Workload::new(
        "filluniquebatch",
        Action::Fill(Order::Unique),
        "write each of N keys once in random order, 1000 in a batch",
    )
    .fresh()
    .batch(),
    Workload::new(
        "appendbatch",
        Action::Append,
        "write N values in sequential key order after the last key, 1000 in a batch",
    )
    .batch(),
    Workload::new(
        "fill100K",
        RANDOM,
        "write N/1000 100K values in random key order",
    )
    .fresh()
    .large(),
    Workload::new("fillrand100K", RANDOM, "the same as fill100K")
        .fresh()
        .large(),
    Workload::new(
        "fillseq100K",
        SEQ,
        "write N/1000 100K values in sequential key order",
    )
    .fresh()
    .large(),
    Workload::new(
        "deleteseq",
        Action::Delete(Order::Sequential),
        "delete N keys in sequential order",
    ),
    Workload::new(
        "deleterandom",
        Action::Delete(Order::Random),
        "delete N keys in random order",
    ),
    Workload::new(
        "deletebatch",
        Action::Delete(Order::Unique),
        "delete N/2 keys in random order, each once, 1000 in a batch",
    )
    .batch()
    .divided(2),
    Workload::new(
        "popfirst",
        Action::Pop(End::First),
        "find and delete the first entry N/10 times",
    )
    .divided(10),
    Workload::new(
        "poplast",
        Action::Pop(End::Last),
        "find and delete the last entry N/10 times",
    )
    .divided(10),
    Workload::new(
        "extract",
        Action::Extract,
        "scan the middle third, delete every second entry, N/6 in all",
    )
    .divided(6),
    Workload::new(
        "stallafterbatch",
        Action::Stall,
        "write N values in one batch, or --batch_size in each; the longest of the N/100 puts after \
         it",
    )
    .fresh(),
    Workload::new(
        "syncburst",
        Action::SyncBurst,
        "write N values in random key order, then sync all of them at once; the time of the sync",
    )
    .fresh(),
    turns(
        "queue",
        Pattern::Queue,
        "write N values, then N/2 times add one after the last, find and delete the first",
    ),
    held("queueheld", Pattern::Queue),
    turns(
        "stack",
        Pattern::Stack,
        "write N values, then N/2 times add one after the last, find and delete the last, in bursts \
         of 1000",
    ),
    held("stackheld", Pattern::Stack),
    turns(
        "window",
        Pattern::Window,
        "write N values, then N/2 times add one after the last, delete the first, read the first 10",
    ),
    held("windowheld", Pattern::Window),
    turns(
        "deleteall",
        Pattern::All,
        "write N values, delete all, then N/2 times write one elsewhere and seek the first",
    ),
    held("deleteallheld", Pattern::All),
    turns(
        "deleterange",
        Pattern::Middle,
        "write N values, delete the middle half, then N/2 times write one elsewhere and seek the \
         first of that half",
    ),
    held("deleterangeheld", Pattern::Middle),
    Workload::new(
        "readseq",
        Action::Scan { backward: false },
        "read N times sequentially",
    ),
    Workload::new(
        "readiter",
        Action::Iterate,
        "read N times sequentially as the store iterates, if not with a cursor",
    ),
    Workload::new(
        "readreverse",
        Action::Scan { backward: true },
        "read N times in reverse order",
    ),
    Workload::new(
        "readrandom",
        Action::Get(Target::All),
        "read N times in random order",
    ),
    Workload::new(
        "readrandomsmall",
        Action::Get(Target::All),
        "read N/1000 times in random order",
    )
    .divided(1000),
    Workload::new(
        "readmissing",
        Action::Get(Target::Missing),
        "read N missing keys in random order",
    ),
    Workload::new(
        "readhot",
        Action::Get(Target::Hot),
        "read N times in random order from 1% section of DB",
    ),
    Workload::new(
        "readseq100K",
        Action::Scan { backward: false },
        "read N/1000 times sequentially",
    )
    .large(),
    Workload::new(
        "readrand100K",
        Action::Get(Target::Stored),
        "read N/1000 of the keys that are stored, in random order",
    )
    .large(),
    Workload::new(
        "multireadrandom",
        Action::MultiGet,
        "read N keys in random order, --batch_size at a time",
    ),
    Workload::new(
        "seekrandom",
        Action::Seek,
        "N random seeks, each with a cursor of its own",
    ),
    Workload::new(
        "seekordered",
        Action::SeekOrdered,
        "N ordered seeks on one cursor",
    ),
    Workload::new(
        "updaterandom",
        Action::Update,
        "read and write back N random keys",
    ),
    Workload::new(
        "readwhilewriting",
        Action::GetBeside(Beside::Put),
        "1 writer, N threads doing random reads",
    ),
    Workload::new(
        "readwhilemerging",
        Action::GetBeside(Beside::Merge),
        "1 merger, N threads doing random reads",
    ),
    Workload::new(
        "seekrandomwhilewriting",
        Action::SeekBeside(Beside::Put),
        "1 writer, N threads doing random seeks",
    ),
    Workload::new(
        "readrandomwriterandom",
        Action::ReadWrite,
        "N threads doing random-read, random-write",
    ),
    Workload::new(
        "mergerandom",
        Action::Merge,
        "merge N random keys (operator: max)",
    ),
    Workload::new(
        "readrandommergerandom",
        Action::ReadMerge,
        "N threads doing random-read, random-merge",
    ),
    Workload::new(
        "ycsba",
        Action::Ycsb(YCSB_A),
        "YCSB A: half reads, half updates",
    ),
    Workload::new(
        "ycsbb",
        Action::Ycsb(YCSB_B),
        "YCSB B: 95% reads, 5% updates",
    ),
    Workload::new("ycsbc", Action::Ycsb(YCSB_C), "YCSB C: reads only"),
    Workload::new(
        "ycsbd",
        Action::Ycsb(YCSB_D),
        "YCSB D: 95% reads of the newest records, 5% inserts",
    ),
    Workload::new(
        "ycsbe",
        Action::Ycsb(YCSB_E),
        "YCSB E: 95% scans of 1 to 100 entries, 5% inserts",
    ),
    Workload::new(
        "ycsbf",
        Action::Ycsb(YCSB_F),
        "YCSB F: half reads, half read-modify-writes",
    ),
    Workload::new("open", Action::Open, "cost of opening a DB, N/10000 times").divided(10_000),
    Workload::new("crc32c", Action::Crc32c, "repeated crc32c of 4K of data"),
    Workload::new("acquireload", Action::AcquireLoad, "load N*1000 times"),
    codec("snappycomp", "snappy", false),
    codec("snappyuncomp", "snappy", true),
    codec("lz4comp", "lz4", false),
    codec("lz4uncomp", "lz4", true),
    codec("zstdcomp", "zstd", false),
    codec("zstduncomp", "zstd", true),
    Workload::new("compact", Action::Compact, "compact the entire DB"),
    Workload::new("flush", Action::Flush, "move what is in memory to tables"),
    Workload::new(
        "waitforcompaction",
        Action::Wait,
        "wait until background work has ended",
    ),
    Workload::new(
        "verify",
        Action::Verify,
        "compare every entry with what was written",
    ),
    Workload::new("stats", Action::Property("leveldb.stats"), "print DB stats"),
    Workload::new(
        "sstables",
        Action::Property("leveldb.sstables"),
        "print sstable info",
    ),
    Workload::new(
        "levelstats",
        Action::Property("rocksdb.levelstats"),
        "print files and bytes of each level; a store without RocksDB's property for this prints its stats, which include them",
    ),
    Workload::new(
        "resetstats",
        Action::ResetStats,
        "set the engine's counters to zero",
    ),
    Workload::new(
        "heapprofile",
        Action::HeapProfile,
        "dump a heap profile (if supported)",
    ),
];

/// Returns the workload with this name.
pub fn named(name: &str) -> Option<&'static Workload> {
    CATALOG.iter().find(|workload| workload.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, workload) in CATALOG.iter().enumerate() {
            assert!(
                CATALOG[..index]
                    .iter()
                    .all(|other| other.name != workload.name),
                "{}",
                workload.name
            );
        }
    }

    #[test]
    fn mixes_are_of_a_hundred() {
        for workload in CATALOG {
            if let Action::Ycsb(mix) = workload.action {
                let sum = mix.read + mix.update + mix.insert + mix.scan + mix.modify;
                assert_eq!(sum, 100, "{}", workload.name);
            }
        }
    }

    #[test]
    fn counts_are_those_of_the_help() {
        let divisor = |name| named(name).expect("in the catalogue").divisor;
        assert_eq!(divisor("fillsync"), 100);
        assert_eq!(divisor("fill100K"), 1000);
        assert_eq!(divisor("open"), 10_000);
        assert_eq!(divisor("fillseq"), 1);
    }
}
