//! Every workload by name, as data: what it does, whether it starts from an empty store, how many
//! operations it counts and how large its values are.
//!
//! Where LevelDB's program and its own help text differ, the help text applies: synchronous rows
//! run N/100.

#[cfg_attr(
    not(test),
    expect(clippy::enum_glob_use, reason = "a table of actions")
)]
use crate::workload::definition::Action::{self, *};
use crate::workload::definition::Order::{Random, Sequential, Unique};
use crate::workload::definition::{
    self, Beside, End, Mix, Pattern, Reading, Target, Values, Workload,
};

const NO_MIX: Mix = Mix {
    read: 0,
    update: 0,
    insert: 0,
    scan: 0,
    modify: 0,
    delete: 0,
    zipf: 0,
    latest: false,
    graph: false,
};

/// A row of N operations over the existing contents.
const fn row(name: &'static str, action: Action, help: &'static str) -> Workload {
    Workload {
        name,
        action,
        fresh: false,
        divisor: 1,
        batch: 1,
        sync: false,
        values: Values::Flag,
        help,
    }
}

const fn codec(name: &'static str, codec: &'static str, decode: bool) -> Workload {
    let help = if decode {
        "decode one block until 1 GiB is done"
    } else {
        "encode one block until 1 GiB is done"
    };
    row(name, Codec { codec, decode }, help)
}

const fn turns(name: &'static str, pattern: Pattern, held: bool, about: &'static str) -> Workload {
    let turns = Turns {
        pattern,
        held,
        ranges: false,
    };
    row(name, turns, about).fresh().divided(2)
}

const fn cost(name: &'static str, readers: u32, reading: Reading, about: &'static str) -> Workload {
    let cost = definition::Readers::Cost { readers, reading };
    row(name, Readers(cost), about)
}

const fn in_ranges(name: &'static str, pattern: Pattern) -> Workload {
    let turns = Turns {
        pattern,
        held: false,
        ranges: true,
    };
    let help = "the same, but each deletion is of the whole range removed so far, in one call";
    row(name, turns, help).fresh().divided(2)
}

const fn held(name: &'static str, pattern: Pattern) -> Workload {
    let help = "the same while a cursor opened before the first deletion is held";
    turns(name, pattern, true, help)
}

/// Every workload. The mixes are from "Benchmarking Cloud Serving Systems with YCSB" (Cooper et
/// al., 2010), table 2, and mix F from the program published with it.
#[rustfmt::skip]
pub const CATALOG: &[Workload] = &[
    row("fillseq", Fill(Sequential), "write N values in sequential key order").fresh(),
    row("fillrandom", Fill(Random), "write N values in random key order").fresh(),
    row("filluniquerandom", Fill(Unique), "write each of N keys once in random order").fresh(),
    row("overwrite", Fill(Random), "overwrite N values in random key order"),
    row("fillsync", Fill(Random),
        "write N/100 values in random key order in sync mode").fresh().sync(),
    row("fillrandsync", Fill(Random), "the same as fillsync").fresh().sync(),
    row("fillseqsync", Fill(Sequential),
        "write N/100 values in sequential key order in sync mode").fresh().sync(),
    row("fillbatch", Fill(Sequential),
        "write N values in sequential key order, 1000 in a batch").fresh().batch(),
    row("fillseqbatch", Fill(Sequential), "the same as fillbatch").fresh().batch(),
    row("fillrandbatch", Fill(Random),
        "write N values in random key order, 1000 in a batch").fresh().batch(),
    row("filluniquebatch", Fill(Unique),
        "write each of N keys once in random order, 1000 in a batch").fresh().batch(),
    row("appendbatch", Append,
        "write N values in sequential key order after the last key, 1000 in a batch").batch(),
    row("fill100K", Fill(Random), "write N/1000 100K values in random key order").fresh().large(),
    row("fillrand100K", Fill(Random), "the same as fill100K").fresh().large(),
    row("fillseq100K", Fill(Sequential),
        "write N/1000 100K values in sequential key order").fresh().large(),
    row("deleteseq", Delete(Sequential), "delete N keys in sequential order"),
    row("deleterandom", Delete(Random), "delete N keys in random order"),
    row("deletebatch", Delete(Unique),
        "delete N/2 keys in random order, each once, 1000 in a batch").batch().divided(2),
    row("deleteranges", DeleteRanges,
        "delete half of N keys as --ranges ranges, evenly spread; the time of one"),
    row("popfirst", Pop(End::First), "find and delete the first entry N/10 times").divided(10),
    row("poplast", Pop(End::Last), "find and delete the last entry N/10 times").divided(10),
    row("extract", Extract,
        "scan the middle third, delete every second entry, N/6 in all").divided(6),
    row("stallafterbatch", Stall,
        "write N values in one batch, or --batch_size in each; the longest of the N/100 puts after \
         it").fresh(),
    row("syncburst", SyncBurst,
        "write N values in random key order, then sync all of them at once; the time of the \
         sync").fresh(),
    turns("queue", Pattern::Queue, false,
        "write N values, then N/2 times add one after the last, find and delete the first"),
    held("queueheld", Pattern::Queue),
    in_ranges("queueranges", Pattern::Queue),
    turns("stack", Pattern::Stack, false,
        "write N values, then N/2 times add one after the last, find and delete the last, in \
         bursts of 1000"),
    held("stackheld", Pattern::Stack),
    in_ranges("stackranges", Pattern::Stack),
    turns("window", Pattern::Window, false,
        "write N values, then N/2 times add one after the last, delete the first, read the first \
         10"),
    held("windowheld", Pattern::Window),
    in_ranges("windowranges", Pattern::Window),
    turns("deleteall", Pattern::All, false,
        "write N values, delete all, then N/2 times write one elsewhere and seek the first"),
    held("deleteallheld", Pattern::All),
    turns("deleterange", Pattern::Middle, false,
        "write N values, delete the middle half, then N/2 times write one elsewhere and seek the \
         first of that half"),
    held("deleterangeheld", Pattern::Middle),
    row("readseq", Scan { backward: false }, "read N times sequentially"),
    row("readiter", Iterate,
        "read N times sequentially as the store iterates, if not with a cursor"),
    row("readreverse", Scan { backward: true }, "read N times in reverse order"),
    row("readrandom", Get(Target::All), "read N times in random order"),
    row("readrandomsmall", Get(Target::All), "read N/1000 times in random order").divided(1000),
    row("readmissing", Get(Target::Missing), "read N missing keys in random order"),
    row("readhot", Get(Target::Hot), "read N times in random order from 1% section of DB"),
    row("readseq100K", Scan { backward: false }, "read N/1000 times sequentially").large(),
    row("readrand100K", Get(Target::Stored),
        "read N/1000 of the keys that are stored, in random order").large(),
    row("multireadrandom", MultiGet, "read N keys in random order, --batch_size at a time"),
    row("seekrandom", Seek, "N random seeks, each with a cursor of its own"),
    row("seekordered", SeekOrdered, "N ordered seeks on one cursor"),
    row("updaterandom", Update, "read and write back N random keys"),
    row("readwhilewriting", GetBeside(Beside::Put), "1 writer, N threads doing random reads"),
    row("readwhilemerging", GetBeside(Beside::Merge), "1 merger, N threads doing random reads"),
    row("seekrandomwhilewriting", SeekBeside(Beside::Put),
        "1 writer, N threads doing random seeks"),
    row("readrandomwriterandom", ReadWrite, "N threads doing random-read, random-write"),
    row("mergerandom", Merge, "merge N random keys (operator: max)"),
    row("readrandommergerandom", ReadMerge, "N threads doing random-read, random-merge"),
    row("ycsba", Ycsb(Mix { read: 50, update: 50, ..NO_MIX }), "YCSB A: half reads, half updates"),
    row("ycsbb", Ycsb(Mix { read: 95, update: 5, ..NO_MIX }), "YCSB B: 95% reads, 5% updates"),
    row("ycsbc", Ycsb(Mix { read: 100, ..NO_MIX }), "YCSB C: reads only"),
    row("ycsbd", Ycsb(Mix { read: 95, insert: 5, latest: true, ..NO_MIX }),
        "YCSB D: 95% reads of the newest records, 5% inserts"),
    row("ycsbe", Ycsb(Mix { scan: 95, insert: 5, ..NO_MIX }),
        "YCSB E: 95% scans of 1 to 100 entries, 5% inserts"),
    row("ycsbf", Ycsb(Mix { read: 50, modify: 50, ..NO_MIX }),
        "YCSB F: half reads, half read-modify-writes"),
    row("twitter8", Ycsb(Mix { read: 50, update: 50, zipf: 174, ..NO_MIX }),
        "Twitter's cache cluster 8: half reads, half writes, Zipf 1.74"),
    row("twitter12", Ycsb(Mix { read: 20, update: 80, zipf: 30, ..NO_MIX }),
        "Twitter's cluster 12: 20% reads, 80% writes, Zipf 0.30"),
    row("twitter14", Ycsb(Mix { read: 65, update: 13, delete: 22, zipf: 130, ..NO_MIX }),
        "Twitter's cluster 14: 65% reads, 13% writes, 22% deletes, Zipf 1.30"),
    row("twitter18", Ycsb(Mix { read: 96, update: 4, zipf: 210, ..NO_MIX }),
        "Twitter's cluster 18: 96% reads, 4% writes, Zipf 2.10"),
    row("twitter19", Ycsb(Mix { read: 75, update: 25, zipf: 74, ..NO_MIX }),
        "Twitter's cluster 19: 75% reads, 25% writes, Zipf 0.74"),
    row("twitter27", Ycsb(Mix { read: 85, update: 15, zipf: 107, ..NO_MIX }),
        "Twitter's cluster 27: 85% reads, 15% writes, Zipf 1.07"),
    row("mixgraph", Ycsb(Mix { read: 83, update: 14, scan: 3, graph: true, ..NO_MIX }),
        "ZippyDB's trace as RocksDB's program draws it: 83% reads, 14% writes, 3% scans; --data=pareto \
         for its values"),
    row("open", Open, "cost of opening a DB, N/10000 times").divided(10_000),
    Workload { sync: true, ..row("dropkeyspaces", DropKeyspaces,
        "drop each of --keyspaces in sync mode; the time of one") },
    row("readerget", Readers(definition::Readers::Quiet),
        "random reads by --threads other processes while nothing is written"),
    row("readerwriting", Readers(definition::Readers::Writing),
        "the same while this process writes 50,000 entries a second"),
    row("readerfresh", Readers(definition::Readers::Fresh),
        "N/100 times write an entry; the median time until another process has read it")
        .divided(100),
    row("readeropen", Readers(definition::Readers::Opening),
        "overwrite N values in random key order; the time until another process that then opens \
         the store has its first answer"),
    cost("writercost0", 0, Reading::Idle,
        "overwrite N values in random key order; the processor time of one until idle"),
    cost("writercostidle", 3, Reading::Idle,
        "the same while three other processes have the store open"),
    cost("writercostbusy", 3, Reading::Flat,
        "the same while three other processes read random keys"),
    row("crc32c", Crc32c, "repeated crc32c of 4K of data"),
    row("depth", Depth,
        "read N random pages of 4K from the device, --threads at a time, past the page cache"),
    row("chase1", Chase(1), "load a word of as much memory as the entries take, N times"),
    row("chase2", Chase(2), "the same with two loads, the second where the first says"),
    row("chase3", Chase(3), "the same with three loads"),
    row("amp1", Amp(1), "append N entries to a file, 64K at a time"),
    row("amp2", Amp(2), "append N entries to each of two files, as to a log and a table"),
    row("acquireload", AcquireLoad, "load N*1000 times"),
    codec("snappycomp", "snappy", false),
    codec("snappyuncomp", "snappy", true),
    codec("lz4comp", "lz4", false),
    codec("lz4uncomp", "lz4", true),
    codec("zstdcomp", "zstd", false),
    codec("zstduncomp", "zstd", true),
    row("compact", Compact, "compact the entire DB"),
    row("flush", Flush, "move what is in memory to tables"),
    row("waitforcompaction", Wait, "wait until background work has ended"),
    row("verify", Verify, "compare every entry with what was written"),
    row("stats", Property("leveldb.stats"), "print DB stats"),
    row("sstables", Property("leveldb.sstables"), "print sstable info"),
    row("levelstats", Property("rocksdb.levelstats"),
        "print files and bytes of each level; a store without RocksDB's property for this prints \
         its stats, which include them"),
    row("resetstats", ResetStats, "set the engine's counters to zero"),
    row("heapprofile", HeapProfile, "dump a heap profile (if supported)"),
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
            if let Ycsb(mix) = workload.action {
                let sum = mix.read + mix.update + mix.insert + mix.scan + mix.modify + mix.delete;
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
