//! Refused command lines and their messages.

use crate::common::{run, stderr, stdout};

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    for (words, sentence) in [
        (
            &["--cache_sise=5"][..],
            "Invalid flag '--cache_sise=5': did you mean --cache_size?\n",
        ),
        (
            &["--threads=0"],
            "--threads=0: a whole number from 1 to 4096 is allowed\n",
        ),
        (
            &["--erase_percent=101"],
            "--erase_percent=101: a whole number from 0 to 100 is allowed\n",
        ),
        (
            &["--profile=old"],
            "--profile=old: one of classic, modern is allowed\n",
        ),
        (
            &["--num_shard_bits=20"],
            "--num_shard_bits=20: a whole number from -1 to 19 is allowed\n",
        ),
        (
            &["--lookup_percent=60"],
            "Percentages must add to 100: lookup_insert_percent=0 insert_percent=40 blind_insert_percent=0 \
             lookup_percent=60 erase_percent=10 add to 110 (--profile=classic)\n",
        ),
        (
            &["--cache=lur"],
            "--cache=lur: null, lru, clock, quick_cache, moka, rocksdb_lru, rocksdb_hyper_clock or all is \
             allowed; did you mean lru?\n",
        ),
        (
            &["--json=/nowhere/at/all"],
            "--json=/nowhere/at/all: No such file or directory (os error 2)\n",
        ),
        (
            &["extra"],
            "Invalid argument 'extra': flags begin with - or --\n",
        ),
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert_eq!(stderr(&output), sentence);
        assert!(stdout(&output).is_empty(), "{words:?}");
    }
}

#[test]
fn a_child_without_a_plan_ends_at_once() {
    let output = run(&["--child-of-cache-bench"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).is_empty());
}
