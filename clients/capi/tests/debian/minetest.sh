#!/usr/bin/env bash
# Debian's minetest-server with `backend = leveldb` over our library: writes a world, is killed,
# starts again; `cairn` counts the same map blocks, and so does the server when it moves them to
# another backend.
#
# Exits with status 3 if something is not installed.
. "$(dirname "$0")/common.sh"
program=/usr/lib/minetest/minetestserver
[ -x "$program" ] || missing "minetest-server: install minetest-server"
world=$work/world
mkdir -p "$world/worldmods/emerge" "$work/games/bare/mods/bare"
port=$((20000 + $$ % 20000))

# A game of two nodes, so that no data package is needed.
echo 'title = Bare' >"$work/games/bare/game.conf"
cat >"$work/games/bare/mods/bare/init.lua" <<'LUA'
minetest.register_node("bare:stone", {description = "Stone"})
minetest.register_alias("mapgen_stone", "bare:stone")
minetest.register_alias("mapgen_water_source", "bare:stone")
minetest.register_alias("mapgen_river_water_source", "bare:stone")
LUA
cat >"$world/world.mt" <<'SETTINGS'
gameid = bare
backend = leveldb
player_backend = leveldb
auth_backend = leveldb
mod_storage_backend = sqlite3
SETTINGS
printf 'server_map_save_interval = 0.2\nserver_announce = false\nmg_name = v7\n' >"$work/minetest.conf"
# Generates a part of the map at the first start.
cat >"$world/worldmods/emerge/init.lua" <<'LUA'
local marker = minetest.get_worldpath() .. "/generated"
local found = io.open(marker)
if found then
    found:close()
    print("STARTED AGAIN")
    return
end
minetest.after(0, function()
    minetest.emerge_area({x = -80, y = -80, z = -80}, {x = 79, y = 79, z = 79},
        function(_, _, remaining)
            if remaining > 0 then return end
            -- The map is saved every 0.2 seconds.
            minetest.after(3, function()
                io.open(marker, "w"):close()
                print("GENERATED")
            end)
        end)
end)
LUA

start() {
    # The server finds games below the home folder.
    "${with_ours[@]}" HOME="$work" MINETEST_SUBGAME_PATH="$work/games" "$program" --world "$world" \
        --config "$work/minetest.conf" --port "$port" >>"$work/log" 2>&1 &
    server=$!
    wait_for grep -q "$1" "$work/log"
    check_loaded "$server"
}

count() {
    "$CAIRN" count "$world/map.db"
}

start GENERATED
kill_server
first=$(count)
[ "$first" -gt 1000 ] || fail "only $first map blocks"
start 'STARTED AGAIN'
kill_server
second=$(count)
[ "$first" = "$second" ] || fail "$first map blocks, then $second"
"$CAIRN" verify "$world/map.db" >/dev/null || fail "the map is damaged"

"${with_ours[@]}" HOME="$work" MINETEST_SUBGAME_PATH="$work/games" "$program" --world "$world" \
    --config "$work/minetest.conf" --migrate sqlite3 >"$work/log" 2>&1 || fail "no migration"
grep -q "Successfully migrated $first blocks" "$work/log" || fail "it did not migrate $first blocks"
echo "minetest-server: $first map blocks"
