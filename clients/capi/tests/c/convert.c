/* One step with a directory of LevelDB that holds 1000 entries: `convert STEP DIRECTORY`. */
#include "cairndb.h"
#include "leveldb/c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char* text) {
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static void count(const leveldb_options_t* options, const char* path) {
    char* error = NULL;
    leveldb_t* db = leveldb_open(options, path, &error);
    if (error != NULL) fail(error);
    leveldb_iterator_t* iter = leveldb_create_iterator(db, NULL);
    int entries = 0;
    for (leveldb_iter_seek_to_first(iter); leveldb_iter_valid(iter); leveldb_iter_next(iter)) {
        size_t key_len, value_len;
        const char* key = leveldb_iter_key(iter, &key_len);
        const char* value = leveldb_iter_value(iter, &value_len);
        if (key_len != value_len || memcmp(key, value, key_len) != 0) fail("a wrong value");
        entries++;
    }
    leveldb_iter_get_error(iter, &error);
    if (error != NULL) fail(error);
    if (entries != 1000) fail("a wrong number of entries");
    leveldb_iter_destroy(iter);
    leveldb_close(db);
}

static bool stops(void* state, uint64_t done, uint64_t total) {
    (void)total;
    return done > *(uint64_t*)state;
}

static cairndb_error* open_stopped(void* path) {
    char* error = NULL;
    if (leveldb_open(NULL, path, &error) != NULL) fail("it was opened");
    if (strncmp(error, "IO error: interrupted", 21) != 0) fail(error);
    leveldb_free(error);
    return cairndb_last_error();
}

/* Stops the conversion after some of its bytes. */
static void stop(char* path) {
    uint64_t bytes = 5000;
    cairndb_error* error = cairndb_watch(&bytes, stops, path, open_stopped);
    if (cairndb_error_get_kind(error) != CAIRNDB_ERROR_INTERRUPTED) fail("another error");
    cairndb_error_destroy(error);
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    leveldb_options_t* options = leveldb_options_create();
    char* error = NULL;
    if (strcmp(argv[1], "count") == 0) {
        count(options, argv[2]);
    } else if (strcmp(argv[1], "exists") == 0) {
        leveldb_options_set_error_if_exists(options, 1);
        if (leveldb_open(options, argv[2], &error) != NULL) fail("it was opened");
        if (strncmp(error, "Invalid argument: ", 18) != 0) fail(error);
        leveldb_free(error);
        error = NULL;
    } else if (strcmp(argv[1], "stop") == 0) {
        stop(argv[2]);
    } else if (strcmp(argv[1], "destroy") == 0) {
        leveldb_destroy_db(options, argv[2], &error);
    } else if (strcmp(argv[1], "repair") == 0) {
        leveldb_repair_db(options, argv[2], &error);
    } else {
        return 2;
    }
    if (error != NULL) fail(error);
    leveldb_options_destroy(options);
    return 0;
}
