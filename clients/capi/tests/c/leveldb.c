/* Tests of "leveldb/c.h": ownership, errors, and the misuse of handles that the header defines.
 *
 * Arguments: an empty directory. Prints PASS. */
#include "leveldb/c.h"

#include "cairndb.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

static char path[2048];
static char buffer[4096];

static char* below(const char* name) {
    snprintf(buffer, sizeof buffer, "%s/%s", path, name);
    return buffer;
}

static int starts(const char* text, const char* start) {
    return text != NULL && strncmp(text, start, strlen(start)) == 0;
}

static leveldb_t* open_at(const char* name, leveldb_options_t* options) {
    char* error = NULL;
    leveldb_t* db = leveldb_open(options, below(name), &error);
    if (error != NULL) fprintf(stderr, "%s\n", error);
    CHECK(error == NULL && db != NULL);
    return db;
}

static leveldb_options_t* creating(void) {
    leveldb_options_t* options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, 1);
    return options;
}

static void put(leveldb_t* db, const char* key, const char* value) {
    char* error = NULL;
    leveldb_put(db, NULL, key, strlen(key), value, strlen(value), &error);
    CHECK(error == NULL);
}

/* Returns whether `key` has the value `expected`; NULL for none. */
static int has(leveldb_t* db, const leveldb_readoptions_t* options, const char* key,
               const char* expected) {
    char* error = NULL;
    size_t len = 77;
    char* value = leveldb_get(db, options, key, strlen(key), &len, &error);
    int same = value == NULL ? expected == NULL && len == 0
                             : expected != NULL && len == strlen(expected) &&
                                   memcmp(value, expected, len) == 0;
    CHECK(error == NULL);
    leveldb_free(value);
    return same;
}

/* Takes the last error of the thread, and returns whether it is of `kind`. */
static int last_error_is(cairndb_error_kind kind) {
    cairndb_error* error = cairndb_last_error();
    int same = error != NULL && cairndb_error_get_kind(error) == kind;
    if (!same && error != NULL) fprintf(stderr, "%s\n", cairndb_error_message(error));
    cairndb_error_destroy(error);
    return same;
}

static void errors_and_ownership(void) {
    leveldb_options_t* options = leveldb_options_create();
    char* error = NULL;
    CHECK(leveldb_open(options, below("missing"), &error) == NULL);
    CHECK(starts(error, "Invalid argument: "));
    /* The earlier text is freed and replaced. */
    CHECK(leveldb_open(options, below("missing"), &error) == NULL);
    CHECK(starts(error, "Invalid argument: "));
    free(error);
    error = NULL;

    leveldb_options_set_create_if_missing(options, 255); /* any byte but 0 is true */
    leveldb_t* db = open_at("first", options);
    CHECK(leveldb_open(options, below("first"), &error) == NULL);
    CHECK(starts(error, "IO error: locked"));
    leveldb_free(error);
    error = NULL;

    CHECK(has(db, NULL, "granite", NULL));
    put(db, "granite", "grey");
    put(db, "", "the empty key");
    put(db, "empty", "");
    CHECK(has(db, NULL, "granite", "grey") && has(db, NULL, "", "the empty key"));
    CHECK(has(db, NULL, "empty", ""));
    leveldb_put(db, NULL, NULL, 5, "x", 1, &error);
    CHECK(starts(error, "Invalid argument: "));
    leveldb_free(error);
    error = NULL;
    leveldb_put(db, NULL, "k", SIZE_MAX, "x", 1, &error);
    CHECK(starts(error, "Invalid argument: "));
    leveldb_free(error);
    error = NULL;
    leveldb_delete(db, NULL, "granite", 7, &error);
    leveldb_delete(db, NULL, "granite", 7, &error);
    CHECK(error == NULL && has(db, NULL, "granite", NULL));
    leveldb_close(db);

    leveldb_options_set_error_if_exists(options, 1);
    CHECK(leveldb_open(options, below("first"), &error) == NULL);
    CHECK(starts(error, "Invalid argument: "));
    leveldb_free(error);
    error = NULL;
    leveldb_destroy_db(options, below("first"), &error);
    leveldb_destroy_db(options, below("first"), &error); /* missing: no error */
    struct stat status;
    CHECK(error == NULL && stat(below("first"), &status) != 0);
    leveldb_options_destroy(options);
}

static void properties(void) {
    leveldb_options_t* options = creating();
    leveldb_t* db = open_at("properties", options);
    static const char* names[] = {"leveldb.stats", "leveldb.sstables",
                                  "leveldb.approximate-memory-usage",
                                  "leveldb.num-files-at-level0", "leveldb.num-files-at-level6"};
    for (size_t at = 0; at < sizeof names / sizeof *names; at++) {
        char* value = leveldb_property_value(db, names[at]);
        CHECK(value != NULL);
        leveldb_free(value);
    }
    CHECK(leveldb_property_value(db, "leveldb.num-files-at-level7") == NULL);
    CHECK(leveldb_property_value(db, "no such property") == NULL);
    CHECK(leveldb_property_value(db, "\xff") == NULL);
    CHECK(leveldb_property_value(db, NULL) == NULL);
    char* stats = leveldb_property_value(db, "leveldb.stats");
    CHECK(strstr(stats, "Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n") != NULL);
    leveldb_free(stats);
    leveldb_close(db);
    leveldb_options_destroy(options);
}

static void batch_put(void* state, const char* k, size_t klen, const char* v, size_t vlen) {
    char* seen = state;
    sprintf(seen + strlen(seen), "+%.*s=%.*s", (int)klen, k, (int)vlen, v);
}

static void batch_deleted(void* state, const char* k, size_t klen) {
    char* seen = state;
    sprintf(seen + strlen(seen), "-%.*s", (int)klen, k);
}

static void batches(void) {
    leveldb_options_t* options = creating();
    leveldb_t* db = open_at("batches", options);
    leveldb_writebatch_t* batch = leveldb_writebatch_create();
    leveldb_writebatch_put(batch, "a", 1, "1", 1);
    leveldb_writebatch_delete(batch, "b", 1);
    leveldb_writebatch_append(batch, batch);
    char seen[200] = "";
    leveldb_writebatch_iterate(batch, seen, batch_put, batch_deleted);
    CHECK(strcmp(seen, "+a=1-b+a=1-b") == 0);
    leveldb_writebatch_iterate(batch, seen, NULL, NULL);
    char* error = NULL;
    leveldb_write(db, NULL, batch, &error);
    leveldb_write(db, NULL, batch, &error);
    CHECK(error == NULL && has(db, NULL, "a", "1"));
    leveldb_writebatch_clear(batch);
    seen[0] = 0;
    leveldb_writebatch_iterate(batch, seen, batch_put, batch_deleted);
    CHECK(seen[0] == 0);
    leveldb_writebatch_destroy(batch);
    leveldb_writebatch_destroy(batch);
    CHECK(last_error_is(CAIRNDB_ERROR_CLOSED));
    leveldb_write(db, NULL, batch, &error);
    CHECK(starts(error, "IO error: closed: the batch was destroyed"));
    leveldb_free(error);
    leveldb_close(db);
    leveldb_options_destroy(options);
}

static void misused_handles(void) {
    leveldb_options_t* options = creating();
    leveldb_readoptions_t* reading = leveldb_readoptions_create();
    leveldb_t* db = open_at("misused", options);
    leveldb_t* other = open_at("other", options);
    put(db, "granite", "grey");
    const leveldb_snapshot_t* snapshot = leveldb_create_snapshot(db);
    put(db, "granite", "red");
    leveldb_readoptions_set_snapshot(reading, snapshot);
    CHECK(has(db, reading, "granite", "grey"));
    leveldb_iterator_t* iter = leveldb_create_iterator(db, reading);
    size_t len = 7;
    CHECK(!leveldb_iter_valid(iter) && leveldb_iter_key(iter, &len) == NULL && len == 0);
    CHECK(last_error_is(CAIRNDB_ERROR_INVALID_ARGUMENT));
    leveldb_iter_seek(iter, "g", 1);
    CHECK(leveldb_iter_valid(iter) == 1);
    CHECK(memcmp(leveldb_iter_value(iter, &len), "grey", 4) == 0 && len == 4);

    /* A snapshot of one database is none of another. */
    char* error = NULL;
    CHECK(leveldb_get(other, reading, "granite", 7, &len, &error) == NULL);
    CHECK(starts(error, "Invalid argument: "));
    CHECK(leveldb_create_iterator(other, reading) == NULL);
    leveldb_release_snapshot(other, snapshot);
    CHECK(last_error_is(CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(has(db, reading, "granite", "grey"));

    /* NULL, and handles of another kind. */
    leveldb_close(NULL);
    CHECK(last_error_is(CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(leveldb_get(NULL, NULL, "k", 1, &len, &error) == NULL);
    CHECK(leveldb_get((leveldb_t*)iter, NULL, "k", 1, NULL, &error) == NULL);
    leveldb_iter_next((leveldb_iterator_t*)db);
    CHECK(last_error_is(CAIRNDB_ERROR_INVALID_ARGUMENT));
    leveldb_iter_destroy((leveldb_iterator_t*)(uintptr_t)0xfffffffffffffffa);
    CHECK(last_error_is(CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(!leveldb_iter_valid(NULL) && leveldb_create_snapshot(NULL) == NULL);

    /* An iterator and a snapshot that outlive their database. */
    leveldb_close(db);
    CHECK(leveldb_get(db, NULL, "granite", 7, &len, &error) == NULL);
    CHECK(starts(error, "IO error: closed: the database was closed"));
    leveldb_close(db);
    CHECK(last_error_is(CAIRNDB_ERROR_CLOSED));
    leveldb_iter_next(iter);
    CHECK(!leveldb_iter_valid(iter));
    leveldb_iter_get_error(iter, &error);
    CHECK(starts(error, "IO error: closed: "));
    leveldb_iter_destroy(iter);
    leveldb_iter_destroy(iter);
    CHECK(last_error_is(CAIRNDB_ERROR_CLOSED));
    leveldb_iter_get_error(iter, &error);
    CHECK(starts(error, "IO error: closed: the iterator was destroyed"));
    leveldb_release_snapshot(db, snapshot);
    leveldb_release_snapshot(db, snapshot);
    CHECK(last_error_is(CAIRNDB_ERROR_CLOSED));
    leveldb_free(error);

    /* The slot is used again, the handle is not. */
    leveldb_t* again = open_at("misused", options);
    CHECK(again != db);
    leveldb_close(again);
    leveldb_close(other);
    leveldb_readoptions_destroy(reading);
    leveldb_options_destroy(options);
}

static void forked_children(void) {
    leveldb_options_t* options = creating();
    leveldb_t* db = open_at("forked", options);
    put(db, "granite", "grey");
    leveldb_iterator_t* iter = leveldb_create_iterator(db, NULL);
    leveldb_iter_seek_to_first(iter);
    pid_t child = fork();
    if (child == 0) {
        char* error = NULL;
        CHECK(leveldb_get(db, NULL, "granite", 7, NULL, &error) == NULL);
        CHECK(starts(error, "IO error: forked: "));
        leveldb_put(db, NULL, "granite", 7, "red", 3, &error);
        CHECK(starts(error, "IO error: forked: "));
        CHECK(!leveldb_iter_valid(iter) && leveldb_iter_key(iter, NULL) == NULL);
        CHECK(last_error_is(CAIRNDB_ERROR_FORKED));
        leveldb_close(db);
        CHECK(last_error_is(CAIRNDB_ERROR_FORKED));
        leveldb_t* own = open_at("of the child", options);
        put(own, "granite", "red");
        leveldb_close(own);
        fflush(NULL);
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(leveldb_iter_valid(iter) && has(db, NULL, "granite", "grey"));
    leveldb_iter_destroy(iter);
    leveldb_close(db);
    leveldb_options_destroy(options);
}

/* ---- Callbacks ---- */

static int reverse(void* state, const char* a, size_t alen, const char* b, size_t blen) {
    int order = memcmp(a, b, alen < blen ? alen : blen);
    __atomic_add_fetch((long*)state, 1, __ATOMIC_RELAXED);
    if (order == 0) order = alen < blen ? -1 : alen > blen;
    return -order;
}

static const char* reverse_name(void* state) {
    (void)state;
    return "test.Reverse";
}

static void destroyed(void* state) { *(long*)state = -1; }

struct writer {
    leveldb_t* db;
    int number;
};

static void* write_many(void* argument) {
    struct writer* writer = argument;
    for (int n = 0; n < 2000; n++) {
        char key[40];
        snprintf(key, sizeof key, "%d.%06d", writer->number, n);
        put(writer->db, key, key);
        if (n % 100 == 0) CHECK(has(writer->db, NULL, key, key));
    }
    return NULL;
}

static void comparators(void) {
    long calls = 0;
    leveldb_options_t* options = creating();
    leveldb_options_set_write_buffer_size(options, 1);
    leveldb_comparator_t* order =
        leveldb_comparator_create(&calls, destroyed, reverse, reverse_name);
    CHECK(leveldb_comparator_create(NULL, NULL, NULL, reverse_name) == NULL);
    leveldb_options_set_comparator(options, order);
    leveldb_t* db = open_at("reverse", options);
    pthread_t threads[4];
    struct writer writers[4];
    for (int n = 0; n < 4; n++) {
        writers[n] = (struct writer){db, n};
        CHECK(pthread_create(&threads[n], NULL, write_many, &writers[n]) == 0);
    }
    for (int n = 0; n < 4; n++) pthread_join(threads[n], NULL);
    leveldb_compact_range(db, NULL, 0, NULL, 0);
    CHECK(calls > 8000);
    leveldb_iterator_t* iter = leveldb_create_iterator(db, NULL);
    leveldb_iter_seek_to_first(iter);
    size_t len;
    CHECK(memcmp(leveldb_iter_key(iter, &len), "3.001999", 8) == 0 && len == 8);
    long found = 0;
    for (; leveldb_iter_valid(iter); leveldb_iter_next(iter)) found++;
    CHECK(found == 8000);
    leveldb_iter_destroy(iter);

    /* The database and the options keep the comparator. */
    leveldb_comparator_destroy(order);
    CHECK(calls != -1 && has(db, NULL, "3.000000", "3.000000"));
    leveldb_close(db);
    leveldb_options_destroy(options);
    CHECK(calls == -1);

    options = leveldb_options_create();
    char* error = NULL;
    CHECK(leveldb_open(options, below("reverse"), &error) == NULL);
    CHECK(starts(error, "Invalid argument: "));
    leveldb_free(error);
    leveldb_options_destroy(options);
}

static const char* name_of_state(void* state) { return state; }

static int bytewise(void* state, const char* a, size_t alen, const char* b, size_t blen) {
    (void)state;
    int order = memcmp(a, b, alen < blen ? alen : blen);
    return order != 0 ? order : alen < blen ? -1 : alen > blen;
}

static void kept(void* state) { (void)state; }

/* Names that LevelDB stores, and that are not short text. */
static void names_of_comparators(void) {
    static char names[3][400];
    for (int n = 0; n < 3; n++) memset(names[n], 'n', sizeof names[n] - 1);
    names[1][390] = 'm';
    strcpy(names[2], "\377");
    for (int n = 0; n < 3; n++) {
        char* error = NULL;
        leveldb_options_t* options = creating();
        leveldb_comparator_t* order =
            leveldb_comparator_create(names[n], kept, bytewise, name_of_state);
        leveldb_options_set_comparator(options, order);
        leveldb_comparator_destroy(order);
        if (n == 0) leveldb_close(open_at("named", options));
        leveldb_t* db = leveldb_open(options, below("named"), &error);
        CHECK((db != NULL) == (n == 0));
        if (db != NULL) leveldb_close(db);
        else CHECK(starts(error, "Invalid argument: "));
        leveldb_free(error);
        leveldb_options_destroy(options);
    }
}

static char* never_create(void* state, const char* const* keys, const size_t* lens, int count,
                          size_t* len) {
    (void)state, (void)keys, (void)lens, (void)count, (void)len;
    abort();
}

static uint8_t never_match(void* state, const char* key, size_t len, const char* filter,
                           size_t filter_len) {
    (void)state, (void)key, (void)len, (void)filter, (void)filter_len;
    abort();
}

static void filters(void) {
    long state = 0;
    leveldb_options_t* options = creating();
    leveldb_filterpolicy_t* policy =
        leveldb_filterpolicy_create(&state, destroyed, never_create, never_match, reverse_name);
    leveldb_options_set_filter_policy(options, policy);
    leveldb_t* db = open_at("filters", options);
    put(db, "granite", "grey");
    leveldb_compact_range(db, NULL, 0, NULL, 0);
    CHECK(has(db, NULL, "granite", "grey") && has(db, NULL, "opal", NULL) && state == 0);
    leveldb_close(db);
    leveldb_filterpolicy_destroy(policy);
    CHECK(state == -1);
    static const int bits[] = {-1, 0, 1, 10, 1000};
    for (size_t n = 0; n < sizeof bits / sizeof *bits; n++) {
        policy = leveldb_filterpolicy_create_bloom(bits[n]);
        leveldb_options_set_filter_policy(options, policy);
        leveldb_filterpolicy_destroy(policy);
        db = open_at("filters", options);
        CHECK(has(db, NULL, "granite", "grey"));
        leveldb_close(db);
    }
    leveldb_options_destroy(options);
}

static void repairs(void) {
    leveldb_options_t* options = creating();
    leveldb_t* db = open_at("broken", options);
    put(db, "granite", "grey");
    leveldb_close(db);
    char* error = NULL;
    struct stat status;
    for (int n = 1; n <= 2; n++) {
        CHECK(unlink(below("broken/CURRENT")) == 0);
        leveldb_repair_db(options, below("broken"), &error);
        CHECK(error == NULL);
        db = open_at("broken", options);
        CHECK(has(db, NULL, "granite", "grey"));
        leveldb_close(db);
        snprintf(buffer, sizeof buffer, "%s/broken.damaged-%d", path, n);
        CHECK(stat(buffer, &status) == 0 && S_ISDIR(status.st_mode));
    }
    CHECK(stat(below("broken.damaged-1/CURRENT"), &status) != 0);
    leveldb_repair_db(options, below("nothing"), &error);
    CHECK(error != NULL && stat(below("nothing.damaged-1"), &status) != 0);
    leveldb_free(error);
    leveldb_options_destroy(options);
}

static void other_objects(void) {
    leveldb_env_t* env = leveldb_create_default_env();
    char* directory = leveldb_env_get_test_directory(env);
    struct stat status;
    CHECK(directory != NULL && stat(directory, &status) == 0 && S_ISDIR(status.st_mode));
    leveldb_free(directory);
    leveldb_env_destroy(env);
    leveldb_env_destroy(NULL);
    leveldb_free(NULL);
    leveldb_options_destroy(NULL);
    leveldb_options_set_cache(NULL, NULL);
    CHECK(leveldb_major_version() == 1 && leveldb_minor_version() == 23);
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    snprintf(path, sizeof path, "%s", argv[1]);
    errors_and_ownership();
    properties();
    batches();
    misused_handles();
    forked_children();
    comparators();
    names_of_comparators();
    filters();
    repairs();
    other_objects();
    puts("PASS");
    return 0;
}
