/* Tests of cairndb_fork, cairndb_snapshot_fork and cairndb_diff_*. Arguments: an empty directory.
 * Prints PASS. */
#include "check.h"

static cairndb_options* options;

/* Requires that `diff` is at the end. */
static void ends(cairndb_diff* diff) {
    cairndb_difference difference;
    bool found = true;
    ok(cairndb_diff_next(diff, &difference, &found));
    CHECK(!found);
    ok(cairndb_diff_destroy(diff));
}

static int same(const char* start, size_t len, const char* expected) {
    if (expected == NULL) return start == NULL && len == 0;
    return start != NULL && len == strlen(expected) && memcmp(start, expected, len) == 0;
}

/* Requires that the next difference is this one. */
static void next(cairndb_diff* diff, const char* keyspace, const char* key, const char* before,
                 const char* after) {
    cairndb_difference it;
    bool found = false;
    ok(cairndb_diff_next(diff, &it, &found));
    CHECK(found && same(it.key, it.key_len, key));
    CHECK(keyspace == NULL ? it.keyspace == NULL : strcmp(it.keyspace, keyspace) == 0);
    CHECK(same(it.before, it.before_len, before));
    CHECK(same(it.after, it.after_len, after));
}

static cairndb_diff* compare(cairndb_db* before, cairndb_db* after) {
    cairndb_diff* diff = NULL;
    ok(cairndb_diff_create(before, after, &diff));
    CHECK(diff != NULL);
    return diff;
}

/* Forks of a database and of a snapshot, and what differs in them. */
static void forks(void) {
    cairndb_db* db = open_at("db", options);
    put(db, "granite", "grey");
    put(db, "slate", "blue");
    cairndb_snapshot* before;
    ok(cairndb_snapshot_create(db, &before));
    put(db, "slate", "black");
    cairndb_fork_report report = {0};
    ok(cairndb_fork(db, below("fork"), &report));
    CHECK(report.shared > 0 && report.cloned == 0 && report.copied == 0 && report.copied_bytes == 0);
    ok(cairndb_snapshot_fork(before, below("earlier"), NULL));
    cairndb_db* fork = open_at("fork", options);
    cairndb_db* earlier = open_at("earlier", options);
    CHECK(has(fork, NULL, "slate", "black") && has(earlier, NULL, "slate", "blue"));
    ends(compare(db, fork));
    put(fork, "basalt", "");
    ok(cairndb_delete(fork, "granite", 7, CAIRNDB_DURABILITY_DEFAULT));
    cairndb_keyspace* shops;
    ok(cairndb_keyspace_create(fork, "shops", NULL, &shops));
    ok(cairndb_keyspace_put(shops, "7", 1, "open", 4, CAIRNDB_DURABILITY_DEFAULT));
    ok(cairndb_keyspace_close(shops));
    cairndb_diff* diff = compare(earlier, fork);
    put(fork, "zinc", "later");
    next(diff, NULL, "basalt", NULL, "");
    next(diff, NULL, "granite", "grey", NULL);
    next(diff, NULL, "slate", "blue", "black");
    next(diff, "shops", "7", NULL, "open");
    ends(diff);
    CHECK(has(db, NULL, "basalt", NULL) && has(db, NULL, "granite", "grey"));
    ok(cairndb_snapshot_release(before));
    ok(cairndb_close(earlier));
    ok(cairndb_close(fork));
    ok(cairndb_close(db));
}

/* What is refused. */
static void refusals(void) {
    cairndb_db* db = open_at("db", options);
    cairndb_fork_report report = {.shared = 7};
    CHECK(fails(cairndb_fork(db, below("fork"), &report), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(report.shared == 0);
    CHECK(fails(cairndb_fork(db, NULL, NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_fork(NULL, below("none"), NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_snapshot_fork(NULL, below("none"), NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    cairndb_diff* diff = (cairndb_diff*)db;
    CHECK(fails(cairndb_diff_create(db, NULL, &diff), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(diff == NULL);
    CHECK(fails(cairndb_diff_create(db, db, NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    cairndb_difference it;
    bool found = true;
    CHECK(fails(cairndb_diff_next((cairndb_diff*)db, &it, &found), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(!found);
    diff = compare(db, db);
    CHECK(fails(cairndb_diff_next(diff, NULL, &found), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_iter_destroy((cairndb_iter*)diff), CAIRNDB_ERROR_INVALID_ARGUMENT));
    ends(diff);
    CHECK(fails(cairndb_diff_next(diff, &it, &found), CAIRNDB_ERROR_CLOSED));
    CHECK(fails(cairndb_diff_destroy(diff), CAIRNDB_ERROR_CLOSED));
    /* Handles outlive their databases, and only end. */
    cairndb_db* fork = open_at("fork", options);
    diff = compare(db, fork);
    cairndb_snapshot* snapshot;
    ok(cairndb_snapshot_create(db, &snapshot));
    ok(cairndb_close(fork));
    ok(cairndb_close(db));
    CHECK(fails(cairndb_snapshot_fork(snapshot, below("none"), NULL), CAIRNDB_ERROR_CLOSED));
    CHECK(fails(cairndb_diff_next(diff, &it, &found), CAIRNDB_ERROR_CLOSED));
    ok(cairndb_diff_destroy(diff));
    ok(cairndb_snapshot_release(snapshot));
}

static int descending(void* state, const char* a, size_t a_len, const char* b, size_t b_len) {
    (void)state;
    int order = memcmp(b, a, a_len < b_len ? a_len : b_len);
    return order != 0 ? order : (a_len < b_len) - (a_len > b_len);
}

static const char* name(void* state) { return state; }

/* A reader has no files of its own to flush, and databases of different orders are not compared. */
static void other_opens(void) {
    cairndb_options* reads = cairndb_options_create();
    cairndb_options_set_read_only(reads, true);
    cairndb_db* reader = NULL;
    ok(cairndb_open(reads, below("db"), &reader));
    CHECK(fails(cairndb_fork(reader, below("none"), NULL), CAIRNDB_ERROR_READ_ONLY));
    cairndb_options* reverse = cairndb_options_create();
    cairndb_comparator* order = cairndb_comparator_create("descending", NULL, descending, name, true);
    cairndb_options_set_comparator(reverse, order);
    cairndb_db* other = open_at("other", reverse);
    cairndb_diff* diff = NULL;
    CHECK(fails(cairndb_diff_create(reader, other, &diff), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(diff == NULL);
    ok(cairndb_close(other));
    ok(cairndb_close(reader));
    cairndb_options_destroy(reverse);
    cairndb_comparator_destroy(order);
    cairndb_options_destroy(reads);
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    snprintf(path, sizeof path, "%s", argv[1]);
    options = cairndb_options_create();
    forks();
    refusals();
    other_opens();
    cairndb_options_destroy(options);
    puts("PASS");
    return 0;
}
