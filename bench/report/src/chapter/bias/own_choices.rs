//! Prose about our own choices: defaults, and the classic data.

use crate::chapter::bias::filters;
use crate::chapter::builds;
use crate::document::Item;
use crate::engine_style;
use crate::run::Run;
use crate::table::{Row, Table, verdict};

const DEFAULTS: [(&str, &str); 19] = [
    (
        "Mapped tables favour CairnDB and LMDB.",
        "CairnDB maps its tables while they are small compared with the machine's memory, and LMDB \
         maps everything. What they read is in the page cache and does not count against their \
         memory setting. Stores with a cache of their own pay for each miss with a copy or a \
         decompression. Read the 4 MB rows together with the page cache column.",
    ),
    (
        "Checking each mapped page once favours CairnDB; checking nothing favours LevelDB, LMDB, SQLite and TreeDB.",
        "CairnDB checks a mapped page against its checksum once between an open and the next, and a \
         page that it reads into its cache each time. RocksDB and WiredTiger (checksums on) check a \
         block whenever their cache does not have it. LevelDB's blocks have checksums, and its \
         reads ignore them by default, as its own program and this adapter do. LMDB, SQLite and \
         TreeDB have none on what they read. The larger the data is compared with the memory, the \
         more RocksDB and WiredTiger pay for this; CairnDB pays no more.",
    ),
    (
        "The untimed check of contents favours stores that map files.",
        "After each row that writes or compacts, the harness reads everything and compares it, \
         outside the clock and in the same process. If reads follow in that process, CairnDB has \
         then checked its pages, and CairnDB and LMDB have taken their page faults; a store with a \
         small cache of its own keeps little of that scan. Reads as loaded and after compact start \
         warm for the first and not for the second. In sections that open the database anew they \
         start cold for both.",
    ),
    (
        "Waiting until stores are idle favours CairnDB in reads as loaded.",
        "After each row that writes, the harness waits until background work has ended, and the \
         reads that follow find the result. CairnDB has a call for that: it compacts its tables to \
         one run while they have less than 256 MB together, or the newer of them more than a tenth \
         of it; by itself it would start that 50 ms after the last write. Its reads as loaded then \
         look into one run and the newest writes, which stay in memory. LevelDB's threads are \
         watched, and RocksDB is asked until no flush or compaction is pending: the files of their \
         level 0 stay, and their reads look into each of them. The time of that compaction is in no \
         rate. It is in the time until idle, and in the CPU time and bytes written of the row that \
         wrote. If no pause follows the writes, reads meet more runs than here: the rows with a \
         concurrent writer show that.",
    ),
    (
        "A Rust interface favours CairnDB.",
        "Its calls are compiled into the loops. The peers are called through C: a function pointer \
         for each step, and an allocation for each value that LevelDB and RocksDB return. That is \
         what users of the C interfaces pay, but the stores themselves are not to blame.",
    ),
    (
        "A snapshot of its own for each get hurts LMDB, SQLite and WiredTiger.",
        "Each point read begins and ends a transaction in LMDB and SQLite, and is followed by a \
         reset of WiredTiger's cursor: as with the other stores, a get sees what was written before \
         it, and holds nothing afterwards. A program that reads a lot from one snapshot would keep \
         a transaction and pay less. The keys of one multireadrandom call are read in one \
         transaction there, and from one snapshot by CairnDB and RocksDB; LevelDB and TreeDB are \
         asked for each key separately.",
    ),
    (
        "A second core favours CairnDB, LevelDB, RocksDB and WiredTiger's LSM.",
        "They move work to background threads; SQLite, TreeDB and LMDB do everything inside the \
         call. Rates do not show that work, but CPU an operation does.",
    ),
    (
        "Rates end with the last call.",
        "The store that defers most looks best. Read fill rates together with the time until idle.",
    ),
    (
        "A log that is written without system calls favours CairnDB.",
        "The bytes of a mapped log are with the operating system once they are copied; the others \
         call write for each operation. The promise is the same, the price is not. The log does not \
         count against the memory setting either: under 4 MB CairnDB keeps up to 64 MB of log \
         mapped while it is written to, and its write buffer refers to values in it that the others \
         copy to theirs. The peak of mapped memory shows it; an idle store releases all but a \
         segment or two.",
    ),
    (
        "4 MB of memory hurts WiredTiger's B-tree and RocksDB most.",
        "Such a cache holds a thousand pages of the B-tree, and a batch of a thousand random keys \
         changes about as many: the batch waits for pages to be written out, and took 1200 times as \
         long as CairnDB's when this was measured, single random writes 50 to 100 times. RocksDB's \
         defaults are made for write buffers of 64 MB and large caches. The levels of its own \
         settings for small databases, tried in the small sections, gain in random writes and lose \
         in reads. No user would run either as these sections do.",
    ),
    (
        "A fixed split of the memory favours stores that need none.",
        "LevelDB and RocksDB need to know how much of their memory is write buffer and how much is \
         cache: half each up to 16 MB; above that, as the section of the suite says, 8 MB of cache \
         and the rest for writes, 8 MB for writes and the rest as cache, or half each. Options \
         under Provenance shows both figures. CairnDB, SQLite, TreeDB and WiredTiger get the total \
         and use it as they please, in every section alike: CairnDB about seven sixteenths for \
         pending writes and a quarter as cache, in addition to the tables that it maps. A split for \
         writes makes LevelDB and RocksDB read through a small cache for the whole section, a split \
         for reads makes them write through a small buffer, and rows that do both suit a store \
         without a fixed split.",
    ),
    (
        "Page sizes of 2011 hurt SQLite and TreeDB.",
        "Pages of 1024 bytes are those of the page of 2011; SQLite's own default is 4096, which it \
         has where entries do not fit such a page. Its rows also pay for SQL, even though \
         statements are prepared.",
    ),
    (
        "Threads of SQLite take turns if one of them writes.",
        "They then share one connection, as exclusive locking requires. With a connection for each \
         thread, which was tried, every write invalidates the caches of the others: the writer got \
         a quarter more done, and the other threads read two thirds as much. If no thread writes, \
         each has its own connection, with an even share of the memory, and begins with an empty \
         cache.",
    ),
    (
        "TreeDB does work here that its own users do not ask for.",
        "Its library evicts pages from its cache only in calls that split none, and a value larger \
         than a page splits one with every put: by itself, its cache would grow by everything \
         written. The adapter therefore looks up the key that it has just put, four times, after \
         each put of a value larger than a page, so that the cache stays within the memory that all \
         stores get. That is four lookups in a tree of cached pages for each write of 100,000 bytes \
         in the rows with large values, and nothing in the others. Rows with large values count a \
         little too much against it.",
    ),
    (
        "The log hurts WiredTiger.",
        "Its published page ran it without. Ranked rows need what every other store has. Its \
         counters, off by default, are on in the rows of both variants, because they show the bytes \
         it wrote and whether it is idle: a B-tree's scans took about 3 % longer with them, half a \
         nanosecond an entry, and no difference was seen in other rows.",
    ),
    (
        "The adapter ends standstills of WiredTiger's LSM tree.",
        "Version 3.2.1 now and then loses a request to sync its log (WT-9796, fixed in 2022 by \
         WT-10207) and may then wait for ever. The adapter requests a sync of the log when the \
         process used less than a third of a core for 40 ms, and less and less often while that \
         continues. The cost of the waits and of these syncs is in its rates and latencies, and if \
         the store is slow for other reasons, some of them were not needed. With busy readers a \
         standstill of the writer is not noticed: look at the writer's rate there. A thread for it \
         is started and ended with each open. Without it, three of five sequential fills under 4 MB \
         had not ended after a minute. Handles are closed after some seconds without use, so that \
         those of merged chunks do not count as memory; others must be opened again.",
    ),
    (
        "No compression favours LMDB in time and hurts it on disk.",
        "It stores raw pages, has no setting for memory and uses whatever page cache there is.",
    ),
    (
        "Tuning favours CairnDB.",
        "It was developed against these very workloads, on machines like this one, by the people \
         who wrote the harness. The peers run with the settings of pages from 2011 and 2012 that \
         their authors did not choose for today's hardware.",
    ),
    (
        "The machine decides the synchronous rows.",
        "On a virtual disk a flush may cost little or nothing. The order of stores there says more \
         about the number of flushes than about the stores.",
    ),
];

/// SQLite among the records, and its variant with the table of 2011.
const SQLITE: &str = "sqlite3";
const OLD_TABLE: &str = "seed";
const TABLE_OF_SQLITE: &str = "If entries fit into a page, its ranked rows have a table without row numbers, one tree of keys \
     and values, which SQLite did not have in 2011. It scans five times as fast as the table of \
     that page and fills in order with a tenth less work. Random fills cost it a fifth more, \
     because they write to the whole table and not to an index alone. Its random writes are \
     therefore slower here than with the table that the page of 2011 measured.";

/// What is known of the cost, measured when this was written.
const ASSERTIONS: &str = "The possible cost was measured when this chapter was written, as CPU time an operation, the \
     two builds in turns, 400,000 entries, 4 MB of memory. LevelDB, built twice from its source by \
     one compiler, needed up to 4 % more with assertions in fills and up to 7 % more in reads (15 \
     rounds). RocksDB 7.8.3 as Debian 12 builds it, with assertions and test hooks, needed 9 to 30 \
     % more than the release build that its authors publish for Java, compression off in both (7 \
     rounds; the compilers differ too). LMDB has its own assertions in every build that does not \
     switch them off; their cost was not measured. Subtract that much from a ratio to such a store; \
     --leveldb_lib, --rocksdb_lib and --lmdb_lib run another build.";

const DATA: [(&str, &str); 6] = [
    (
        "Values repeat themselves, not each other.",
        "The classic values are cut from a pool of 1 MiB whose pieces are each half compressible. \
         That suits a store that compresses every value by itself, as CairnDB does with short ones, \
         and gains nothing for stores that compress blocks of many. Records with a common \
         structure, as in the JSON rows, are what databases usually hold.",
    ),
    (
        "Keys are dense numbers of one length.",
        "Sixteen digits with a long common prefix and even gaps: guessing a key's position by \
         interpolation, as CairnDB's search does, works better than on names or hashes.",
    ),
    (
        "All values are equally long.",
        "Pages fill evenly, and allocators have an easy task.",
    ),
    (
        "Everything fits.",
        "A million entries are 116 MB: they fit the page cache of any machine of today. No read of \
         these suites has to wait for a device, except in the suite scale.",
    ),
    (
        "Draws are uniform.",
        "No key is hotter than another, except in readhot and the YCSB rows. Caches are worth less \
         here than in practice.",
    ),
    (
        "Databases are young.",
        "They are minutes old and were filled once or twice. Fragmentation, long-lived snapshots \
         and months of deletions are not measured.",
    ),
];

/// Which defaults favour whom.
pub(super) fn defaults(run: &Run) -> Vec<Item> {
    let mut all = vec![assertions(run), filters::filters(run)];
    all.extend(merges(run));
    all.extend(table_of_sqlite(run));
    all.extend(items(&DEFAULTS));
    all
}

/// What the classic data flatters.
pub(super) fn data() -> Vec<Item> {
    items(&DATA)
}

/// Peers that check themselves while they are measured, and what that may cost them.
fn assertions(run: &Run) -> Item {
    let peers = builds::peers_asserting(run);
    if peers.is_empty() {
        return Item::new(
            "Assertions favour no store, as far as is known.",
            "No library of this run is known to have them compiled in; the Build Specifications give the evidence.",
        );
    }
    let (verb, whose) = if peers.len() == 1 {
        ("has", "its library")
    } else {
        ("have", "their libraries")
    };
    Item::new(
        "Assertions favour CairnDB.",
        format!(
            "{} {verb} them compiled into {whose}, as the Build Specifications show, along with the evidence for the other stores; CairnDB does not. {ASSERTIONS}",
            verdict::list(&peers)
        ),
    )
}

/// What merging costs those who cannot, where the run has such rows.
fn merges(run: &Run) -> Option<Item> {
    let mut rows = run.tables.iter().flat_map(Table::engines);
    rows.any(Row::by_hand).then(|| {
        Item::new(
            "Merging favours CairnDB, RocksDB and SQLite.",
            format!(
                "They take an operand without reading the value first, or do both in one call. For every \
                 other store ({}) the harness reads, compares and puts. Such rows are ranked all \
                 the same, because a user of those stores would have to do this; they say little \
                 about how fast the stores write.",
                engine_style::BY_HAND
            ),
        )
    })
}

/// What the table that SQLite has here costs it, where the run has SQLite.
fn table_of_sqlite(run: &Run) -> Option<Item> {
    let rows = || {
        let all = run.tables.iter().flat_map(Table::engines);
        all.filter(|row| row.engine == SQLITE)
    };
    rows().next()?;
    let mut old = rows().filter(|row| row.variant.as_deref() == Some(OLD_TABLE));
    let beside = match old.next() {
        None => "No row of this run has the old table.".to_owned(),
        Some(row) if row.unranked().is_some() => {
            format!(
                "The rows of the variant {OLD_TABLE}, which are not ranked, have the old table."
            )
        }
        Some(_) => format!("The rows of the variant {OLD_TABLE} have the old table."),
    };
    Some(Item::new(
        "The table of SQLite hurts it in random fills and helps it in scans.",
        format!("{TABLE_OF_SQLITE} {beside}"),
    ))
}

fn items(texts: &[(&str, &str)]) -> Vec<Item> {
    let item = |(subject, text): &(&str, &str)| Item::new(*subject, *text);
    texts.iter().map(item).collect()
}
