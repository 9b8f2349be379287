/* Iterators over a part of the keys. Arguments: an empty directory. Prints PASS. */
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

static void parts_of_the_keys(void) {
    cairndb_options* options = cairndb_options_create();
    cairndb_db* db = open_at("parts", options);
    for (const char* key = "a\0ba\0bb\0c\0"; *key != 0; key += strlen(key) + 1) put(db, key, key);
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

int main(int argc, char** argv) {
    CHECK(argc == 2);
    snprintf(path, sizeof path, "%s", argv[1]);
    parts_of_the_keys();
    puts("PASS");
    return 0;
}
