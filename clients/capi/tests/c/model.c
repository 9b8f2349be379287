/* Random valid calls of "leveldb/c.h", with a line for each result. The same program is linked with
 * CairnDB and with LevelDB; the test compares what the two print.
 *
 * Arguments: an empty directory, a seed, a number of calls. */
#include "leveldb/c.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITERS 6
#define SNAPSHOTS 4

static uint64_t state;
static unsigned long call;
static char path[4096];
static leveldb_t* db;
static leveldb_options_t* options;
static leveldb_comparator_t* order;
static leveldb_cache_t* cache;
static leveldb_filterpolicy_t* policy;
static leveldb_iterator_t* iters[ITERS];
static const leveldb_snapshot_t* snapshots[SNAPSHOTS];
static leveldb_writebatch_t* batches[2];

/* xorshift64* */
static uint64_t next_random(void) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717u;
}

static unsigned below(unsigned limit) { return (unsigned)(next_random() >> 33) % limit; }

static uint64_t hash(const char* bytes, size_t len) {
    uint64_t value = 14695981039346656037u;
    for (size_t at = 0; at < len; at++) value = (value ^ (unsigned char)bytes[at]) * 1099511628211u;
    return value;
}

static void say(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("%lu ", call);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

/* Prints the category of an error, which is the same in both libraries, and frees it. */
static void say_error(const char* what, char* error) {
    char category[32] = "none";
    if (error != NULL) {
        const char* colon = strchr(error, ':');
        size_t len = colon == NULL ? 0 : (size_t)(colon - error);
        if (len >= sizeof category) len = sizeof category - 1;
        memcpy(category, error, len);
        category[len] = 0;
    }
    say("%s error %s", what, category);
    leveldb_free(error);
}

static char key[64];
static char* value;

static size_t random_key(void) {
    unsigned n = below(600);
    size_t len = (size_t)snprintf(key, sizeof key, "%0*u", 1 + (int)(n % 7), n);
    if (n % 50 == 0) len = 0;
    if (n % 51 == 0) key[0] = '\377';
    if (n % 53 == 0 && len > 1) key[1] = 0;
    return len;
}

static size_t random_value(void) {
    size_t len = below(200);
    if (below(300) == 0) len = below(100000);
    int byte = (int)below(256);
    for (size_t at = 0; at < len; at++) value[at] = (char)(at % 16 < 4 ? byte : (int)(at * 7 + len));
    return len;
}

static int reverse(void* unused, const char* a, size_t alen, const char* b, size_t blen) {
    (void)unused;
    int found = memcmp(a, b, alen < blen ? alen : blen);
    if (found == 0) found = alen < blen ? -1 : alen > blen;
    return -found;
}

static const char* reverse_name(void* unused) {
    (void)unused;
    return "test.Reverse";
}

static void nothing(void* unused) { (void)unused; }

static void open_database(void) {
    char* error = NULL;
    db = leveldb_open(options, path, &error);
    say_error("open", error);
    if (db == NULL) exit(1);
}

static void drop_all(void) {
    for (int n = 0; n < ITERS; n++) {
        if (iters[n] != NULL) leveldb_iter_destroy(iters[n]);
        iters[n] = NULL;
    }
    for (int n = 0; n < SNAPSHOTS; n++) {
        if (snapshots[n] != NULL) leveldb_release_snapshot(db, snapshots[n]);
        snapshots[n] = NULL;
    }
}

static void write_something(unsigned choice) {
    char* error = NULL;
    leveldb_writeoptions_t* writing = leveldb_writeoptions_create();
    leveldb_writeoptions_set_sync(writing, below(200) == 0);
    size_t len = random_key();
    if (choice < 22) {
        size_t value_len = random_value();
        leveldb_put(db, writing, key, len, value, value_len, &error);
    } else {
        leveldb_delete(db, writing, key, len, &error);
    }
    say_error("write", error);
    leveldb_writeoptions_destroy(writing);
}

static void count_put(void* sum, const char* k, size_t klen, const char* v, size_t vlen) {
    *(uint64_t*)sum = *(uint64_t*)sum * 31 + (hash(k, klen) ^ hash(v, vlen));
}

static void count_deleted(void* sum, const char* k, size_t klen) {
    *(uint64_t*)sum = *(uint64_t*)sum * 37 + hash(k, klen);
}

static void use_batch(void) {
    leveldb_writebatch_t* batch = batches[below(2)];
    unsigned choice = below(10);
    size_t len = random_key();
    if (choice < 4) {
        size_t value_len = random_value();
        leveldb_writebatch_put(batch, key, len, value, value_len);
    } else if (choice < 6) {
        leveldb_writebatch_delete(batch, key, len);
    } else if (choice == 6) {
        leveldb_writebatch_clear(batch);
    } else if (choice == 7) {
        leveldb_writebatch_append(batches[0], batches[1]);
        leveldb_writebatch_clear(batches[1]);
    } else if (choice == 8) {
        uint64_t sum = 0;
        leveldb_writebatch_iterate(batch, &sum, count_put, count_deleted);
        say("batch %016llx", (unsigned long long)sum);
    } else {
        char* error = NULL;
        leveldb_writeoptions_t* writing = leveldb_writeoptions_create();
        leveldb_write(db, writing, batch, &error);
        leveldb_writeoptions_destroy(writing);
        say_error("batch", error);
        leveldb_writebatch_clear(batch);
    }
}

static void get_something(void) {
    leveldb_readoptions_t* reading = leveldb_readoptions_create();
    leveldb_readoptions_set_snapshot(reading, snapshots[below(SNAPSHOTS)]);
    leveldb_readoptions_set_verify_checksums(reading, below(2) == 0);
    char* error = NULL;
    size_t len = random_key(), found_len = 99;
    char* found = leveldb_get(db, reading, key, len, &found_len, &error);
    if (found == NULL) {
        say("get none %zu", found_len);
    } else {
        say("get %zu %016llx", found_len, (unsigned long long)hash(found, found_len));
    }
    if (error != NULL) say_error("get", error);
    leveldb_free(found);
    leveldb_readoptions_destroy(reading);
}

static void say_entry(leveldb_iterator_t* iter) {
    char* error = NULL;
    if (leveldb_iter_valid(iter)) {
        size_t key_len, value_len;
        const char* k = leveldb_iter_key(iter, &key_len);
        const char* v = leveldb_iter_value(iter, &value_len);
        say("entry %zu %016llx %zu %016llx", key_len, (unsigned long long)hash(k, key_len),
            value_len, (unsigned long long)hash(v, value_len));
    } else {
        say("end");
    }
    leveldb_iter_get_error(iter, &error);
    if (error != NULL) say_error("iterator", error);
}

static void move_iterator(void) {
    leveldb_iterator_t** place = &iters[below(ITERS)];
    if (*place == NULL) {
        leveldb_readoptions_t* reading = leveldb_readoptions_create();
        leveldb_readoptions_set_snapshot(reading, snapshots[below(SNAPSHOTS)]);
        leveldb_readoptions_set_fill_cache(reading, below(2) == 0);
        *place = leveldb_create_iterator(db, reading);
        leveldb_readoptions_destroy(reading);
        say_entry(*place);
        return;
    }
    leveldb_iterator_t* iter = *place;
    unsigned choice = below(40);
    int valid = leveldb_iter_valid(iter);
    if (choice == 0) {
        leveldb_iter_destroy(iter);
        *place = NULL;
        return;
    }
    if (choice < 15 && valid) {
        leveldb_iter_next(iter);
    } else if (choice < 28 && valid) {
        leveldb_iter_prev(iter);
    } else if (choice == 28) {
        leveldb_iter_seek_to_first(iter);
    } else if (choice == 29) {
        leveldb_iter_seek_to_last(iter);
    } else {
        size_t len = random_key();
        leveldb_iter_seek(iter, key, len);
    }
    say_entry(iter);
}

static void use_snapshot(void) {
    const leveldb_snapshot_t** place = &snapshots[below(SNAPSHOTS)];
    if (*place == NULL) {
        *place = leveldb_create_snapshot(db);
    } else {
        leveldb_release_snapshot(db, *place);
        *place = NULL;
    }
    say("snapshot %d", *place != NULL);
}

static void use_whole_database(void) {
    unsigned choice = below(12);
    char* error = NULL;
    if (choice < 4) {
        drop_all();
        leveldb_close(db);
        open_database();
    } else if (choice < 6) {
        leveldb_compact_range(db, NULL, 0, NULL, 0);
    } else if (choice < 8) {
        char other[64];
        size_t len = random_key();
        memcpy(other, key, sizeof other);
        size_t other_len = random_key();
        leveldb_compact_range(db, other, len, key, other_len);
    } else if (choice == 8) {
        static const char* names[] = {"leveldb.stats", "leveldb.sstables", "leveldb.nothing",
                                      "leveldb.num-files-at-level0", "leveldb.num-files-at-level7",
                                      "leveldb.approximate-memory-usage", "stats", ""};
        char* property = leveldb_property_value(db, names[below(8)]);
        say("property %d", property != NULL);
        leveldb_free(property);
    } else if (choice == 9) {
        leveldb_t* second = leveldb_open(options, path, &error);
        say("second %d", second != NULL);
        say_error("second", error);
    } else if (choice == 10) {
        drop_all();
        leveldb_close(db);
        leveldb_options_set_error_if_exists(options, 1);
        db = leveldb_open(options, path, &error);
        say("exists %d", db != NULL);
        say_error("exists", error);
        leveldb_options_set_error_if_exists(options, 0);
        open_database();
    } else if (below(10) == 0) {
        drop_all();
        leveldb_close(db);
        leveldb_destroy_db(options, path, &error);
        say_error("destroy", error);
        error = NULL;
        leveldb_options_set_create_if_missing(options, 0);
        db = leveldb_open(options, path, &error);
        say("missing %d", db != NULL);
        say_error("missing", error);
        leveldb_options_set_create_if_missing(options, 1);
        open_database();
    }
    say("whole %u", choice);
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    snprintf(path, sizeof path, "%s/db", argv[1]);
    state = strtoull(argv[2], NULL, 10) * 2 + 1;
    unsigned long calls = strtoul(argv[3], NULL, 10);
    for (int n = 0; n < 10; n++) next_random();
    value = malloc(100000);
    options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_write_buffer_size(options, 65536 << below(4));
    cache = leveldb_cache_create_lru(100000);
    leveldb_options_set_cache(options, cache);
    policy = leveldb_filterpolicy_create_bloom(10);
    if (below(2) == 0) leveldb_options_set_filter_policy(options, policy);
    leveldb_options_set_compression(options, (int)below(2));
    order = leveldb_comparator_create(NULL, nothing, reverse, reverse_name);
    if (below(2) == 0) leveldb_options_set_comparator(options, order);
    for (int n = 0; n < 2; n++) batches[n] = leveldb_writebatch_create();
    open_database();
    for (call = 1; call <= calls; call++) {
        unsigned choice = below(100);
        if (choice < 30) {
            write_something(choice);
        } else if (choice < 40) {
            use_batch();
        } else if (choice < 65) {
            get_something();
        } else if (choice < 95) {
            move_iterator();
        } else if (choice < 99) {
            use_snapshot();
        } else if (below(20) == 0) {
            use_whole_database();
        }
    }
    drop_all();
    leveldb_close(db);
    for (int n = 0; n < 2; n++) leveldb_writebatch_destroy(batches[n]);
    leveldb_options_destroy(options);
    leveldb_comparator_destroy(order);
    leveldb_filterpolicy_destroy(policy);
    leveldb_cache_destroy(cache);
    free(value);
    return 0;
}
