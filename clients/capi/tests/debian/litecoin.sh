#!/usr/bin/env bash
# Debian's litecoind over our library: mines 200 blocks on regtest, is killed, and has the same
# height and the same set of unspent outputs after the restart. Then 50 more blocks in the same way.
# At last, the databases that it has written over LevelDB itself are opened over ours.
#
# Exits with status 3 if something is not installed.
. "$(dirname "$0")/common.sh"
program=/usr/lib/litecoin/litecoind
[ -x "$program" ] || missing "litecoind: install litecoind"
# Pays to a script that anybody can spend: no wallet is needed.
descriptor='raw(51)#8lvh9jxk'
port=$((20000 + $$ % 20000))
data=$work/data
mkdir "$data"

client() {
    litecoin-cli -regtest -datadir="$data" -rpcport="$port" "$@"
}

# Starts the server; arguments precede the program.
serve() {
    "$@" "$program" -regtest -datadir="$data" -disablewallet -listen=0 -rpcport="$port" \
        -debug=leveldb -printtoconsole=1 >>"$work/log" 2>&1 &
    server=$!
    wait_for client getblockcount
}

start() {
    serve "${with_ours[@]}"
    check_loaded "$server"
}

mine() {
    client generatetodescriptor "$1" "$descriptor" >/dev/null
}

# The report also makes the program write its caches to the database.
state() {
    client gettxoutsetinfo | grep -E '"(height|bestblock|txouts|hash_serialized_2|total_amount)"'
}

start
for blocks in 200 50; do
    mine "$blocks"
    before=$(state)
    kill_server
    start
    after=$(state)
    [ "$before" = "$after" ] || fail "before: $before"$'\n'"after: $after"
done
grep -q '"height": 250,' <<<"$after" || fail "$after"
[ "$(client verifychain 4 0)" = true ] || fail "the chain is not intact"
grep -q 'CairnDB .* opened' "$work/log" || fail "the log does not name CairnDB"
kill_server
for name in chainstate blocks/index; do
    "$CAIRN" verify "$data/regtest/$name" >/dev/null || fail "$name is damaged"
done

data=$work/converted
mkdir "$data"
serve env
mine 120
before=$(state)
client stop >/dev/null
wait "$server" || fail "the server over LevelDB"
start
[ "$before" = "$(state)" ] || fail "before the conversion: $before"$'\n'"after: $(state)"
[ -e "$data/regtest/chainstate/leveldb-original/CURRENT" ] || fail "nothing was converted"
kill_server
echo "litecoind: $(tr -d '\n' <<<"$after")"
