//! The examples in the help of each command and in its manual page.
//!
//! A test runs them in a directory with a database `fruit` of three entries and a LevelDB database
//! `old`. A line that begins with `$ ` is typed; what follows is what it prints.

use clap::Command;

/// What precedes the examples in a help text.
pub(crate) const HEADING: &str = "Examples:";

/// Examples by command.
const EXAMPLES: [(&str, &str); 23] = [
    (
        "get",
        "\
$ cairn get fruit apple
red
$ cairn get --json fruit cherry
{\"key\":\"cherry\",\"value\":\"dark\\nred\"}
$ cairn get --raw fruit cherry > colour",
    ),
    (
        "put",
        "\
$ cairn put --create stones granite grey
$ printf 'dark\\nblue' | cairn put stones slate -
$ cairn get stones slate
dark\\nblue",
    ),
    (
        "delete",
        "\
$ cairn delete fruit apple banana
$ cairn count fruit
1",
    ),
    (
        "scan",
        "\
$ cairn scan fruit --prefix b
banana	yellow
$ cairn scan fruit --reverse --limit 2 --keys-only
cherry
banana
$ cairn scan fruit --to b --values-only
red",
    ),
    (
        "count",
        "\
$ cairn count fruit
3
$ cairn count fruit --from b --to c
1",
    ),
    (
        "stats",
        "\
$ cairn stats fruit | head -n 1 | cut -d ' ' -f 1-3
3 stored versions
$ cairn stats fruit --json > fruit.json",
    ),
    (
        "tables",
        "\
$ cairn tables old | grep '^level'
level 1: tables 1, bytes 3414
$ cairn tables old 000002.ldb --json > table.json",
    ),
    (
        "log",
        "\
$ cairn log fruit | cut -d , -f 1-2
segment 000002.log: bytes 4194304, state retired
$ cairn log fruit --entries --json > log.json",
    ),
    (
        "manifest",
        "\
$ cairn manifest old | grep comparator
  comparator leveldb.BytewiseComparator
$ cairn manifest old --json > manifest.json",
    ),
    (
        "verify",
        "\
$ cairn verify fruit | cut -d ';' -f 1
intact: 3 entries
$ cairn verify --json fruit > verified.json",
    ),
    (
        "repair",
        "\
$ cairn repair --dry-run fruit | tail -n 1
Lost: nothing.
$ cairn repair fruit repaired > report
$ cairn count repaired
3",
    ),
    (
        "compact",
        "\
$ cairn compact fruit
$ cairn compact fruit --prefix b",
    ),
    (
        "checkpoint",
        "\
$ cairn checkpoint fruit copy
$ cairn count copy
3",
    ),
    (
        "destroy",
        "\
$ cairn destroy --yes fruit",
    ),
    (
        "dump",
        "\
$ cairn dump fruit fruit.dump
exported 3 entries to fruit.dump, hash f24f7d357bc3e8c5
$ cairn dump fruit --prefix b | cairn load b-fruit
imported 1 entry from stdin, hash bd5346bc14498fc0",
    ),
    (
        "load",
        "\
$ cairn dump fruit | cairn load copy
imported 3 entries from stdin, hash f24f7d357bc3e8c5
$ cairn dump old | cairn load --add copy
imported 1000 entries from stdin, hash 4d99c9c8413f9e3a
copy now holds 1003 entries, hash 3fe946fdbd0386ff",
    ),
    (
        "export",
        "\
$ cairn export fruit fruit.jsonl
exported 3 entries to fruit.jsonl as jsonl, hash f24f7d357bc3e8c5
$ cairn export fruit --format=csv --to b
key,value
apple,red
$ cairn export fruit fruit.tsv --key-column=name --value-column=colour
exported 3 entries to fruit.tsv as tsv, hash f24f7d357bc3e8c5
$ cairn export fruit theirs --format=leveldb
exported 3 entries to theirs, hash f24f7d357bc3e8c5",
    ),
    (
        "import",
        "\
$ printf 'id;name;colour\\n1;plum;blue\\n' > plum.csv
$ cairn import --add fruit plum.csv --delimiter=';' \\
    --key-column=name --value-column=colour
imported 1 entry from plum.csv as csv, hash f3f01b60b0549988
fruit now holds 4 entries, hash e63f98962c18824d
$ echo '{\"key\":\"price\",\"value\":{\"plum\":2}}' > price.jsonl
$ cairn import --add fruit price.jsonl --json-values
imported 1 entry from price.jsonl as jsonl, hash ae2c889296e2bcbf
fruit now holds 5 entries, hash 946c2128c2fb3f0c
$ cairn scan fruit --from p
plum	blue
price	{\"plum\":2}
$ cairn import copy old
imported 1000 entries from old as leveldb, hash 4d99c9c8413f9e3a",
    ),
    (
        "copy",
        "\
$ cairn copy file:fruit file:copy
copied 3 entries from file:fruit to file:copy, hash f24f7d357bc3e8c5
$ cairn put copy banana green
$ cairn copy --overwrite file:fruit file:copy
copied 3 entries from file:fruit to file:copy, hash f24f7d357bc3e8c5
1 key was written or deleted",
    ),
    (
        "shell",
        "\
$ printf 'put plum blue\\ncount\\n' | cairn shell fruit
4",
    ),
    (
        "upgrade",
        "\
$ cairn upgrade --dry-run old > plan
$ cairn upgrade old | cut -d ';' -f 1
converted 1000 entries into 1 table
$ cairn upgrade old --drop-original --yes
removed old/leveldb-original (3 files, 3.5 kB)",
    ),
    (
        "completions",
        "\
$ cairn completions bash > cairn.bash",
    ),
    (
        "man",
        "\
$ mkdir man1
$ cairn man man1
$ ls man1 | grep scan
cairn-scan.1",
    ),
];

/// Adds its examples to the long help of a command.
pub(super) fn added(command: Command) -> Command {
    let Some((_, text)) = EXAMPLES
        .iter()
        .find(|(name, _)| *name == command.get_name())
    else {
        return command;
    };
    let lines = text.lines().map(|line| format!("\n  {line}"));
    let lines: String = lines.collect();
    command.after_long_help(format!("{HEADING}{lines}"))
}
