/* Random calls with handles that are live, destroyed, of another kind, NULL or made up. A call with
 * a wrong handle must report an error and do nothing; the sanitizer watches the rest.
 *
 * Arguments: an empty directory, a seed, a number of calls. Prints PASS. */
#include "cairndb.h"
#include "leveldb/c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 16

enum kind { DATABASE, ITERATOR, SNAPSHOT, BATCH, KINDS };

struct place {
    void* handle;
    int live;
    /* Of an iterator or snapshot: the handle of its database. */
    void* database;
};

static struct place places[KINDS][PLACES];
static uint64_t state;
static unsigned long call, refused, done;
static volatile unsigned sum;
static const char* directory;
static leveldb_options_t* options;

static uint64_t next_random(void) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717u;
}

static unsigned below(unsigned limit) { return (unsigned)(next_random() >> 33) % limit; }

static void fail(const char* what, unsigned function) {
    fprintf(stderr, "call %lu, function %u: %s\n", call, function, what);
    exit(1);
}

/* A handle for a parameter of `kind`, and whether it is a live one. */
static struct place any(enum kind kind) {
    unsigned choice = below(20);
    struct place chosen = {NULL, 0, NULL};
    if (choice == 0) return chosen;
    if (choice == 1) {
        chosen.handle = (void*)(uintptr_t)next_random();
    } else if (choice == 2) {
        chosen.handle = (void*)(uintptr_t)below(1 << 16);
    } else if (choice == 3) {
        chosen = places[(kind + 1 + below(KINDS - 1)) % KINDS][below(PLACES)];
        chosen.live = 0;
    } else {
        chosen = places[kind][below(PLACES)];
    }
    return chosen;
}

static int database_lives(void* handle) {
    for (int n = 0; n < PLACES; n++) {
        if (places[DATABASE][n].handle == handle) return places[DATABASE][n].live;
    }
    return 0;
}

/* Whether the last call has reported an error. */
static int reported(char* error) {
    cairndb_error* last = cairndb_last_error();
    int found = last != NULL;
    if (error != NULL && !found) fail("an error without a last error", 0);
    cairndb_error_destroy(last);
    leveldb_free(error);
    return found;
}

static void expect(int valid, int error, unsigned function) {
    if (!valid && !error) fail("a wrong handle was accepted", function);
    if (valid && error) fail("a valid call was refused", function);
    if (valid) done++;
    else refused++;
}

static void kill_place(enum kind kind, void* handle) {
    for (int n = 0; n < PLACES; n++) {
        if (places[kind][n].handle == handle) places[kind][n].live = 0;
    }
}

/* Fills a place; what was there is destroyed first, unless it was already. */
static void make(enum kind kind) {
    struct place* place = &places[kind][below(PLACES)];
    unsigned index = (unsigned)(place - places[kind]);
    if (place->live) return;
    char path[4096];
    char* error = NULL;
    struct place database = any(DATABASE);
    switch (kind) {
    case DATABASE:
        snprintf(path, sizeof path, "%s/%u", directory, index);
        place->handle = leveldb_open(options, path, &error);
        database.live = 1;
        break;
    case ITERATOR: place->handle = leveldb_create_iterator(database.handle, NULL); break;
    case SNAPSHOT: place->handle = (void*)leveldb_create_snapshot(database.handle); break;
    default:
        place->handle = leveldb_writebatch_create();
        database.live = 1;
        break;
    }
    expect(database.live, reported(error), 100 + kind);
    place->live = place->handle != NULL;
    place->database = database.handle;
}

static void destroy(enum kind kind) {
    struct place chosen = any(kind);
    struct place database = any(DATABASE);
    int valid = chosen.live;
    switch (kind) {
    case DATABASE: leveldb_close(chosen.handle); break;
    case ITERATOR: leveldb_iter_destroy(chosen.handle); break;
    case SNAPSHOT:
        if (below(2) == 0) {
            /* With any database: it must be that of the snapshot. */
            leveldb_release_snapshot(database.handle, chosen.handle);
            valid = valid && database.handle == chosen.database;
        } else {
            leveldb_release_snapshot(chosen.database, chosen.handle);
        }
        break;
    default: leveldb_writebatch_destroy(chosen.handle); break;
    }
    expect(valid, reported(NULL), 200 + kind);
    if (valid) kill_place(kind, chosen.handle);
}

static void use_database(void) {
    struct place db = any(DATABASE), snapshot = any(SNAPSHOT), batch = any(BATCH);
    char* error = NULL;
    size_t len;
    unsigned function = below(8);
    int valid = db.live;
    leveldb_readoptions_t* reading = leveldb_readoptions_create();
    switch (function) {
    case 0: leveldb_put(db.handle, NULL, "k", 1, "value", 5, &error); break;
    case 1: leveldb_delete(db.handle, NULL, "k", 1, &error); break;
    case 2: leveldb_write(db.handle, NULL, batch.handle, &error); valid = valid && batch.live; break;
    case 3: leveldb_free(leveldb_get(db.handle, NULL, "k", 1, &len, &error)); break;
    case 4:
        leveldb_readoptions_set_snapshot(reading, snapshot.handle);
        leveldb_free(leveldb_get(db.handle, reading, "k", 1, NULL, &error));
        valid = valid && (snapshot.handle == NULL ||
                          (snapshot.live && snapshot.database == db.handle));
        break;
    case 5: leveldb_free(leveldb_property_value(db.handle, "leveldb.stats")); break;
    case 6: leveldb_put(db.handle, NULL, NULL, 1, "value", 5, &error); valid = 0; break;
    default: leveldb_put(db.handle, NULL, "k", 1, "v", SIZE_MAX - 3, &error); valid = 0; break;
    }
    leveldb_readoptions_destroy(reading);
    expect(valid, reported(error), 300 + function);
}

static void use_iterator(void) {
    struct place iter = any(ITERATOR);
    int moves = iter.live && database_lives(iter.database);
    size_t len = 1;
    const char* bytes;
    unsigned function = below(8);
    switch (function) {
    case 0: leveldb_iter_seek_to_first(iter.handle); break;
    case 1: leveldb_iter_seek_to_last(iter.handle); break;
    case 2: leveldb_iter_seek(iter.handle, "k", 1); break;
    case 3: leveldb_iter_next(iter.handle); break;
    case 4: leveldb_iter_prev(iter.handle); break;
    case 5:
    case 6:
        bytes = function == 5 ? leveldb_iter_key(iter.handle, &len)
                              : leveldb_iter_value(iter.handle, &len);
        if (bytes == NULL && len != 0) fail("a length without bytes", function);
        /* The sanitizer reports bytes that were freed. */
        for (size_t at = 0; at < len; at++) sum += (unsigned char)bytes[at];
        if (!reported(NULL) != (bytes != NULL)) fail("no entry and no error", function);
        return;
    default:
        if (leveldb_iter_valid(iter.handle) && !iter.live) fail("a wrong one is valid", function);
        reported(NULL);
        return;
    }
    expect(moves, reported(NULL), 400 + function);
}

static void noop_put(void* s, const char* k, size_t kl, const char* v, size_t vl) {
    (void)s, (void)k, (void)kl, (void)v, (void)vl;
}

static void noop_delete(void* s, const char* k, size_t kl) { (void)s, (void)k, (void)kl; }

static void use_batch(void) {
    struct place batch = any(BATCH), source = any(BATCH);
    int valid = batch.live;
    unsigned function = below(5);
    switch (function) {
    case 0: leveldb_writebatch_put(batch.handle, "k", 1, "v", 1); break;
    case 1: leveldb_writebatch_delete(batch.handle, "k", 1); break;
    case 2: leveldb_writebatch_clear(batch.handle); break;
    case 3:
        if (below(4) != 0) return;
        leveldb_writebatch_append(batch.handle, source.handle);
        valid = valid && source.live;
        if (valid) leveldb_writebatch_clear(batch.handle);
        break;
    default: leveldb_writebatch_iterate(batch.handle, NULL, noop_put, noop_delete); break;
    }
    expect(valid, reported(NULL), 500 + function);
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    directory = argv[1];
    state = strtoull(argv[2], NULL, 10) * 2 + 1;
    unsigned long calls = strtoul(argv[3], NULL, 10);
    options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_write_buffer_size(options, 1 << 16);
    leveldb_cache_t* cache = leveldb_cache_create_lru(1 << 16);
    leveldb_options_set_cache(options, cache);
    leveldb_cache_destroy(cache);
    for (call = 1; call <= calls; call++) {
        unsigned choice = below(1000);
        enum kind kind = (enum kind)below(KINDS);
        if (kind == DATABASE && below(20) != 0) kind = ITERATOR;
        if (choice < 60) make(kind);
        else if (choice < 100) destroy(kind);
        else if (choice < 400) use_database();
        else if (choice < 700) use_iterator();
        else use_batch();
    }
    for (int kind = 0; kind < KINDS; kind++) {
        for (int n = 0; n < PLACES; n++) {
            struct place* place = &places[kind][n];
            if (!place->live) continue;
            if (kind == DATABASE) leveldb_close(place->handle);
            if (kind == ITERATOR) leveldb_iter_destroy(place->handle);
            if (kind == SNAPSHOT) leveldb_release_snapshot(place->database, place->handle);
            if (kind == BATCH) leveldb_writebatch_destroy(place->handle);
        }
    }
    leveldb_options_destroy(options);
    if (calls > 1000 && (refused < calls / 20 || done < calls / 20)) fail("a poor mixture", 0);
    printf("%lu calls, %lu refused\nPASS\n", calls, refused);
    return 0;
}
