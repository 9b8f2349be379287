/* Tests of cairndb_changes_*, cairndb_snapshot_and_changes, cairndb_place and cairndb_lease_*.
 * Arguments: an empty directory. Prints PASS. */
#include "check.h"

static cairndb_options* options;

static int same(const char* start, size_t len, const char* expected) {
    if (expected == NULL) return start == NULL && len == 0;
    return start != NULL && len == strlen(expected) && memcmp(start, expected, len) == 0;
}

static int named(const char* name, const char* expected) {
    return expected == NULL ? name == NULL : name != NULL && strcmp(name, expected) == 0;
}

/* Returns the next change, for which it waits. */
static cairndb_change next(cairndb_changes* changes) {
    cairndb_change change;
    bool found = false;
    ok(cairndb_changes_next(changes, UINT64_MAX, &change, &found));
    CHECK(found);
    return change;
}

/* Requires that there is no change now. */
static void none(cairndb_changes* changes) {
    cairndb_change change;
    bool found = true;
    ok(cairndb_changes_next(changes, 0, &change, &found));
    CHECK(!found);
    ok(cairndb_changes_next(changes, 1, &change, &found));
    CHECK(!found);
}

static int is(const cairndb_changed_entry* entry, cairndb_operation operation, const char* keyspace,
              const char* key, const char* value) {
    return entry->operation == operation && named(entry->keyspace, keyspace) &&
           same(entry->key, entry->key_len, key) && same(entry->value, entry->value_len, value);
}

static cairndb_changes* follow(cairndb_db* db, const cairndb_changes_options* given) {
    cairndb_changes* changes = NULL;
    ok(cairndb_changes_create(db, given, &changes));
    CHECK(changes != NULL);
    return changes;
}

static char* place_of(cairndb_changes* changes) {
    char* place = NULL;
    ok(cairndb_changes_place(changes, &place));
    CHECK(place != NULL);
    return place;
}

/* Every kind of change. */
static void kinds(void) {
    cairndb_db* db = open_at("kinds", options);
    cairndb_changes* changes = follow(db, NULL);
    none(changes);
    cairndb_keyspace* shops;
    cairndb_keyspace_options* counts = cairndb_keyspace_options_create();
    cairndb_keyspace_options_set_merge_operator(counts, "cairndb.append");
    ok(cairndb_keyspace_create(db, "shops", counts, &shops));
    cairndb_keyspace_options_destroy(counts);
    cairndb_batch* batch;
    ok(cairndb_batch_create(&batch));
    ok(cairndb_batch_put(batch, "a", 1, "", 0));
    ok(cairndb_batch_delete(batch, "b", 1));
    ok(cairndb_batch_delete_range(batch, "c", 1, "d", 1));
    ok(cairndb_batch_delete_range(batch, "e", 1, NULL, 0));
    ok(cairndb_batch_merge_in(batch, shops, "n", 1, "1", 1));
    ok(cairndb_batch_put_in(batch, shops, "7", 1, "open", 4));
    ok(cairndb_write(db, batch, CAIRNDB_DURABILITY_SYNC));
    ok(cairndb_batch_destroy(batch));
    ok(cairndb_put(db, "u", 1, "lost", 4, CAIRNDB_DURABILITY_NONE));
    ok(cairndb_keyspace_close(shops));
    ok(cairndb_keyspace_drop(db, "shops"));
    put(db, "last", "1");
    ok(cairndb_sync(db));

    cairndb_change change = next(changes);
    CHECK(change.kind == CAIRNDB_CHANGE_KEYSPACE_CREATED && named(change.keyspace, "shops"));
    CHECK(change.entries == NULL && change.entry_count == 0 && change.unlogged == 0);
    change = next(changes);
    CHECK(change.kind == CAIRNDB_CHANGE_BATCH && change.keyspace == NULL);
    CHECK(change.durability == CAIRNDB_DURABILITY_SYNC);
    CHECK(change.time_ms != CAIRNDB_NO_TIME && change.time_ms > 1600000000000);
    CHECK(change.entry_count == 6);
    CHECK(is(&change.entries[0], CAIRNDB_OPERATION_PUT, NULL, "a", ""));
    CHECK(is(&change.entries[1], CAIRNDB_OPERATION_DELETE, NULL, "b", NULL));
    CHECK(is(&change.entries[2], CAIRNDB_OPERATION_DELETE_RANGE, NULL, "c", "d"));
    CHECK(is(&change.entries[3], CAIRNDB_OPERATION_DELETE_RANGE, NULL, "e", NULL));
    CHECK(is(&change.entries[4], CAIRNDB_OPERATION_MERGE, "shops", "n", "1"));
    CHECK(is(&change.entries[5], CAIRNDB_OPERATION_PUT, "shops", "7", "open"));
    char* place = place_of(changes);
    CHECK(strcmp(place, change.place) == 0 && strchr(place, '-') != NULL);
    free(place);
    unsigned seen = 0;
    do {
        change = next(changes);
        CHECK(change.place != NULL);
        seen |= 1u << change.kind;
        if (change.kind == CAIRNDB_CHANGE_UNLOGGED) CHECK(change.unlogged == 1);
        if (change.kind == CAIRNDB_CHANGE_KEYSPACE_DROPPED) CHECK(named(change.keyspace, "shops"));
    } while (change.kind != CAIRNDB_CHANGE_BATCH);
    CHECK(is(&change.entries[0], CAIRNDB_OPERATION_PUT, NULL, "last", "1"));
    CHECK(seen == (1u << CAIRNDB_CHANGE_UNLOGGED | 1u << CAIRNDB_CHANGE_KEYSPACE_DROPPED |
                   1u << CAIRNDB_CHANGE_BATCH));
    none(changes);
    ok(cairndb_changes_destroy(changes));
    ok(cairndb_close(db));
}

struct leases {
    int count;
    bool fell_off;
    char place[64];
};

static void take(void* state, const char* name, const char* place, bool fell_off) {
    struct leases* found = state;
    CHECK(strcmp(name, "index") == 0);
    found->count++;
    found->fell_off = fell_off;
    snprintf(found->place, sizeof found->place, "%s", place);
}

static struct leases leases_of(cairndb_db* db) {
    struct leases found = {0};
    ok(cairndb_lease_list(db, &found, take));
    return found;
}

/* A lease keeps what was not acknowledged, also while the database is closed. */
static void leases(void) {
    cairndb_db* db = open_at("leases", options);
    put(db, "old", "1");
    cairndb_changes_options* given = cairndb_changes_options_create();
    cairndb_changes_options_set_lease(given, "index");
    cairndb_changes_options_set_bytes_max(given, 16 << 20);
    cairndb_changes_options_set_sync_interval(given, 5);
    cairndb_snapshot* snapshot;
    cairndb_changes* changes;
    ok(cairndb_snapshot_and_changes(db, given, &snapshot, &changes));
    put(db, "new", "2");
    ok(cairndb_sync(db));
    CHECK(has(db, snapshot, "old", "1") && has(db, snapshot, "new", NULL));
    ok(cairndb_snapshot_release(snapshot));
    cairndb_change change = next(changes);
    CHECK(is(&change.entries[0], CAIRNDB_OPERATION_PUT, NULL, "new", "2"));
    put(db, "newer", "3");
    ok(cairndb_changes_acknowledge(changes, change.place));
    ok(cairndb_changes_destroy(changes));
    ok(cairndb_close(db));

    db = open_at("leases", options);
    CHECK(leases_of(db).count == 1 && !leases_of(db).fell_off);
    changes = follow(db, given);
    change = next(changes);
    CHECK(is(&change.entries[0], CAIRNDB_OPERATION_PUT, NULL, "newer", "3"));
    char* place = place_of(changes);
    ok(cairndb_changes_destroy(changes));
    /* A place counts more than what the lease has acknowledged. */
    cairndb_changes_options_set_after(given, place);
    cairndb_changes_options_set_durability(given, CAIRNDB_DURABILITY_OS);
    changes = follow(db, given);
    put(db, "newest", "4");
    change = next(changes);
    CHECK(is(&change.entries[0], CAIRNDB_OPERATION_PUT, NULL, "newest", "4"));
    free(place);
    static char value[1000];
    for (int n = 0; n < 30000; n++) {
        ok(cairndb_put(db, "k", 1, value, sizeof value, CAIRNDB_DURABILITY_OS));
    }
    ok(cairndb_flush(db));
    CHECK(leases_of(db).fell_off);
    cairndb_error* error = NULL;
    for (int n = 0; n < 40000 && error == NULL; n++) {
        bool found;
        error = cairndb_changes_next(changes, 0, &change, &found);
    }
    CHECK(fails(error, CAIRNDB_ERROR_REVOKED));
    ok(cairndb_changes_destroy(changes));
    ok(cairndb_lease_drop(db, "index"));
    CHECK(leases_of(db).count == 0);
    CHECK(fails(cairndb_lease_drop(db, "index"), CAIRNDB_ERROR_NOT_FOUND));
    cairndb_changes_options_destroy(given);
    ok(cairndb_close(db));
}

static cairndb_error* options_fail(cairndb_db* db, cairndb_changes_options* given) {
    cairndb_changes* changes = (cairndb_changes*)db;
    cairndb_error* error = cairndb_changes_create(db, given, &changes);
    CHECK(changes == NULL);
    cairndb_changes_options_destroy(given);
    return error;
}

/* What is refused. */
static void refusals(void) {
    cairndb_db* db = open_at("db", options);
    cairndb_changes_options* given = cairndb_changes_options_create();
    cairndb_changes_options_set_after(given, "nowhere");
    CHECK(fails(options_fail(db, given), CAIRNDB_ERROR_INVALID_ARGUMENT));
    given = cairndb_changes_options_create();
    cairndb_changes_options_set_after(given, "0000000000000001-7");
    CHECK(fails(options_fail(db, given), CAIRNDB_ERROR_INVALID_ARGUMENT));
    given = cairndb_changes_options_create();
    cairndb_changes_options_set_lease(given, "");
    CHECK(fails(options_fail(db, given), CAIRNDB_ERROR_INVALID_ARGUMENT));
    given = cairndb_changes_options_create();
    cairndb_changes_options_set_durability(given, CAIRNDB_DURABILITY_NONE);
    CHECK(fails(options_fail(db, given), CAIRNDB_ERROR_INVALID_ARGUMENT));
    cairndb_changes_options_set_lease(NULL, "x");
    cairndb_changes_options_destroy(NULL);

    cairndb_snapshot* snapshot = (cairndb_snapshot*)db;
    cairndb_changes* changes = (cairndb_changes*)db;
    CHECK(fails(cairndb_snapshot_and_changes(db, NULL, NULL, &changes),
                CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_snapshot_and_changes(db, NULL, &snapshot, NULL),
                CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(snapshot == NULL);
    changes = follow(db, NULL);
    cairndb_change change;
    bool found = true;
    CHECK(fails(cairndb_changes_next(changes, 0, NULL, &found), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(!found);
    CHECK(fails(cairndb_changes_next(changes, 0, &change, NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_changes_next((cairndb_changes*)db, 0, &change, &found),
                CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_changes_place(changes, NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_changes_acknowledge(changes, NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_changes_acknowledge(changes, "7"), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_diff_destroy((cairndb_diff*)changes), CAIRNDB_ERROR_INVALID_ARGUMENT));
    char* place = NULL;
    ok(cairndb_place(db, &place));
    char* same_place = place_of(changes);
    CHECK(strcmp(place, same_place) == 0);
    free(place);
    free(same_place);
    ok(cairndb_lease_list(db, NULL, NULL));
    /* A handle outlives its database, and only ends. */
    ok(cairndb_close(db));
    CHECK(fails(cairndb_changes_next(changes, UINT64_MAX, &change, &found), CAIRNDB_ERROR_CLOSED));
    ok(cairndb_changes_destroy(changes));
    CHECK(fails(cairndb_changes_next(changes, 0, &change, &found), CAIRNDB_ERROR_CLOSED));
    CHECK(fails(cairndb_changes_destroy(changes), CAIRNDB_ERROR_CLOSED));
    CHECK(fails(cairndb_place(db, &place), CAIRNDB_ERROR_CLOSED));
}

static bool stop(void* state, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    int* calls = state;
    return ++*calls > 2;
}

static cairndb_error* wait_for_one(void* changes) {
    cairndb_change change;
    bool found;
    return cairndb_changes_next(changes, UINT64_MAX, &change, &found);
}

/* A wait can be watched, and continued after it was stopped. */
static void watched(void) {
    cairndb_db* db = open_at("watched", options);
    cairndb_changes* changes = follow(db, NULL);
    int calls = 0;
    cairndb_error* error = cairndb_watch(&calls, stop, changes, wait_for_one);
    CHECK(calls > 2 && fails(error, CAIRNDB_ERROR_INTERRUPTED));
    put(db, "k", "v");
    ok(cairndb_sync(db));
    CHECK(next(changes).kind == CAIRNDB_CHANGE_BATCH);
    ok(cairndb_changes_destroy(changes));
    ok(cairndb_close(db));
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    snprintf(path, sizeof path, "%s", argv[1]);
    options = cairndb_options_create();
    kinds();
    leases();
    refusals();
    watched();
    cairndb_options_destroy(options);
    puts("PASS");
    return 0;
}
