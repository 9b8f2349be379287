//! Prose about our own choices: defaults, and the classic data.

use crate::chapter::bias::filters;
use crate::chapter::builds;
use crate::document::Item;
use crate::engine_style;
use crate::run::Run;
use crate::table::{Row, Table, verdict};

const DEFAULTS: [(&str, &str); 20] = [
    (
        "Mapped tables favour CairnDB and LMDB.",
        "CairnDB maps its tables while they are small compared with the machine's memory, and LMDB \
         maps everything. What they read is in the page cache and does not count against their \
         memory setting. Stores with a cache of their own pay for each miss with a copy or a \
         decompression. Read the 4 MB rows along with the page cache column.",
    ),
    (
        "Checking each mapped page once favours CairnDB; checking nothing favours LevelDB, LMDB, \
         redb, SQLite and TreeDB.",
        "CairnDB verifies the checksum of a mapped page once per open, and that of a page it reads \
         into its cache on each read. RocksDB and WiredTiger (checksums on) verify a block on \
         each cache miss. LevelDB's blocks have checksums, and its \
         reads ignore them by default, as its own program and this adapter do. redb verifies its \
         pages only when it repairs a file. LMDB, SQLite and TreeDB have none on what they read. \
         The more the data exceeds the memory, the more RocksDB and WiredTiger pay for this; \
         CairnDB's cost stays the same.",
    ),
    (
        "The untimed check of contents favours stores that map files.",
        "After each row that writes or compacts, the harness reads everything and compares it, \
         off the clock and in the same process. If reads follow in that process, CairnDB has \
         then checked its pages, and CairnDB and LMDB have taken their page faults; a store with a \
         small cache of its own keeps little of that scan. Reads as loaded and after compact start \
         warm for the first and not for the second. In sections that reopen the database, they \
         start cold for both.",
    ),
    (
        "Waiting until stores are idle favours CairnDB in reads as loaded.",
        "After each row that writes, the harness waits until background work has ended, and the \
         reads that follow find the result. CairnDB has a call for that: it compacts its tables to \
         one run if they total less than 256 MB, or if the newer ones hold more than a tenth of \
         the data; on its own, it would start that compaction 50 ms after the last write. Its reads as loaded \
         then search one run and the newest writes, which stay in memory. The harness watches \
         LevelDB's threads, and polls RocksDB until no flush or compaction is pending: the files \
         of their level 0 stay, and their reads search each of them. The time of that compaction is not \
         part of any rate. It is in the time until idle, and in the CPU time and bytes written of the row that \
         wrote. If no pause follows the writes, reads search more runs than here, as the rows \
         with a concurrent writer show.",
    ),
    (
        "A Rust interface favours CairnDB and redb.",
        "Their calls are compiled into the loops. The other stores are called through C: a function pointer \
         for each step, and an allocation for each value that LevelDB and RocksDB return. That is \
         what users of the C interfaces pay, but the stores themselves are not to blame.",
    ),
    (
        "A snapshot of its own for each get hurts LMDB, redb, SQLite and WiredTiger.",
        "Each point read starts and ends a transaction in LMDB, redb and SQLite, and is followed by a \
         reset of WiredTiger's cursor: as with the other stores, a get sees what was written before \
         it, and holds nothing afterwards. A program that reads a lot from one snapshot would keep \
         a transaction open and pay less. The keys of one multireadrandom call are read in one \
         transaction there, and from one snapshot by CairnDB and RocksDB; LevelDB and TreeDB are \
         asked for each key separately.",
    ),
    (
        "A second core favours CairnDB, LevelDB, RocksDB and WiredTiger's LSM.",
        "They move work to background threads; SQLite, TreeDB, LMDB and redb do everything inside the \
         call. Rates do not show that work, but CPU per operation does.",
    ),
    (
        "Rates end with the last call.",
        "The store that defers most work looks best. Read fill rates along with the time until idle.",
    ),
    (
        "A log that is written without system calls favours CairnDB.",
        "The bytes of a mapped log are with the operating system once they are copied; the others \
         call write for each operation. The guarantee is the same, but the cost is not. The log does not \
         count against the memory setting either: under 4 MB CairnDB keeps up to 64 MB of log \
         mapped while it is written to, and its write buffer refers to values in it that the others \
         copy to theirs. The peak of mapped memory shows it; an idle store releases all but a \
         segment or two.",
    ),
    (
        "4 MB of memory hurts WiredTiger's B-tree and RocksDB most.",
        "Such a cache holds a thousand pages of the B-tree, and a batch of a thousand random keys \
         changes about as many: the batch waits for pages to be written out. When measured, it took \
         1200 times as long as CairnDB's, and single random writes took 50 to 100 times as long. RocksDB's \
         defaults are made for write buffers of 64 MB and large caches. RocksDB's own level \
         settings for small databases were tried in the small sections: random writes were faster, \
         reads slower. No user would run either store as these sections do.",
    ),
    (
        "A fixed split of the memory favours stores that need none.",
        "LevelDB and RocksDB need to know how much of their memory is write buffer and how much is \
         cache: half each up to 16 MB. Above that, the section of the suite sets 8 MB of cache and \
         the rest for writes, 8 MB for writes and the rest as cache, or half each. Options \
         under Provenance shows both figures. CairnDB, SQLite, TreeDB and WiredTiger get the total \
         and divide it themselves, the same way in every section: CairnDB uses about seven \
         sixteenths for \
         pending writes and a quarter as cache, in addition to the tables that it maps. A split for \
         writes makes LevelDB and RocksDB read through a small cache for the whole section, a split \
         for reads makes them write through a small buffer, and rows that do both suit a store \
         without a fixed split.",
    ),
    (
        "Page sizes of 2011 hurt SQLite and TreeDB.",
        "The page of 2011 used pages of 1024 bytes. SQLite's own default is 4096 bytes, which is \
         used here if entries do not fit in 1024. Its rows also pay for SQL, even though \
         statements are prepared.",
    ),
    (
        "Threads of SQLite take turns if one of them writes.",
        "They then share one connection, as exclusive locking requires. A connection for each \
         thread was tried: every write then invalidates the caches of the others, so that the \
         writer did a quarter more work and the other threads read two thirds as much. If no thread writes, \
         each has its own connection, with an even share of the memory, and starts with an empty \
         cache.",
    ),
    (
        "TreeDB does work here that its users would not request.",
        "Its library evicts pages from its cache only in calls that split none, and a value larger \
         than a page splits one with every put: otherwise its cache would grow by everything \
         written. After each put of a value larger than a page, the adapter therefore looks up \
         that key four times, so that the cache stays within the memory that all \
         stores get. That is four lookups in a tree of cached pages for each write of 100,000 bytes \
         in the rows with large values, and nothing in the others. Rows with large values are \
         slightly too unfavourable to it.",
    ),
    (
        "The log hurts WiredTiger.",
        "Its published page ran it without a log. Ranked rows need the durability that every other store has. Its \
         counters, off by default, are on in the rows of both variants, because they show the bytes \
         it wrote and whether it is idle: with them, a B-tree's scans took about 3 % longer (half \
         a nanosecond per entry); other rows showed no difference.",
    ),
    (
        "The adapter ends standstills of WiredTiger's LSM tree.",
        "Version 3.2.1 now and then loses a request to sync its log (WT-9796, fixed in 2022 by \
         WT-10207) and may then wait forever. The adapter requests a sync of the log when the \
         process has used less than a third of a core for 40 ms, at growing intervals while that \
         continues. The cost of the waits and of these syncs is in its rates and latencies, and if \
         the store is slow for other reasons, some of them are unnecessary. If readers are busy, \
         a standstill of the writer goes unnoticed; the writer's rate shows it. Each open starts \
         a thread for this, and each close ends it. Without that thread, three of five sequential fills \
         under 4 MB had not finished after a minute. Handles are closed after some seconds without use, so \
         that those of merged chunks do not count as memory; others must be reopened.",
    ),
    (
        "No compression favours LMDB and redb in time and hurts them on disk.",
        "They store raw pages. LMDB has no memory setting either and uses all available page cache.",
    ),
    (
        "Unsynced writes favour redb, and are not ranked.",
        "Its only alternative to a sync for each commit, Durability::None, keeps commits in the \
         process until a later sync: a killed process loses them, and they cost no system calls. \
         Its own benchmark writes its unsynced rows that way. A backend that leaves out the sync \
         would promise as much as the other stores do, but is not part of the library.",
    ),
    (
        "Tuning favours CairnDB.",
        "It was developed with these very workloads, on machines like this one, by the people \
         who wrote the harness. The peers run with the settings of pages from 2011 and 2012 that \
         their authors did not choose for today's hardware.",
    ),
    (
        "The machine decides the synchronous rows.",
        "On a virtual disk a flush may cost little or nothing. The order of stores there reflects \
         the number of flushes more than the stores.",
    ),
];

/// SQLite among the records, and its variant with the table of 2011.
const SQLITE: &str = "sqlite3";
const OLD_TABLE: &str = "seed";
const TABLE_OF_SQLITE: &str = "If entries fit into a page, its ranked rows use a table without row numbers (a \
     single tree of keys and values), which SQLite did not have in 2011. It scans five times as fast as the \
     table of the page of 2011, and sequential fills take a tenth less work. Random fills take a fifth more \
     work, because they write to the whole table and not only to an index. Its random writes are \
     therefore slower here than with the table that the page of 2011 measured.";

/// The known cost of assertions, measured when this was written.
const ASSERTIONS: &str = "The possible cost was measured when this chapter was written, as CPU time per \
     operation in alternating runs of two builds, with 400,000 entries and 4 MB of memory. LevelDB, built \
     twice from source with one compiler, needed up to 4 % more with assertions in fills and up to 7 % more in reads (15 \
     rounds). RocksDB 7.8.3 as Debian 12 builds it, with assertions and test hooks, needed 9 to 30 \
     % more than the release build that its authors publish for Java, compression off in both (7 \
     rounds; the compilers differ too). LMDB has its own assertions in every build that does not \
     disable them; their cost was not measured. Subtract that much from a ratio to such a store; \
     --leveldb_lib, --rocksdb_lib and --lmdb_lib select another build.";

const DATA: [(&str, &str); 6] = [
    (
        "Values have internal repetition only.",
        "The classic values are cut from a pool of 1 MiB, each piece of which compresses to half its size. \
         That suits a store that compresses every value separately, as CairnDB does with short \
         ones, and gives no advantage to stores that compress blocks of many values. Records with a common \
         structure, as in the JSON rows, are what databases usually hold.",
    ),
    (
        "Keys are dense numbers of one length.",
        "Keys are sixteen digits with a long common prefix and even gaps. Interpolation search, \
         which CairnDB uses, works better on them than on names or hashes.",
    ),
    (
        "All values are equally long.",
        "Pages fill evenly, and allocators have an easy task.",
    ),
    (
        "Everything fits.",
        "A million entries are 116 MB: they fit in the page cache of any current machine. No read \
         of these suites has to wait for a device, except in the suite scale.",
    ),
    (
        "Draws are uniform.",
        "No key is hotter than another, except in readhot and the YCSB rows. Caches therefore gain \
         less here than in practice.",
    ),
    (
        "Databases are young.",
        "They are minutes old and were filled once or twice. Fragmentation, long-lived snapshots \
         and months of deletions are not measured.",
    ),
];

/// Returns the defaults, each with the stores it favours.
pub(super) fn defaults(run: &Run) -> Vec<Item> {
    let mut all = vec![assertions(run), filters::filters(run)];
    all.extend(merges(run));
    all.extend(table_of_sqlite(run));
    all.extend(items(&DEFAULTS));
    all
}

/// Returns the items about what the classic data flatters.
pub(super) fn data() -> Vec<Item> {
    items(&DATA)
}

/// Returns the item about peers with assertions, and their possible cost.
fn assertions(run: &Run) -> Item {
    let peers = builds::peers_asserting(run);
    if peers.is_empty() {
        return Item::new(
            "Assertions favour no store, as far as known.",
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

/// Returns the item about the cost of merging for stores without a merge operation, if the run has
/// such rows.
fn merges(run: &Run) -> Option<Item> {
    let mut rows = run.tables.iter().flat_map(Table::engines);
    rows.any(Row::by_hand).then(|| {
        Item::new(
            "Merging favours CairnDB, RocksDB and SQLite.",
            format!(
                "They take an operand without reading the value first, or do both in one call. For every \
                 other store ({}) the harness reads, compares and puts. Such rows are ranked all \
                 the same, because a user of those stores would have to do this; they show little \
                 about how fast the stores write.",
                engine_style::BY_HAND
            ),
        )
    })
}

/// Returns the item about the cost of SQLite's table here, if the run includes SQLite.
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
