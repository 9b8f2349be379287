/* CairnDB's own interface: a counter without reads, many entries a call, figures, errors.
 *
 * cc cairndb.c $(pkg-config --static --cflags --libs cairndb) -o cairndb && ./cairndb visits */
#include "cairndb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program after an error. */
static void check(cairndb_error* error) {
    if (error == NULL) return;
    fprintf(stderr, "%s\n", cairndb_error_message(error));
    if (cairndb_error_get_kind(error) == CAIRNDB_ERROR_CORRUPTION) {
        const char* file = cairndb_error_file(error);
        fprintf(stderr, "damaged: %s\n", file != NULL ? file : "unknown");
    }
    cairndb_error_destroy(error);
    exit(1);
}

int main(int argc, char** argv) {
    const char* path = argc > 1 ? argv[1] : "visits";
    cairndb_options* options = cairndb_options_create();
    cairndb_options_set_create_if_missing(options, true);
    cairndb_merge_operator* add = cairndb_merge_operator_add();
    cairndb_options_set_merge_operator(options, add);
    cairndb_merge_operator_destroy(add);
    cairndb_db* db;
    check(cairndb_open(options, path, &db));

    static const char* pages[] = {"index", "about", "index", "contact", "index"};
    for (size_t n = 0; n < sizeof pages / sizeof *pages; n++) {
        check(cairndb_merge(db, pages[n], strlen(pages[n]), "\1", 1, CAIRNDB_DURABILITY_OS));
    }
    check(cairndb_sync(db)); /* one sync for all of them */

    cairndb_iter* iter;
    check(cairndb_iter_create(db, NULL, &iter));
    check(cairndb_iter_seek_to_first(iter));
    cairndb_entry entries[100];
    size_t count;
    do {
        check(cairndb_iter_next_n(iter, 100, entries, &count));
        for (size_t n = 0; n < count; n++) {
            printf("%.*s: %d\n", (int)entries[n].key_len, entries[n].key, entries[n].value[0]);
        }
    } while (count > 0);
    check(cairndb_iter_destroy(iter));

    uint64_t memory;
    check(cairndb_figure(db, "cairndb.memory", "total", &memory));
    printf("memory below 64 MiB: %s\n", memory < 64 << 20 ? "yes" : "no");
    check(cairndb_close(db));
    check(cairndb_destroy(path, options));
    cairndb_options_destroy(options);
    return 0;
}
