/* What the tests of "cairndb.h" share. */
#ifndef CAIRNDB_TESTS_C_CHECK_H_
#define CAIRNDB_TESTS_C_CHECK_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cairndb.h"

#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

static char path[2048];
static char buffer[2][4096];

static inline char* below(const char* name) {
    static int turn;
    char* text = buffer[turn++ % 2];
    snprintf(text, sizeof buffer[0], "%s/%s", path, name);
    return text;
}

/* Requires success. */
static inline void ok(cairndb_error* error) {
    if (error != NULL) {
        fprintf(stderr, "%s\n", cairndb_error_message(error));
        exit(1);
    }
}

/* Requires an error of this kind. */
static inline int fails(cairndb_error* error, cairndb_error_kind kind) {
    int same = cairndb_error_get_kind(error) == kind;
    if (!same) fprintf(stderr, "%s\n", cairndb_error_message(error));
    cairndb_error_destroy(error);
    return same;
}

static inline cairndb_db* open_at(const char* name, cairndb_options* options) {
    cairndb_db* db = NULL;
    cairndb_options_set_create_if_missing(options, true);
    ok(cairndb_open(options, below(name), &db));
    CHECK(db != NULL);
    return db;
}

static inline void put(cairndb_db* db, const char* key, const char* value) {
    ok(cairndb_put(db, key, strlen(key), value, strlen(value), CAIRNDB_DURABILITY_DEFAULT));
}

static inline int has(cairndb_db* db, cairndb_snapshot* snapshot, const char* key, const char* expected) {
    cairndb_value* value;
    ok(cairndb_get(db, snapshot, key, strlen(key), &value));
    int same = value == NULL ? expected == NULL
                             : expected != NULL && cairndb_value_len(value) == strlen(expected) &&
                                   memcmp(cairndb_value_data(value), expected, strlen(expected)) == 0;
    cairndb_value_destroy(value);
    return same;
}

#endif  /* CAIRNDB_TESTS_C_CHECK_H_ */
