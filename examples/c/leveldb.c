/* LevelDB's interface: a batch, an iterator over a snapshot. Runs on LevelDB, too.
 *
 * cc leveldb.c $(pkg-config --static --cflags --libs cairndb) -o leveldb && ./leveldb stones */
#include "leveldb/c.h"

#include <stdio.h>
#include <stdlib.h>

/* Ends the program after an error. */
static void check(char* error) {
    if (error != NULL) {
        fprintf(stderr, "%s\n", error);
        leveldb_free(error);
        exit(1);
    }
}

int main(int argc, char** argv) {
    const char* path = argc > 1 ? argv[1] : "stones";
    char* error = NULL;
    leveldb_options_t* options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_t* db = leveldb_open(options, path, &error);
    check(error);

    leveldb_writeoptions_t* writing = leveldb_writeoptions_create();
    leveldb_writeoptions_set_sync(writing, 1);
    leveldb_writebatch_t* batch = leveldb_writebatch_create();
    leveldb_writebatch_put(batch, "granite", 7, "grey", 4);
    leveldb_writebatch_put(batch, "slate", 5, "blue", 4);
    leveldb_writebatch_delete(batch, "opal", 4);
    leveldb_write(db, writing, batch, &error);
    check(error);
    leveldb_writebatch_destroy(batch);

    leveldb_readoptions_t* reading = leveldb_readoptions_create();
    const leveldb_snapshot_t* snapshot = leveldb_create_snapshot(db);
    leveldb_readoptions_set_snapshot(reading, snapshot);
    leveldb_iterator_t* iter = leveldb_create_iterator(db, reading);
    for (leveldb_iter_seek_to_first(iter); leveldb_iter_valid(iter); leveldb_iter_next(iter)) {
        size_t key_len, value_len;
        const char* key = leveldb_iter_key(iter, &key_len);
        const char* value = leveldb_iter_value(iter, &value_len);
        printf("%.*s is %.*s\n", (int)key_len, key, (int)value_len, value);
    }
    leveldb_iter_get_error(iter, &error);
    check(error);

    leveldb_iter_destroy(iter);
    leveldb_release_snapshot(db, snapshot);
    leveldb_readoptions_destroy(reading);
    leveldb_writeoptions_destroy(writing);
    leveldb_close(db);
    leveldb_destroy_db(options, path, &error);
    check(error);
    leveldb_options_destroy(options);
    return 0;
}
