/* Opens, writes, iterates, takes a snapshot and closes, many times; memory and descriptors must stay
 * the same over the last half.
 *
 * Arguments: an empty directory, a number of cycles. Prints PASS. */
#include "leveldb/c.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char* text) {
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static int descriptors(void) {
    DIR* directory = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(directory) != NULL) count++;
    closedir(directory);
    return count;
}

static long resident_kib(void) {
    FILE* file = fopen("/proc/self/statm", "r");
    long pages = 0, resident = 0;
    if (file == NULL || fscanf(file, "%ld %ld", &pages, &resident) != 2) fail("no statm");
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void cycle(leveldb_options_t* options, const char* path, unsigned long n) {
    char* error = NULL;
    leveldb_t* db = leveldb_open(options, path, &error);
    if (error != NULL) fail(error);
    const leveldb_snapshot_t* snapshot = leveldb_create_snapshot(db);
    leveldb_writebatch_t* batch = leveldb_writebatch_create();
    char key[32];
    for (unsigned long at = 0; at < 10; at++) {
        size_t len = (size_t)snprintf(key, sizeof key, "%lu", (n * 10 + at) % 1000);
        leveldb_writebatch_put(batch, key, len, key, len);
    }
    leveldb_write(db, NULL, batch, &error);
    if (error != NULL) fail(error);
    leveldb_writebatch_destroy(batch);
    leveldb_readoptions_t* reading = leveldb_readoptions_create();
    if (n % 2 == 0) leveldb_readoptions_set_snapshot(reading, snapshot);
    leveldb_iterator_t* iter = leveldb_create_iterator(db, reading);
    unsigned long entries = 0;
    leveldb_iter_seek_to_first(iter);
    for (; leveldb_iter_valid(iter) && entries < 50; leveldb_iter_next(iter)) entries++;
    if (n > 10 && entries != 50) fail("entries are missing");
    /* In either order: an iterator and a snapshot may outlive their database. */
    if (n % 3 == 0) leveldb_close(db);
    leveldb_iter_destroy(iter);
    leveldb_release_snapshot(db, snapshot);
    if (n % 3 != 0) leveldb_close(db);
    leveldb_readoptions_destroy(reading);
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    char path[4096];
    snprintf(path, sizeof path, "%s/db", argv[1]);
    unsigned long cycles = strtoul(argv[2], NULL, 10);
    leveldb_options_t* options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_write_buffer_size(options, 1 << 18);
    leveldb_cache_t* cache = leveldb_cache_create_lru(1 << 16);
    leveldb_options_set_cache(options, cache);
    long memory = 0;
    int files = 0;
    for (unsigned long n = 0; n < cycles; n++) {
        if (n == cycles / 2) {
            memory = resident_kib();
            files = descriptors();
        }
        cycle(options, path, n);
    }
    long more = resident_kib() - memory;
    printf("%lu cycles: %ld KiB, %+ld KiB over the last half; %d descriptors\n", cycles, memory,
           more, files);
    if (descriptors() != files) fail("descriptors are not closed");
    /* The allocator keeps a few free pages more or less. */
    if (more > 2048) fail("memory grows");
    leveldb_cache_destroy(cache);
    leveldb_options_destroy(options);
    puts("PASS");
    return 0;
}
