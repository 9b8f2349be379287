/* Iterators over a part of the keys, and its deletion. Arguments: an empty directory. Prints PASS. */
#include "check.h"

/* Requires the keys of an iterator, joined, from both ends. */
static void sees(cairndb_db* db, const cairndb_iter_options* options, const char* expected) {
    cairndb_iter* iter = NULL;
    ok(cairndb_iter_create_with(db, options, &iter));
    char forward[64] = "", backward[64] = "";
    size_t len, count;
    for (ok(cairndb_iter_seek_to_first(iter)); cairndb_iter_valid(iter); ok(cairndb_iter_next(iter))) {
        const char* key = cairndb_iter_key(iter, &len);
        strncat(forward, key, len);
    }
    for (ok(cairndb_iter_seek_to_last(iter)); cairndb_iter_valid(iter); ok(cairndb_iter_prev(iter))) {
        const char* key = cairndb_iter_key(iter, &len);
        memmove(backward + len, backward, strlen(backward) + 1);
        memcpy(backward, key, len);
    }
    CHECK(strcmp(forward, expected) == 0 && strcmp(backward, expected) == 0);
    ok(cairndb_iter_seek(iter, "", 0));
    CHECK(cairndb_iter_valid(iter) == (*expected != 0));
    cairndb_entry entries[8];
    ok(cairndb_iter_next_n(iter, 8, entries, &count));
    size_t bytes = 0;
    for (size_t at = 0; at < count; at++) bytes += entries[at].key_len;
    CHECK(bytes == strlen(expected));
    ok(cairndb_iter_destroy(iter));
}

static void fill(cairndb_db* db) {
    for (const char* key = "a\0ba\0bb\0c\0"; *key != 0; key += strlen(key) + 1) put(db, key, key);
}

static void parts_of_the_keys(void) {
    cairndb_options* options = cairndb_options_create();
    cairndb_db* db = open_at("parts", options);
    fill(db);
    cairndb_snapshot* snapshot;
    ok(cairndb_snapshot_create(db, &snapshot));
    put(db, "bc", "bc");

    cairndb_iter_options* part = cairndb_iter_options_create();
    sees(db, part, "ababbbcc");
    cairndb_iter_options_set_range(part, "b", 1, "c", 1);
    sees(db, part, "babbbc");
    cairndb_iter_options_set_snapshot(part, snapshot);
    sees(db, part, "babb");
    cairndb_iter_options_set_prefix(part, "b", 1);
    sees(db, part, "babb");
    cairndb_iter_options_set_range(part, NULL, 0, "b", 1);
    sees(db, part, "a");
    cairndb_iter_options_set_range(part, "bb", 2, NULL, 0);
    sees(db, part, "bbc");
    cairndb_iter_options_set_range(part, "c", 1, "b", 1);
    sees(db, part, "");
    cairndb_iter_options_set_snapshot(part, NULL);
    cairndb_iter_options_set_prefix(part, NULL, 0);
    sees(db, part, "ababbbcc");

    cairndb_iter* iter;
    cairndb_iter_options_set_prefix(part, "b", SIZE_MAX);
    CHECK(fails(cairndb_iter_create_with(db, part, &iter), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(iter == NULL);
    CHECK(fails(cairndb_iter_create_with(db, NULL, &iter), CAIRNDB_ERROR_INVALID_ARGUMENT));
    cairndb_iter_options_destroy(part);
    cairndb_iter_options_destroy(NULL);
    cairndb_iter_options_set_prefix(NULL, "b", 1);

    part = cairndb_iter_options_create();
    cairndb_iter_options_set_prefix(part, "b", 1);
    ok(cairndb_iter_create_with(db, part, &iter));
    cairndb_iter_options_destroy(part);
    ok(cairndb_iter_seek_for_prev(iter, "z", 1));
    size_t len;
    CHECK(memcmp(cairndb_iter_key(iter, &len), "bc", 2) == 0 && len == 2);
    ok(cairndb_snapshot_release(snapshot));
    ok(cairndb_close(db));
    CHECK(fails(cairndb_iter_next(iter), CAIRNDB_ERROR_CLOSED));
    ok(cairndb_iter_destroy(iter));
    cairndb_options_destroy(options);
}

static void take(void* state, cairndb_write_kind kind, const char* key, size_t key_len,
                 const char* value, size_t value_len) {
    char* seen = state;
    sprintf(seen + strlen(seen), "%u%.*s-%.*s,", kind, (int)key_len, key, (int)value_len, value);
}

/* Whether the keyspace has `key`. */
static bool holds(cairndb_keyspace* keyspace, const char* key) {
    bool found;
    ok(cairndb_keyspace_contains(keyspace, NULL, key, strlen(key), &found));
    return found;
}

static void deleted_parts(void) {
    cairndb_options* options = cairndb_options_create();
    cairndb_db* db = open_at("deleted", options);
    cairndb_iter_options* all = cairndb_iter_options_create();
    fill(db);
    ok(cairndb_delete_range(db, "b", 1, "bb", 2, CAIRNDB_DURABILITY_SYNC));
    sees(db, all, "abbc");
    ok(cairndb_delete_range(db, "b", 1, "a", 1, CAIRNDB_DURABILITY_DEFAULT));
    ok(cairndb_delete_range(db, "bb", 2, NULL, 0, CAIRNDB_DURABILITY_DEFAULT));
    sees(db, all, "a");
    ok(cairndb_delete_range(db, NULL, 0, NULL, 0, CAIRNDB_DURABILITY_DEFAULT));
    sees(db, all, "");
    fill(db);
    ok(cairndb_delete_prefix(db, "b", 1));
    sees(db, all, "ac");
    CHECK(fails(cairndb_delete_range(db, "b", SIZE_MAX, NULL, 0, CAIRNDB_DURABILITY_DEFAULT),
                CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_delete_range(db, NULL, 0, NULL, 0, 77), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_delete_prefix(db, NULL, 1), CAIRNDB_ERROR_INVALID_ARGUMENT));
    sees(db, all, "ac");

    /* In a batch and a keyspace, in the order of the writes. */
    cairndb_keyspace* users;
    ok(cairndb_keyspace_create(db, "users", NULL, &users));
    for (const char* key = "a\0b\0c\0d\0e\0"; *key != 0; key += 2)
        ok(cairndb_keyspace_put(users, key, 1, "", 0, CAIRNDB_DURABILITY_DEFAULT));
    ok(cairndb_keyspace_delete_range(users, NULL, 0, "b", 1, CAIRNDB_DURABILITY_DEFAULT));
    ok(cairndb_keyspace_delete_prefix(users, "b", 1));
    CHECK(!holds(users, "a") && !holds(users, "b") && holds(users, "c"));
    cairndb_batch* batch;
    ok(cairndb_batch_create(&batch));
    ok(cairndb_batch_put(batch, "b1", 2, "", 0));
    ok(cairndb_batch_delete_prefix(batch, "b", 1));
    ok(cairndb_batch_put(batch, "b2", 2, "", 0));
    ok(cairndb_batch_delete_range(batch, "c", 1, NULL, 0));
    ok(cairndb_batch_delete_range_in(batch, users, "c", 1, "d", 1));
    ok(cairndb_batch_delete_prefix_in(batch, users, "d", 1));
    char seen[100] = "";
    ok(cairndb_batch_iterate(batch, seen, take));
    CHECK(strcmp(seen, "1b1-,4b-c,1b2-,4c-,4c-d,4d-e,") == 0);
    ok(cairndb_write(db, batch, CAIRNDB_DURABILITY_DEFAULT));
    sees(db, all, "ab2");
    CHECK(!holds(users, "c") && !holds(users, "d") && holds(users, "e"));
    ok(cairndb_batch_destroy(batch));
    ok(cairndb_keyspace_close(users));
    cairndb_iter_options_destroy(all);
    ok(cairndb_close(db));
    cairndb_options_destroy(options);
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    snprintf(path, sizeof path, "%s", argv[1]);
    parts_of_the_keys();
    deleted_parts();
    puts("PASS");
    return 0;
}
