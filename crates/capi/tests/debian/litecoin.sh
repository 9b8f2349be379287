#!/usr/bin/env bash
# Debian's litecoind over our library: mines 200 blocks on regtest, is killed, and has the same
# height and the same set of unspent outputs after the restart. Then the same for 50 more.
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

start() {
    "${with_ours[@]}" "$program" -regtest -datadir="$data" -disablewallet -listen=0 -rpcport="$port" \
        -debug=leveldb -printtoconsole=1 >>"$work/log" 2>&1 &
    server=$!
    wait_for client getblockcount
    check_loaded "$server"
}

# The report also makes the program write its caches to the database.
state() {
    client gettxoutsetinfo | grep -E '"(height|bestblock|txouts|hash_serialized_2|total_amount)"'
}

start
for blocks in 200 50; do
    client generatetodescriptor "$blocks" "$descriptor" >/dev/null
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
echo "litecoind: $(tr -d '\n' <<<"$after")"
