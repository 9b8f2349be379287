/* CairnDB and LevelDB in one process, each loaded with RTLD_LOCAL: each works on its own database.
 *
 * Arguments: our library, LevelDB's, an empty directory. Prints PASS. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leveldb/c.h"

#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

#define ENTRIES 20000

/* The functions of one library. */
struct library {
    const char* name;
    char path[4096];
    void* handle;
    __typeof__(leveldb_open)* open;
    __typeof__(leveldb_close)* close;
    __typeof__(leveldb_put)* put;
    __typeof__(leveldb_get)* get;
    __typeof__(leveldb_free)* free;
    __typeof__(leveldb_options_create)* options_create;
    __typeof__(leveldb_options_destroy)* options_destroy;
    __typeof__(leveldb_options_set_create_if_missing)* set_create_if_missing;
    __typeof__(leveldb_options_set_write_buffer_size)* set_write_buffer_size;
    __typeof__(leveldb_writeoptions_create)* writeoptions_create;
    __typeof__(leveldb_writeoptions_destroy)* writeoptions_destroy;
    __typeof__(leveldb_readoptions_create)* readoptions_create;
    __typeof__(leveldb_readoptions_destroy)* readoptions_destroy;
    __typeof__(leveldb_create_iterator)* create_iterator;
    __typeof__(leveldb_iter_seek_to_first)* seek_to_first;
    __typeof__(leveldb_iter_valid)* valid;
    __typeof__(leveldb_iter_next)* next;
    __typeof__(leveldb_iter_destroy)* iter_destroy;
    __typeof__(leveldb_property_value)* property_value;
};

/* C has no conversion from an object pointer to a function pointer, but POSIX has. */
static void find(const struct library* library, const char* name, void* function) {
    void* found = dlsym(library->handle, name);
    if (found == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(found != NULL);
    memcpy(function, &found, sizeof found);
}

static void load(struct library* library, const char* file) {
    library->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(library->handle != NULL);
    find(library, "leveldb_open", &library->open);
    find(library, "leveldb_close", &library->close);
    find(library, "leveldb_put", &library->put);
    find(library, "leveldb_get", &library->get);
    find(library, "leveldb_free", &library->free);
    find(library, "leveldb_options_create", &library->options_create);
    find(library, "leveldb_options_destroy", &library->options_destroy);
    find(library, "leveldb_options_set_create_if_missing", &library->set_create_if_missing);
    find(library, "leveldb_options_set_write_buffer_size", &library->set_write_buffer_size);
    find(library, "leveldb_writeoptions_create", &library->writeoptions_create);
    find(library, "leveldb_writeoptions_destroy", &library->writeoptions_destroy);
    find(library, "leveldb_readoptions_create", &library->readoptions_create);
    find(library, "leveldb_readoptions_destroy", &library->readoptions_destroy);
    find(library, "leveldb_create_iterator", &library->create_iterator);
    find(library, "leveldb_iter_seek_to_first", &library->seek_to_first);
    find(library, "leveldb_iter_valid", &library->valid);
    find(library, "leveldb_iter_next", &library->next);
    find(library, "leveldb_iter_destroy", &library->iter_destroy);
    find(library, "leveldb_property_value", &library->property_value);
}

static leveldb_t* open_with(struct library* library) {
    char* error = NULL;
    leveldb_options_t* options = library->options_create();
    library->set_create_if_missing(options, 1);
    library->set_write_buffer_size(options, 1 << 17);
    leveldb_t* db = library->open(options, library->path, &error);
    if (error != NULL) fprintf(stderr, "%s: %s\n", library->name, error);
    CHECK(db != NULL);
    library->options_destroy(options);
    return db;
}

/* Writes, reads, iterates and reopens; both libraries do it at the same time. */
static void* work(void* argument) {
    struct library* library = argument;
    char* error = NULL;
    leveldb_t* db = open_with(library);
    leveldb_writeoptions_t* writing = library->writeoptions_create();
    leveldb_readoptions_t* reading = library->readoptions_create();
    char key[40];
    for (int n = 0; n < ENTRIES; n++) {
        int len = snprintf(key, sizeof key, "%06d of %s", n, library->name);
        library->put(db, writing, key, (size_t)len, key, (size_t)len, &error);
        CHECK(error == NULL);
    }
    library->close(db);
    db = open_with(library);
    size_t value_len;
    int len = snprintf(key, sizeof key, "%06d of %s", ENTRIES / 2, library->name);
    char* value = library->get(db, reading, key, (size_t)len, &value_len, &error);
    CHECK(error == NULL && value != NULL && value_len == (size_t)len);
    CHECK(memcmp(value, key, value_len) == 0);
    library->free(value);
    int entries = 0;
    leveldb_iterator_t* iter = library->create_iterator(db, reading);
    for (library->seek_to_first(iter); library->valid(iter); library->next(iter)) entries++;
    CHECK(entries == ENTRIES);
    library->iter_destroy(iter);
    library->readoptions_destroy(reading);
    library->writeoptions_destroy(writing);
    library->close(db);
    return NULL;
}

/* Returns whether the library has CairnDB's own properties. */
static int is_cairndb(struct library* library) {
    leveldb_t* db = open_with(library);
    char* value = library->property_value(db, "cairndb.space");
    int found = value != NULL;
    library->free(value);
    library->close(db);
    return found;
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    static struct library libraries[2] = {{.name = "cairndb"}, {.name = "leveldb"}};
    pthread_t threads[2];
    for (int n = 0; n < 2; n++) {
        struct library* library = &libraries[n];
        snprintf(library->path, sizeof library->path, "%s/%s", argv[3], library->name);
        load(library, argv[1 + n]);
    }
    CHECK(libraries[0].open != libraries[1].open);
    for (int n = 0; n < 2; n++) {
        CHECK(pthread_create(&threads[n], NULL, work, &libraries[n]) == 0);
    }
    for (int n = 0; n < 2; n++) pthread_join(threads[n], NULL);
    CHECK(is_cairndb(&libraries[0]) && !is_cairndb(&libraries[1]));
    printf("PASS\n");
    return 0;
}
