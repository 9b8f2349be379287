/* Tests of cairndb_watch. Arguments: an empty directory. Prints PASS. */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "leveldb/c.h"

/* What the watched calls work on. */
static cairndb_options* options;
static cairndb_db* db;

/* A watcher's state: counts its calls, and stops the one after `limit` of them. */
typedef struct {
    uint64_t limit;
    uint64_t calls;
    uint64_t done;
    uint64_t total;
    cairndb_db* reads;
} watch;

static bool stops(void* state, uint64_t done, uint64_t total) {
    watch* seen = state;
    CHECK(done >= seen->done);
    seen->done = done;
    seen->total = total;
    if (seen->reads != NULL) CHECK(has(seen->reads, NULL, "00007", "granite"));
    return seen->calls++ >= seen->limit;
}

static bool exists(const char* name) {
    struct stat found;
    return stat(below(name), &found) == 0;
}

static void fill(cairndb_db* into) {
    for (int n = 0; n < 5000; n++) {
        char key[20];
        snprintf(key, sizeof key, "%05d", n);
        put(into, key, "granite");
    }
}

/* The error text of a function of "leveldb/c.h", as an error. */
static cairndb_error* taken(char* text) {
    if (text == NULL) return NULL;
    CHECK(strncmp(text, "IO error: interrupted: ", 23) == 0);
    leveldb_free(text);
    return cairndb_last_error();
}

static cairndb_error* verify(void* name) {
    return cairndb_verify(below(name), options, NULL);
}

static cairndb_error* repair(void* name) {
    cairndb_error* error = cairndb_repair(below(name), below("repaired"), options, 0, NULL);
    CHECK(exists("repaired") == (error == NULL));
    return error;
}

static cairndb_error* open_closed(void* name) {
    cairndb_db* opened = NULL;
    cairndb_error* error = cairndb_open(options, below(name), &opened);
    CHECK((opened == NULL) == (error != NULL));
    if (error == NULL) ok(cairndb_close(opened));
    return error;
}

static cairndb_error* flush(void* name) {
    (void)name;
    fill(db);
    return cairndb_flush(db);
}

static cairndb_error* compact(void* name) {
    (void)name;
    return cairndb_compact_range(db, NULL, 0, NULL, 0);
}

static cairndb_error* wait_idle(void* name) {
    (void)name;
    bool done;
    fill(db);
    return cairndb_wait_idle(db, 600000, &done);
}

static cairndb_error* checkpoint(void* name) {
    (void)name;
    cairndb_error* error = cairndb_checkpoint(db, below("copy"));
    CHECK(exists("copy") == (error == NULL));
    return error;
}

static cairndb_error* fork_database(void* name) {
    (void)name;
    cairndb_error* error = cairndb_fork(db, below("fork"), NULL);
    CHECK(exists("fork") == (error == NULL));
    return error;
}

static cairndb_diff* diff;

static cairndb_error* compare(void* name) {
    (void)name;
    cairndb_difference difference;
    bool found;
    cairndb_error* error = cairndb_diff_next(diff, &difference, &found);
    CHECK(!found);
    return error;
}

static cairndb_error* leveldb_compact(void* name) {
    (void)name;
    fill(db);
    leveldb_compact_range((leveldb_t*)db, NULL, 0, NULL, 0);
    return cairndb_last_error();
}

static cairndb_error* leveldb_repair(void* name) {
    char* text = NULL;
    leveldb_repair_db(NULL, below(name), &text);
    CHECK(exists("closed.damaged-1") == (text == NULL));
    return taken(text);
}

/* Leaves a log to replay: the process ends without closing its database. */
static void leave_a_log(const char* name) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        fill(open_at(name, options));
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Each long call is stopped, then repeated, which succeeds. */
static void long_calls(void) {
    static const struct {
        cairndb_error* (*call)(void*);
        const char* name;
    } cases[] = {
        {open_closed, "unclean"}, {verify, "closed"}, {repair, "closed"},
        {leveldb_repair, "closed"}, {flush, ""}, {compact, ""}, {checkpoint, ""},
        {fork_database, ""}, {compare, ""}, {leveldb_compact, ""}, {wait_idle, ""},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        void* name = (void*)cases[n].name;
        watch first = {.reads = NULL};
        CHECK(fails(cairndb_watch(&first, stops, name, cases[n].call), CAIRNDB_ERROR_INTERRUPTED));
        CHECK(first.calls == 1);
        watch whole = {.limit = UINT64_MAX, .reads = db};
        ok(cairndb_watch(&whole, stops, name, cases[n].call));
        CHECK(whole.calls > 0);
    }
}

/* A verify reports what it has read, and an estimate of everything. */
static void progress(void) {
    watch seen = {.limit = UINT64_MAX};
    ok(cairndb_watch(&seen, stops, "closed", verify));
    CHECK(seen.calls > 1 && seen.done > 0 && seen.done <= seen.total);
}

static cairndb_error* nested(void* state) {
    watch inner = {.limit = 0};
    CHECK(fails(cairndb_watch(&inner, stops, "closed", verify), CAIRNDB_ERROR_INTERRUPTED));
    CHECK(inner.calls == 1 && ((watch*)state)->calls == 0);
    return verify("closed");
}

static cairndb_error* refused(void* name) {
    return cairndb_open(options, below(name), &db);
}

static void functions(void) {
    watch seen = {.limit = UINT64_MAX};
    ok(cairndb_watch(&seen, stops, &seen, nested));
    CHECK(seen.calls > 0);
    CHECK(fails(cairndb_watch(NULL, NULL, NULL, nested), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_watch(NULL, stops, NULL, NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    cairndb_options_set_create_if_missing(options, false);
    CHECK(fails(cairndb_watch(&seen, stops, "missing", refused), CAIRNDB_ERROR_NOT_FOUND));
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    snprintf(path, sizeof path, "%s", argv[1]);
    options = cairndb_options_create();
    leave_a_log("unclean");
    db = open_at("closed", options);
    fill(db);
    ok(cairndb_close(db));
    db = open_at("open", options);
    fill(db);
    ok(cairndb_diff_create(db, db, &diff));
    long_calls();
    progress();
    ok(cairndb_diff_destroy(diff));
    ok(cairndb_close(db));
    functions();
    cairndb_options_destroy(options);
    puts("PASS");
    return 0;
}
