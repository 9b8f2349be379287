#!/usr/bin/env bash
# Calibration: compares RocksDB's and LevelDB's own programs with our rows for the same engines.
#
#   bench/calibrate.sh [rocksdb] [leveldb]     all that are installed, if none is named
#
# Each side fills, compacts and reads a database with the same keys, sizes, settings and library.
# The sides alternate within each round and swap their order from one round to the next. For each
# row the script prints the time of an operation on either side, and our time divided by theirs: the
# ratio of the medians, and the lowest and highest ratio of a round. A row is calibrated if the
# medians differ by at most LIMIT percent. If a row is not, but one of its rounds is, the last line
# suggests another run.
#
# Environment variables:
#   OURS=./db_bench          our program
#   ROCKSDB_DB_BENCH=PATH    RocksDB's program; by default the one in PATH (package rocksdb-tools,
#                            which make calibrate installs)
#   LEVELDB_DB_BENCH=PATH    LevelDB's program; no package provides it
#   ROCKSDB_LIB=, LEVELDB_LIB=PATH
#                            the library for our side; by default the one their program links with
#   NUM=1000000 ROUNDS=5 LIMIT=10
#   WRITE_BUFFER=2097152 CACHE=2097152         in bytes
#   DIR=target/calibrate     directory for the databases; removed at the end
#
# Exit status: 0 if all rows are calibrated, 1 if one is not, 2 if nothing could be compared.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

OURS=${OURS:-./db_bench}
NUM=${NUM:-1000000}
ROUNDS=${ROUNDS:-5}
LIMIT=${LIMIT:-10}
WRITE_BUFFER=${WRITE_BUFFER:-2097152}
CACHE=${CACHE:-2097152}
DIR=${DIR:-target/calibrate}

rows="fillseq fillrandom readrandom readseq readreverse"
# A scan takes a few milliseconds, so each round runs five and takes the median.
list=fillseq,fillrandom,compact,readrandom
list+=,readseq,readseq,readseq,readseq,readseq,readreverse,readreverse,readreverse,readreverse,readreverse
# Flags that both programs of each pair have, given explicitly whatever their defaults are.
shared=(--benchmarks=$list --num="$NUM" --reads="$NUM" --value_size=100 --compression_ratio=0.5
    --threads=1 --write_buffer_size="$WRITE_BUFFER" --cache_size="$CACHE" --block_size=4096
    --bloom_bits=-1 --use_existing_db=0 --histogram=0)

fail() {
    echo "calibrate: $*" >&2
    exit 2
}

# The programs and libraries that install-peers.sh has unpacked without root.
export PATH=$PATH:$PWD/target/peers/usr/bin
if [ -d target/peers/libraries ]; then
    export LD_LIBRARY_PATH=$PWD/target/peers/libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

[ -x "$OURS" ] || fail "no program $OURS; run make build first"
mkdir -p "$DIR" && work=$(mktemp --directory --tmpdir="$DIR") || fail "cannot write to $DIR"
trap 'rm -rf "$work"; rmdir "$DIR" 2>/dev/null' EXIT
trap 'exit 2' INT TERM

# Checks for RocksDB's program by its help, which names the file of its flags. LevelDB's program and
# ours are also called db_bench.
is_rocksdb() {
    [[ $("$1" --help 2>&1) == *tools/db_bench_tool.cc* ]]
}

# Sets `program` to RocksDB's program; status 1 if there is none.
find_rocksdb() {
    program=${ROCKSDB_DB_BENCH:-}
    if [ -n "$program" ]; then
        is_rocksdb "$program" || fail "ROCKSDB_DB_BENCH: $program is not RocksDB's program"
        return 0
    fi
    while read -r program; do
        is_rocksdb "$program" && return 0
    done < <(type -aP db_bench)
    return 1
}

# Prints the version that LevelDB's program reports on start: `LevelDB:    version 1.23`.
leveldb_version() {
    "$1" --benchmarks= --num=1 --db="$work/probe" 2>&1 | sed -n 's/^LevelDB: *version *//p'
}

# Prints the shared library that a program is linked with, if any, so that both sides run the same
# build.
linked() {
    ldd "$1" 2>/dev/null | awk -v name="$2" 'index($1, name) == 1 && $3 ~ "^/" { print $3; exit }'
}

# Takes the microseconds per operation of each row from the result lines of a log. RocksDB's rates
# are not usable: their seconds count until all threads have been joined.
take() {
    awk -v wanted="$rows" -v side="$2" -v round="$3" '
        BEGIN { split(wanted, names); for (at in names) known[names[at]] = 1 }
        ($1 in known) && $2 == ":" && $4 ~ "^micros/op" { print $1, side, round, $3 }' "$1" >>"$work/times"
}

# Runs one side of one round: COMMAND... over a fresh directory.
side() {
    local name=$1 round=$2
    shift 2
    rm -rf "$work/$name"
    if ! "$@" --db="$work/$name" >"$work/$name.log" 2>"$work/$name.err" || grep -q ': failed' "$work/$name.log"; then
        tail -n 5 "$work/$name.log" "$work/$name.err" >&2
        fail "$1 failed"
    fi
    take "$work/$name.log" "$name" "$round"
}

# Runs all rounds of a pair; the arguments of the sides are in `theirs` and `ours`.
rounds() {
    local round order
    : >"$work/times"
    for ((round = 1; round <= ROUNDS; round++)); do
        echo "round $round of $ROUNDS" >&2
        order="theirs ours"
        ((round % 2)) || order="ours theirs"
        for name in $order; do
            if [ "$name" = ours ]; then
                side ours "$round" "${ours[@]}"
            else
                side theirs "$round" "${theirs[@]}"
            fi
        done
    done
}

# Prints the table of a pair; status 1 if a row is not calibrated.
table() {
    awk -v wanted="$rows" -v rounds="$ROUNDS" -v limit="$LIMIT" '
        function sort(list, count,    i, j, kept) {
            for (i = 2; i <= count; i++) {
                kept = list[i]
                for (j = i - 1; j > 0 && list[j] > kept; j--) list[j + 1] = list[j]
                list[j + 1] = kept
            }
        }
        function median(list, count) {
            return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
        }
        # Returns the median time of one side for a row in a round.
        function time(row, side, round,    count, pass, list) {
            count = passes[row, side, round]
            for (pass = 1; pass <= count; pass++) list[pass] = taken[row, side, round, pass]
            sort(list, count)
            return count ? median(list, count) : 0
        }
        { taken[$1, $2, $3, ++passes[$1, $2, $3]] = $4 }
        END {
            printf "%-12s %30s %30s %20s\n", "us/op", "theirs", "ours", "ours / theirs"
            many = split(wanted, names)
            for (at = 1; at <= many; at++) {
                row = names[at]
                for (round = 1; round <= rounds; round++) {
                    theirs[round] = time(row, "theirs", round)
                    ours[round] = time(row, "ours", round)
                    if (theirs[round] <= 0 || ours[round] <= 0) {
                        printf "%-12s no time for round %d\n", row, round
                        exit 1
                    }
                    ratio[round] = ours[round] / theirs[round]
                }
                sort(theirs, rounds); sort(ours, rounds); sort(ratio, rounds)
                middle = median(ours, rounds) / median(theirs, rounds)
                apart = 100 * (middle > 1 ? middle - 1 : 1 / middle - 1)
                good = apart <= limit
                if (!good) {
                    bad = 1
                    # It is calibrated in some rounds: a noisy neighbour may have disturbed others.
                    if (ratio[1] <= 1 + limit / 100 && ratio[rounds] >= 1 / (1 + limit / 100)) loud = loud " " row
                }
                printf "%-12s %9.3f (%8.3f to %8.3f) %9.3f (%8.3f to %8.3f) %5.2f (%4.2f to %4.2f) %s\n", row,
                    median(theirs, rounds), theirs[1], theirs[rounds],
                    median(ours, rounds), ours[1], ours[rounds],
                    middle, ratio[1], ratio[rounds], good ? "" : sprintf("%.0f %% apart", apart)
            }
            if (loud) printf "of%s single rounds are within %s %%: run it again on an idle machine\n", loud, limit
            exit bad
        }' "$work/times"
}

# Checks that both sides used the same options. RocksDB writes them to a file next to the data.
# Three may differ: the merge operator, which no row calls; a listener that their program registers;
# and whether missing column families, of which no row needs any, would be created.
same_options() {
    local name
    for name in theirs ours; do
        cat "$work/$name"/OPTIONS-* | grep -vE '^ *(merge_operator|listeners|create_missing_column_families)=' >"$work/$name.options"
    done
    if ! diff "$work/theirs.options" "$work/ours.options" >&2; then
        fail "the options above differ between RocksDB's program (<) and ours (>)"
    fi
}

calibrate_rocksdb() {
    local program version library
    find_rocksdb || return 2
    version=$("$program" --version 2>&1 | awk '{ print $NF; exit }')
    library=${ROCKSDB_LIB:-$(linked "$program" librocksdb)}
    # From the fourth line on: settings whose defaults in their program differ from the library's.
    # Neither side counts comparisons: our adapter sets the default of their program.
    theirs=("$program" "${shared[@]}" --key_size=16 --seed=1000 --sync=0 --compression_type=snappy
        --disable_wal=0 --mmap_read=0 --mmap_write=0 --statistics=0 --open_files=-1
        --target_file_size_base=67108864 --perf_level=1
        --progress_reports=1 --enable_pipelined_write=0
        --delayed_write_rate=16777216 --hard_pending_compaction_bytes_limit=274877906944
        --cache_high_pri_pool_ratio=0.5 --table_cache_numshardbits=6
        --index_shortening_mode=1 --pin_top_level_index_and_filter=1
        --dump_malloc_stats=0 --fifo_compaction_allow_compaction=0 --fifo_compaction_max_table_files_size_mb=1024)
    ours=("$OURS" "${shared[@]}" --engine=rocksdb ${library:+--rocksdb_lib="$library"} --keys=rocksdb
        --format=rocksdb --key_size=16 --seed=1000 --sync=0 --compression_type=snappy --statistics=0
        --open_files=-1 --max_file_size=67108864)
    echo "RocksDB $version: $program beside $OURS${library:+, both with $library}"
    rounds
    same_options
    table
}

calibrate_leveldb() {
    local program=${LEVELDB_DB_BENCH:-} version library
    [ -n "$program" ] || return 2
    [ -x "$program" ] || fail "LEVELDB_DB_BENCH: there is no program $program"
    version=$(leveldb_version "$program")
    [ -n "$version" ] || fail "LEVELDB_DB_BENCH: $program is not LevelDB's program"
    library=${LEVELDB_LIB:-$(linked "$program" libleveldb)}
    # It always uses Snappy and a log, and never syncs; it has no flags for these.
    theirs=("$program" "${shared[@]}" --key_prefix=0 --open_files=1000 --max_file_size=2097152)
    ours=("$OURS" "${shared[@]}" --engine=leveldb ${library:+--leveldb_lib="$library"} --keys=leveldb
        --key_prefix=0 --seed=1000 --sync=0 --compression=1 --statistics=0
        --open_files=1000 --max_file_size=2097152)
    echo "LevelDB $version: $program beside $OURS${library:+, both with $library}"
    [ -n "$library" ] || echo "their program is linked statically; ours uses the installed library" >&2
    rounds
    table
}

[ $# -gt 0 ] || set -- rocksdb leveldb
worst=2
for name in "$@"; do
    case $name in
        rocksdb) missing="no db_bench of RocksDB in PATH (package rocksdb-tools)" ;;
        leveldb) missing="LEVELDB_DB_BENCH names no program" ;;
        *) fail "$name is not rocksdb or leveldb" ;;
    esac
    "calibrate_$name"
    status=$?
    case $status in
        2) echo "calibrate: $name skipped: $missing" >&2 ;;
        1) worst=1 ;;
        *) [ $worst = 1 ] || worst=0 ;;
    esac
done
exit $worst
