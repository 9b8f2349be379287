/* Tests of "cairndb.h". Arguments: an empty directory. Prints PASS. */
#include <sys/stat.h>

#include "check.h"
#include "leveldb/c.h"

static void errors(void) {
    CHECK(strcmp(cairndb_version(), "0.1.0") == 0 && CAIRNDB_VERSION_MINOR == 1);
    CHECK(cairndb_error_get_kind(NULL) == CAIRNDB_ERROR_NONE && cairndb_error_file(NULL) == NULL);
    CHECK(cairndb_error_offset(NULL) == CAIRNDB_NO_OFFSET && *cairndb_error_message(NULL) == 0);
    cairndb_db* db = (cairndb_db*)path;
    CHECK(fails(cairndb_open(NULL, below("missing"), &db), CAIRNDB_ERROR_NOT_FOUND) && db == NULL);
    CHECK(fails(cairndb_open(NULL, NULL, &db), CAIRNDB_ERROR_INVALID_ARGUMENT));
    cairndb_options* options = cairndb_options_create();
    cairndb_options_set_durability(options, 77);
    CHECK(fails(cairndb_open(options, below("missing"), &db), CAIRNDB_ERROR_INVALID_ARGUMENT));
    cairndb_options_destroy(options);
    cairndb_options_destroy(NULL);

    /* A damaged file is named, with the offset. */
    options = cairndb_options_create();
    db = open_at("damaged", options);
    put(db, "granite", "grey");
    ok(cairndb_close(db));
    snprintf(buffer[0], sizeof buffer[0], "%s/damaged/CURRENT", path);
    FILE* file = fopen(buffer[0], "w");
    CHECK(file != NULL && fputs("nonsense", file) >= 0 && fclose(file) == 0);
    cairndb_error* error = cairndb_open(options, below("damaged"), &db);
    CHECK(cairndb_error_get_kind(error) == CAIRNDB_ERROR_CORRUPTION);
    CHECK(cairndb_error_file(error) != NULL && strstr(cairndb_error_message(error), "CURRENT"));
    cairndb_error_destroy(error);
    cairndb_options_destroy(options);
}

static void reads(void) {
    cairndb_options* options = cairndb_options_create();
    cairndb_options_set_compression(options, CAIRNDB_COMPRESSION_NONE);
    cairndb_db* db = open_at("reads", options);
    put(db, "granite", "grey");
    cairndb_snapshot* snapshot;
    ok(cairndb_snapshot_create(db, &snapshot));
    put(db, "granite", "red");
    CHECK(has(db, snapshot, "granite", "grey") && has(db, NULL, "granite", "red"));

    char small[3];
    size_t len;
    bool found;
    ok(cairndb_get_into(db, snapshot, "granite", 7, small, sizeof small, &len, &found));
    CHECK(found && len == 4);
    ok(cairndb_get_into(db, NULL, "granite", 7, small, sizeof small, &len, &found));
    CHECK(found && len == 3 && memcmp(small, "red", 3) == 0);
    ok(cairndb_get_into(db, NULL, "opal", 4, NULL, 0, NULL, &found));
    CHECK(!found);
    ok(cairndb_contains(db, snapshot, "granite", 7, &found));
    CHECK(found);

    /* A large value outlives its key and its database. */
    size_t large = 200000;
    char* bytes = malloc(large);
    memset(bytes, 7, large);
    ok(cairndb_put(db, "large", 5, bytes, large, CAIRNDB_DURABILITY_SYNC));
    ok(cairndb_flush(db));
    cairndb_value* value;
    ok(cairndb_get(db, NULL, "large", 5, &value));
    ok(cairndb_delete(db, "large", 5, CAIRNDB_DURABILITY_OS));

    const char* keys[] = {"granite", "opal", "granite"};
    size_t lens[] = {7, 4, 7};
    cairndb_value* values[3];
    cairndb_error* errors[3];
    ok(cairndb_multi_get(db, NULL, 3, keys, lens, values, errors));
    CHECK(values[1] == NULL && cairndb_value_len(values[0]) == 3);
    for (int n = 0; n < 3; n++) {
        CHECK(errors[n] == NULL);
        cairndb_value_destroy(values[n]);
    }
    ok(cairndb_multi_get(db, snapshot, 3, keys, lens, values, NULL));
    CHECK(cairndb_value_len(values[2]) == 4);
    for (int n = 0; n < 3; n++) cairndb_value_destroy(values[n]);
    CHECK(fails(cairndb_multi_get(db, NULL, 3, NULL, lens, values, NULL),
                CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_get(db, NULL, "k", 1, NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_put(db, "k", 1, "v", 1, 9), CAIRNDB_ERROR_INVALID_ARGUMENT));

    ok(cairndb_close(db));
    CHECK(cairndb_value_len(value) == large && memcmp(cairndb_value_data(value), bytes, large) == 0);
    cairndb_value_destroy(value);
    free(bytes);
    CHECK(fails(cairndb_contains(db, snapshot, "granite", 7, &found), CAIRNDB_ERROR_CLOSED));
    CHECK(!found);
    ok(cairndb_snapshot_release(snapshot));
    CHECK(fails(cairndb_snapshot_release(snapshot), CAIRNDB_ERROR_CLOSED));
    CHECK(fails(cairndb_close(db), CAIRNDB_ERROR_CLOSED));
    CHECK(fails(cairndb_flush(NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    cairndb_options_destroy(options);
}

static void iterators(void) {
    cairndb_options* options = cairndb_options_create();
    cairndb_db* db = open_at("iterators", options);
    for (int n = 0; n < 1000; n++) {
        char key[20];
        snprintf(key, sizeof key, "%04d", n);
        put(db, key, key);
    }
    cairndb_iter* iter;
    ok(cairndb_iter_create(db, NULL, &iter));
    CHECK(!cairndb_iter_valid(iter));
    size_t len = 1;
    CHECK(cairndb_iter_key(iter, &len) == NULL && len == 0);
    cairndb_error_destroy(cairndb_last_error());
    ok(cairndb_iter_seek_for_prev(iter, "0500x", 5));
    CHECK(memcmp(cairndb_iter_key(iter, &len), "0500", 4) == 0 && len == 4);
    ok(cairndb_iter_prev(iter));
    CHECK(memcmp(cairndb_iter_value(iter, NULL), "0499", 4) == 0);
    ok(cairndb_iter_seek_to_last(iter));
    ok(cairndb_iter_next(iter));
    ok(cairndb_iter_next(iter));
    CHECK(!cairndb_iter_valid(iter));

    ok(cairndb_iter_seek(iter, "0010", 4));
    cairndb_entry entries[64];
    int seen = 10;
    size_t count;
    do {
        ok(cairndb_iter_next_n(iter, 64, entries, &count));
        for (size_t at = 0; at < count; at++, seen++) {
            char key[20];
            snprintf(key, sizeof key, "%04d", seen);
            CHECK(entries[at].key_len == 4 && memcmp(entries[at].key, key, 4) == 0);
            CHECK(entries[at].value_len == 4 && memcmp(entries[at].value, key, 4) == 0);
        }
    } while (count > 0);
    CHECK(seen == 1000);
    /* It continues where single steps do. */
    ok(cairndb_iter_seek_to_first(iter));
    ok(cairndb_iter_next_n(iter, 5, entries, &count));
    CHECK(count == 5 && memcmp(cairndb_iter_key(iter, &len), "0005", 4) == 0);
    CHECK(fails(cairndb_iter_next_n(iter, 5, NULL, &count), CAIRNDB_ERROR_INVALID_ARGUMENT));

    uint64_t bytes;
    ok(cairndb_compact_range(db, NULL, 0, NULL, 0));
    ok(cairndb_approximate_size(db, "0", 1, NULL, 0, &bytes));
    CHECK(bytes > 0);
    ok(cairndb_close(db));
    CHECK(fails(cairndb_iter_next(iter), CAIRNDB_ERROR_CLOSED));
    CHECK(!cairndb_iter_valid(iter));
    CHECK(fails(cairndb_iter_next_n(iter, 5, entries, &count), CAIRNDB_ERROR_CLOSED));
    CHECK(count == 0);
    ok(cairndb_iter_destroy(iter));
    CHECK(fails(cairndb_iter_destroy(iter), CAIRNDB_ERROR_CLOSED));
    cairndb_options_destroy(options);
}

static void take(void* state, cairndb_write_kind kind, const char* key, size_t key_len,
                 const char* value, size_t value_len) {
    char* seen = state;
    sprintf(seen + strlen(seen), "%u%.*s%.*s,", kind, (int)key_len, key, (int)value_len, value);
}

/* Joins operands with commas. */
static bool join(void* state, const char* key, size_t key_len, const char* base, size_t base_len,
                 const char* const* operands, const size_t* operand_lens, size_t operand_count,
                 cairndb_buffer* result) {
    (void)state, (void)key, (void)key_len;
    if (base != NULL) cairndb_buffer_append(result, base, base_len);
    for (size_t at = 0; at < operand_count; at++) {
        if (operand_lens[at] == 4 && memcmp(operands[at], "fail", 4) == 0) return false;
        if (base != NULL || at > 0) cairndb_buffer_append(result, ",", 1);
        cairndb_buffer_append(result, operands[at], operand_lens[at]);
    }
    return true;
}

static bool combine(void* state, const char* key, size_t key_len, const char* const* operands,
                    const size_t* operand_lens, size_t operand_count, cairndb_buffer* result) {
    return join(state, key, key_len, NULL, 0, operands, operand_lens, operand_count, result);
}

static bool not_empty(void* state, const char* operand, size_t operand_len) {
    (void)state, (void)operand;
    return operand_len > 0;
}

static void destroyed(void* state) { *(int*)state = -1; }

static void merges(void) {
    int state = 0;
    cairndb_options* options = cairndb_options_create();
    cairndb_merge_operator* joined =
        cairndb_merge_operator_create(&state, destroyed, "test.join", join, combine, not_empty);
    CHECK(joined != NULL);
    CHECK(cairndb_merge_operator_create(NULL, NULL, "test.join", NULL, NULL, NULL) == NULL);
    CHECK(fails(cairndb_last_error(), CAIRNDB_ERROR_INVALID_ARGUMENT));
    cairndb_options_set_merge_operator(options, joined);
    cairndb_merge_operator_destroy(joined);
    cairndb_db* db = open_at("merges", options);
    put(db, "k", "a");
    ok(cairndb_merge(db, "k", 1, "b", 1, CAIRNDB_DURABILITY_DEFAULT));
    cairndb_batch* batch;
    ok(cairndb_batch_create(&batch));
    ok(cairndb_batch_merge(batch, "k", 1, "c", 1));
    ok(cairndb_batch_put(batch, "p", 1, "q", 1));
    ok(cairndb_batch_delete(batch, "x", 1));
    char seen[100] = "";
    ok(cairndb_batch_iterate(batch, seen, take));
    CHECK(strcmp(seen, "3kc,1pq,2x,") == 0);
    size_t count, bytes;
    ok(cairndb_batch_append(batch, batch));
    ok(cairndb_batch_size(batch, &count, &bytes));
    CHECK(count == 6 && bytes > 12);
    ok(cairndb_write(db, batch, CAIRNDB_DURABILITY_SYNC));
    CHECK(has(db, NULL, "k", "a,b,c,c"));
    ok(cairndb_compact_range(db, NULL, 0, NULL, 0));
    CHECK(has(db, NULL, "k", "a,b,c,c"));
    CHECK(fails(cairndb_merge(db, "k", 1, "", 0, CAIRNDB_DURABILITY_DEFAULT),
                CAIRNDB_ERROR_INVALID_ARGUMENT));
    ok(cairndb_merge(db, "bad", 3, "fail", 4, CAIRNDB_DURABILITY_DEFAULT));
    cairndb_value* value;
    CHECK(fails(cairndb_get(db, NULL, "bad", 3, &value), CAIRNDB_ERROR_INVALID_ARGUMENT));
    ok(cairndb_batch_clear(batch));
    ok(cairndb_batch_destroy(batch));
    CHECK(fails(cairndb_batch_destroy(batch), CAIRNDB_ERROR_CLOSED));
    ok(cairndb_close(db));
    CHECK(state == 0);
    cairndb_options_destroy(options);
    CHECK(state == -1);

    options = cairndb_options_create();
    cairndb_merge_operator* add = cairndb_merge_operator_add();
    cairndb_options_set_merge_operator(options, add);
    cairndb_merge_operator_destroy(add);
    db = open_at("counters", options);
    for (int n = 0; n < 3; n++) ok(cairndb_merge(db, "c", 1, "\7", 1, CAIRNDB_DURABILITY_NONE));
    CHECK(has(db, NULL, "c", "\25\0\0\0\0\0\0") == 0);
    ok(cairndb_get(db, NULL, "c", 1, &value));
    CHECK(cairndb_value_len(value) == 8 && *cairndb_value_data(value) == 21);
    cairndb_value_destroy(value);
    ok(cairndb_close(db));
    cairndb_options_destroy(options);
}

static int reverse(void* state, const char* a, size_t a_len, const char* b, size_t b_len) {
    (void)state;
    int order = memcmp(b, a, a_len < b_len ? a_len : b_len);
    return order != 0 ? order : (b_len > a_len) - (b_len < a_len);
}

static const char* reverse_name(void* state) { return (void)state, "test.reverse"; }

static void append_name(void* state, const char* name) {
    char* names = state;
    sprintf(names + strlen(names), "%s,", name);
}

/* Whether an iterator over a keyspace, from either end, sees these keys. */
static bool sees(cairndb_keyspace* keyspace, cairndb_snapshot* snapshot, bool backwards,
                 const char* keys) {
    cairndb_iter_options* options = cairndb_iter_options_create();
    cairndb_iter_options_set_snapshot(options, snapshot);
    cairndb_iter* iter;
    ok(cairndb_keyspace_iter_create(keyspace, options, &iter));
    cairndb_iter_options_destroy(options);
    char seen[100] = "";
    size_t len;
    ok(backwards ? cairndb_iter_seek_to_last(iter) : cairndb_iter_seek_to_first(iter));
    while (cairndb_iter_valid(iter)) {
        const char* key = cairndb_iter_key(iter, &len);
        strncat(seen, key, len);
        ok(backwards ? cairndb_iter_prev(iter) : cairndb_iter_next(iter));
    }
    ok(cairndb_iter_destroy(iter));
    return strcmp(seen, keys) == 0;
}

static void put_in(cairndb_keyspace* keyspace, const char* key, const char* value) {
    ok(cairndb_keyspace_put(keyspace, key, strlen(key), value, strlen(value),
                            CAIRNDB_DURABILITY_DEFAULT));
}

static void keyspaces(void) {
    cairndb_options* options = cairndb_options_create();
    cairndb_comparator* order =
        cairndb_comparator_create(NULL, NULL, reverse, reverse_name, true);
    cairndb_options_register_comparator(options, order);
    cairndb_comparator_destroy(order);
    cairndb_merge_operator* joined =
        cairndb_merge_operator_create(NULL, NULL, "test.join", join, combine, not_empty);
    cairndb_options_register_merge_operator(options, joined);
    cairndb_merge_operator_destroy(joined);
    cairndb_db* db = open_at("keyspaces", options);

    cairndb_keyspace_options* given = cairndb_keyspace_options_create();
    cairndb_keyspace_options_set_comparator(given, "test.reverse");
    cairndb_keyspace_options_set_merge_operator(given, "test.join");
    cairndb_keyspace_options_set_compression(given, CAIRNDB_COMPRESSION_NONE);
    cairndb_keyspace_options_set_value_bytes(given, 4);
    cairndb_keyspace *users, *notes, *other;
    ok(cairndb_keyspace_create(db, "notes", given, &notes));
    ok(cairndb_keyspace_create(db, "users", NULL, &users));
    char names[100] = "";
    ok(cairndb_keyspace_list(db, names, append_name));
    CHECK(strcmp(names, "notes,users,") == 0);

    /* A batch writes to all keyspaces or none; a snapshot sees all. */
    cairndb_snapshot* before;
    put_in(users, "a", "old");
    ok(cairndb_snapshot_create(db, &before));
    cairndb_batch* batch;
    ok(cairndb_batch_create(&batch));
    ok(cairndb_batch_put(batch, "a", 1, "default", 7));
    ok(cairndb_batch_put_in(batch, users, "a", 1, "new", 3));
    ok(cairndb_batch_put_in(batch, users, "b", 1, "", 0));
    ok(cairndb_batch_put_in(batch, notes, "a", 1, "x", 1));
    ok(cairndb_batch_merge_in(batch, notes, "b", 1, "y", 1));
    ok(cairndb_batch_delete_in(batch, notes, "c", 1));
    ok(cairndb_write(db, batch, CAIRNDB_DURABILITY_DEFAULT));
    ok(cairndb_keyspace_merge(notes, "b", 1, "z", 1, CAIRNDB_DURABILITY_DEFAULT));
    CHECK(has(db, NULL, "a", "default"));
    CHECK(sees(users, NULL, false, "ab") && sees(users, NULL, true, "ba"));
    CHECK(sees(notes, NULL, false, "ba") && sees(notes, NULL, true, "ab"));
    CHECK(sees(users, before, false, "a") && sees(notes, before, false, ""));
    cairndb_value* value;
    ok(cairndb_keyspace_get(users, before, "a", 1, &value));
    CHECK(cairndb_value_len(value) == 3 && memcmp(cairndb_value_data(value), "old", 3) == 0);
    cairndb_value_destroy(value);
    char small[8];
    size_t len;
    bool found;
    ok(cairndb_keyspace_get_into(notes, NULL, "b", 1, small, sizeof small, &len, &found));
    CHECK(found && len == 3 && memcmp(small, "y,z", 3) == 0);
    ok(cairndb_keyspace_get_into(notes, before, "b", 1, small, sizeof small, &len, &found));
    CHECK(!found);
    const char* keys[] = {"a", "b"};
    size_t lens[] = {1, 1};
    cairndb_value* values[2];
    ok(cairndb_keyspace_multi_get(users, before, 2, keys, lens, values, NULL));
    CHECK(cairndb_value_len(values[0]) == 3 && values[1] == NULL);
    cairndb_value_destroy(values[0]);
    ok(cairndb_keyspace_delete(users, "b", 1, CAIRNDB_DURABILITY_SYNC));
    ok(cairndb_keyspace_contains(users, NULL, "b", 1, &found));
    CHECK(!found);

    /* Bad names and options. */
    char long_name[257];
    memset(long_name, 'n', 256);
    long_name[256] = 0;
    const char* bad[] = {"", long_name, "\xff", NULL};
    for (int n = 0; n < 4; n++) {
        other = users;
        CHECK(fails(cairndb_keyspace_create(db, bad[n], NULL, &other),
                    CAIRNDB_ERROR_INVALID_ARGUMENT));
        CHECK(other == NULL);
        CHECK(fails(cairndb_keyspace_open(db, bad[n], &other), CAIRNDB_ERROR_INVALID_ARGUMENT));
    }
    CHECK(fails(cairndb_keyspace_open(db, "unknown", &other), CAIRNDB_ERROR_NOT_FOUND));
    CHECK(fails(cairndb_keyspace_drop(db, "unknown"), CAIRNDB_ERROR_NOT_FOUND));
    CHECK(fails(cairndb_keyspace_create(db, "users", NULL, &other),
                CAIRNDB_ERROR_INVALID_ARGUMENT));
    cairndb_keyspace_options_set_compression(given, 77);
    CHECK(fails(cairndb_keyspace_create(db, "x", given, &other), CAIRNDB_ERROR_INVALID_ARGUMENT));
    cairndb_keyspace_options_destroy(given);
    CHECK(fails(cairndb_keyspace_put((cairndb_keyspace*)db, "a", 1, "b", 1, 0),
                CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_put((cairndb_db*)users, "a", 1, "b", 1, 0),
                CAIRNDB_ERROR_INVALID_ARGUMENT));

    /* Dropped: calls and batches fail whole. */
    ok(cairndb_keyspace_drop(db, "users"));
    ok(cairndb_keyspace_create(db, "users", NULL, &other));
    CHECK(fails(cairndb_keyspace_put(users, "a", 1, "b", 1, 0), CAIRNDB_ERROR_CLOSED));
    CHECK(fails(cairndb_keyspace_get(users, before, "a", 1, &value), CAIRNDB_ERROR_CLOSED));
    put(db, "a", "again");
    CHECK(fails(cairndb_write(db, batch, CAIRNDB_DURABILITY_DEFAULT), CAIRNDB_ERROR_CLOSED));
    CHECK(has(db, NULL, "a", "again") && sees(other, NULL, false, ""));
    ok(cairndb_keyspace_close(users));
    CHECK(fails(cairndb_keyspace_close(users), CAIRNDB_ERROR_CLOSED));
    CHECK(fails(cairndb_batch_put_in(batch, users, "a", 1, "b", 1), CAIRNDB_ERROR_CLOSED));
    ok(cairndb_batch_destroy(batch));
    ok(cairndb_snapshot_release(before));
    ok(cairndb_close(db));
    CHECK(fails(cairndb_keyspace_get(other, NULL, "a", 1, &value), CAIRNDB_ERROR_CLOSED));
    ok(cairndb_keyspace_close(other));
    ok(cairndb_keyspace_close(notes));
    cairndb_options_destroy(options);
    CHECK(fails(cairndb_open(NULL, below("keyspaces"), &db), CAIRNDB_ERROR_INVALID_ARGUMENT));
}

static void whole_databases(void) {
    cairndb_options* options = cairndb_options_create();
    cairndb_db* db = open_at("whole", options);
    cairndb_open_report report;
    ok(cairndb_get_open_report(db, &report));
    CHECK(report.created && report.replayed_records == 0);
    put(db, "granite", "grey");
    ok(cairndb_sync(db));
    ok(cairndb_checkpoint(db, below("checkpoint")));
    bool done = false;
    ok(cairndb_wait_idle(db, 600000, &done));
    CHECK(done);
    char* property;
    ok(cairndb_property(db, "cairndb.space", &property));
    CHECK(strstr(property, "\"total_bytes\":") != NULL);
    free(property);
    ok(cairndb_property(db, "unknown", &property));
    CHECK(property == NULL);
    static const char* figures[][2] = {{"cairndb.memory", "total"}, {"cairndb.memory", "budget"},
                                       {"cairndb.space", "total_bytes"}};
    for (size_t n = 0; n < sizeof figures / sizeof *figures; n++) {
        uint64_t number = 0;
        ok(cairndb_figure(db, figures[n][0], figures[n][1], &number));
        CHECK(number > 0);
    }
    uint64_t stalls = 1;
    ok(cairndb_figure(db, "cairndb.stalls", "memtable.count", &stalls));
    CHECK(stalls == 0);
    CHECK(fails(cairndb_figure(db, "cairndb.space", "nothing", &stalls),
                CAIRNDB_ERROR_INVALID_ARGUMENT));
    ok(cairndb_close(db));

    cairndb_verify_report verified;
    ok(cairndb_verify(below("checkpoint"), options, &verified));
    CHECK(verified.entries == 1 && verified.versions == 1);
    ok(cairndb_verify(below("whole"), NULL, NULL));
    cairndb_options_set_read_only(options, true);
    ok(cairndb_open(options, below("checkpoint"), &db));
    CHECK(has(db, NULL, "granite", "grey"));
    CHECK(fails(cairndb_delete(db, "granite", 7, 0), CAIRNDB_ERROR_READ_ONLY));
    ok(cairndb_close(db));
    ok(cairndb_destroy(below("checkpoint"), options));
    struct stat status;
    CHECK(stat(below("checkpoint"), &status) != 0);
    cairndb_leveldb_plan_report plan;
    CHECK(fails(cairndb_leveldb_plan(below("whole"), NULL, &plan), CAIRNDB_ERROR_INVALID_ARGUMENT));
    uint64_t converted = 1;
    ok(cairndb_leveldb_upgrade(below("whole"), NULL, NULL, NULL, &converted));
    CHECK(converted == 0);
    cairndb_options_destroy(options);
}

/* The two headers have the same handles. */
static void both_headers(void) {
    cairndb_options* options = cairndb_options_create();
    cairndb_db* db = open_at("both", options);
    char* error = NULL;
    leveldb_put((leveldb_t*)db, NULL, "granite", 7, "grey", 4, &error);
    CHECK(error == NULL && has(db, NULL, "granite", "grey"));
    leveldb_iterator_t* iter = leveldb_create_iterator((leveldb_t*)db, NULL);
    ok(cairndb_iter_seek_to_first((cairndb_iter*)iter));
    CHECK(leveldb_iter_valid(iter));
    leveldb_iter_destroy(iter);
    leveldb_close((leveldb_t*)db);
    CHECK(fails(cairndb_close(db), CAIRNDB_ERROR_CLOSED));
    cairndb_options_destroy(options);
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    snprintf(path, sizeof path, "%s", argv[1]);
    errors();
    reads();
    iterators();
    merges();
    keyspaces();
    whole_databases();
    both_headers();
    puts("PASS");
    return 0;
}
