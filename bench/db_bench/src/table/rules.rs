//! The explanations under the tables.

use super::row::{Row, Rows};

/// Mark of rows whose merges were reads and puts.
pub(super) const BY_HAND: &str = "\u{2020}";

/// Returns the rules of every suite, and those that apply to this one.
pub(super) fn of(rows: &Rows) -> Vec<(&'static str, &'static str)> {
    let mut all = RULES.to_vec();
    if rows
        .list
        .iter()
        .any(|row| row.records.iter().any(|record| record.by_hand))
    {
        all.extend(MERGES);
    }
    if rows.list.iter().any(Row::has_writer) {
        all.push(WRITERS);
    }
    all
}

const MERGES: [(&str, &str); 2] = [
    (
        "merges",
        "\u{2020} no merge operation: the harness reads, compares and puts, while the others may write the",
    ),
    (
        "",
        "operand alone and leave the rest to later reads and compactions",
    ),
];

const WRITERS: (&str, &str) = (
    "writer",
    "operations per second of the concurrent writer; the readers pay for them",
);

/// The rules of measurement; the rules of fairness in short.
const RULES: &[(&str, &str)] = &[
    (
        "durability",
        "writes of every row except fillsync and those marked * survive SIGKILL: each is with the system when its call returns;",
    ),
    (
        "",
        "fillsync survives loss of power: N/100 writes, the device's flushes counted",
    ),
    (
        "",
        "* not ranked: writes below Os (a killed process loses acknowledged ones), or seed settings",
    ),
    (
        "memory",
        "the same total for every engine, split for leveldb and rocksdb as the section sets it; lmdb has no cache of its own and uses the page cache;",
    ),
    (
        "",
        "a row whose anonymous memory above the harness's own exceeds twice its setting and 48 MB fails",
    ),
    (
        "answers",
        "every byte read is compared with what was written; a wrong answer fails its row",
    ),
    (
        "debt",
        "a fill's rate ends with its last call; the work that it leaves is in the second table",
    ),
    (
        "filters",
        "cairndb has 10 bits a key among its plain settings, leveldb and rocksdb none, except in rows marked [bloom...];",
    ),
    (
        "",
        "(plain): the plain row of cairndb against a variant that it does not have, such as these",
    ),
    (
        "reads",
        "over the store as loaded, when idle, and again after compact",
    ),
    (
        "noise",
        "a tie if a round of any ranked peer lies among ours, behind if all rounds of one lie above;",
    ),
    (
        "",
        "null is the cost of the harness itself; disk is not a store but a bare loop, in rows that the disk may limit: one pwrite a",
    ),
    (
        "",
        "write, with fdatasync if it is synced, and one pread a read",
    ),
];
