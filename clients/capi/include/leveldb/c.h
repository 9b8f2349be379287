/* The C interface of LevelDB 1.23, implemented by CairnDB.
 *
 * A program written for LevelDB compiles against this header and links with CairnDB's library
 * without a change. "cairndb.h" declares what LevelDB does not have.
 *
 * MEMORY. Strings and values that a function returns, and error texts, come from malloc: free them
 * with leveldb_free or free. Keys and values that an iterator returns belong to it and are valid
 * until its next move or its destruction. Keys, values and paths that a program passes are copied;
 * the library keeps no pointer to them.
 *
 * ERRORS. A function with a last parameter `errptr` reports an error there: *errptr must be NULL or
 * the text of an earlier error, which is freed and replaced. Without an error it is left alone. The
 * text starts with one of LevelDB's categories: "Corruption: ", "Invalid argument: ", "IO error: ",
 * "Not implemented: ". Errors of all other functions, and those for which errptr is NULL, are kept
 * for the thread; cairndb_last_error of "cairndb.h" returns the last one.
 *
 * HANDLES. leveldb_t, leveldb_iterator_t, leveldb_snapshot_t and leveldb_writebatch_t are handles:
 * numbers, not addresses. Each call checks them. NULL, a handle that was destroyed already, a
 * handle of another kind, and any handle after its database was closed are errors, after which the
 * function has done nothing and returns 0 or NULL. A child process that was forked cannot use its
 * parent's handles either: the error says so, and the child opens the database itself. All other
 * objects (options, comparators, filter policies, caches, environments) are addresses, and must be
 * live. Where LevelDB requires an object for options, NULL stands for the defaults here.
 *
 * THREADS. All threads may use one database, and one snapshot, at the same time. An iterator and a
 * batch are used by one thread at a time, as in LevelDB; using one from a callback of its own call
 * is an error. All other objects must not be changed by one thread while another uses them.
 *
 * CALLBACKS. Functions that a program passes must return: an exception must not leave them, nor
 * longjmp. The functions of a comparator are called by any thread, also by several at once.
 *
 * BOOLEANS are one byte: 0 is false, anything else true; the library returns 0 and 1.
 */
#ifndef CAIRNDB_LEVELDB_C_H_
#define CAIRNDB_LEVELDB_C_H_

#include <stddef.h>
#include <stdint.h>

#if !defined(LEVELDB_EXPORT)
#if defined(__GNUC__)
#define LEVELDB_EXPORT __attribute__((visibility("default")))
#else
#define LEVELDB_EXPORT
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leveldb_t leveldb_t;
typedef struct leveldb_iterator_t leveldb_iterator_t;
typedef struct leveldb_snapshot_t leveldb_snapshot_t;
typedef struct leveldb_writebatch_t leveldb_writebatch_t;
typedef struct leveldb_options_t leveldb_options_t;
typedef struct leveldb_readoptions_t leveldb_readoptions_t;
typedef struct leveldb_writeoptions_t leveldb_writeoptions_t;
typedef struct leveldb_comparator_t leveldb_comparator_t;
typedef struct leveldb_filterpolicy_t leveldb_filterpolicy_t;
typedef struct leveldb_cache_t leveldb_cache_t;
typedef struct leveldb_env_t leveldb_env_t;
typedef struct leveldb_logger_t leveldb_logger_t;
/* Names that LevelDB's header declares and no function uses. */
typedef struct leveldb_filelock_t leveldb_filelock_t;
typedef struct leveldb_randomfile_t leveldb_randomfile_t;
typedef struct leveldb_seqfile_t leveldb_seqfile_t;
typedef struct leveldb_writablefile_t leveldb_writablefile_t;

/* ---- Databases ---- */

/* Opens the database in directory `name`; returns NULL after an error.
 *
 * A directory that LevelDB has written is converted in place first, which takes time and space: its
 * entries are read once and written once. LevelDB's files stay in its subdirectory
 * leveldb-original/, and LevelDB cannot open the result. cairndb_leveldb_upgrade of "cairndb.h"
 * does the same with progress reports. A database that is open already, here or in another process,
 * is an error, as is a damaged one: leveldb_repair_db keeps what is intact. */
LEVELDB_EXPORT leveldb_t* leveldb_open(const leveldb_options_t* options, const char* name,
                                       char** errptr);

/* Closes the database, and makes everything written durable. The handle is invalid afterwards, and
 * so are reads through its iterators and snapshots, which must still be destroyed. */
LEVELDB_EXPORT void leveldb_close(leveldb_t* db);

/* Sets `key` (at most 64 MiB) to `val` (at most 1 GiB). */
LEVELDB_EXPORT void leveldb_put(leveldb_t* db, const leveldb_writeoptions_t* options,
                                const char* key, size_t keylen, const char* val, size_t vallen,
                                char** errptr);

/* Removes `key`. It is no error if there is none. */
LEVELDB_EXPORT void leveldb_delete(leveldb_t* db, const leveldb_writeoptions_t* options,
                                   const char* key, size_t keylen, char** errptr);

/* Applies all writes of `batch`, or none. The batch keeps its writes. */
LEVELDB_EXPORT void leveldb_write(leveldb_t* db, const leveldb_writeoptions_t* options,
                                  leveldb_writebatch_t* batch, char** errptr);

/* Returns the value of `key` for the caller to free, and its length in *vallen. Returns NULL, with
 * length 0, if there is no value, and after an error. */
LEVELDB_EXPORT char* leveldb_get(leveldb_t* db, const leveldb_readoptions_t* options,
                                 const char* key, size_t keylen, size_t* vallen, char** errptr);

/* Returns an iterator that is not yet on an entry. Later writes are not visible to it. */
LEVELDB_EXPORT leveldb_iterator_t* leveldb_create_iterator(leveldb_t* db,
                                                           const leveldb_readoptions_t* options);

/* Returns a snapshot of everything written so far. */
LEVELDB_EXPORT const leveldb_snapshot_t* leveldb_create_snapshot(leveldb_t* db);

/* Releases a snapshot. `db` is the handle it was taken with, which may be closed by now. */
LEVELDB_EXPORT void leveldb_release_snapshot(leveldb_t* db, const leveldb_snapshot_t* snapshot);

/* Returns a property as a string for the caller to free, or NULL if there is none of this name.
 *
 * LevelDB's names answer in LevelDB's layout: "leveldb.num-files-at-level<N>", "leveldb.stats",
 * "leveldb.sstables", "leveldb.approximate-memory-usage". Level 1 stands for the last run, level 0
 * for all others, levels 2 to 6 are empty. Names that begin with "cairndb." return JSON;
 * docs/guide/properties.md lists them. */
LEVELDB_EXPORT char* leveldb_property_value(leveldb_t* db, const char* propname);

/* Stores in sizes[i] how many bytes the keys from range_start_key[i] to before range_limit_key[i]
 * take on disk, approximately. What has not been flushed yet is not counted. */
LEVELDB_EXPORT void leveldb_approximate_sizes(leveldb_t* db, int num_ranges,
                                              const char* const* range_start_key,
                                              const size_t* range_start_key_len,
                                              const char* const* range_limit_key,
                                              const size_t* range_limit_key_len, uint64_t* sizes);

/* Compacts the keys from `start_key` to `limit_key`, both included. NULL stands for the first, or
 * the last. */
LEVELDB_EXPORT void leveldb_compact_range(leveldb_t* db, const char* start_key,
                                          size_t start_key_len, const char* limit_key,
                                          size_t limit_key_len);

/* ---- Databases that are not open ---- */

/* Removes the database in directory `name`, and the directory, if nothing else is in it. A missing
 * directory is no error, an open database is one.
 *
 * Removed are the files whose contents identify them as CairnDB's. In a directory that was
 * converted, LevelDB's files in leveldb-original/ are removed, too, because the conversion made
 * that copy. In a directory of LevelDB that was not converted, LevelDB's files are removed, as by
 * LevelDB. Everything else stays; a directory that holds no database is an error. */
LEVELDB_EXPORT void leveldb_destroy_db(const leveldb_options_t* options, const char* name,
                                       char** errptr);

/* Repairs the database in directory `name`: keeps every entry that is intact.
 *
 * The damaged directory is not changed. It stays beside the repaired one under the first unused
 * name of NAME.damaged-1, NAME.damaged-2 and so on; remove it when you no longer need it. The two
 * change names in one step, once the repaired database is durable. A directory of LevelDB becomes a
 * database of CairnDB. cairndb_repair of "cairndb.h" also returns a report of what was lost. */
LEVELDB_EXPORT void leveldb_repair_db(const leveldb_options_t* options, const char* name,
                                      char** errptr);

/* ---- Iterators ---- */

/* Destroys an iterator. */
LEVELDB_EXPORT void leveldb_iter_destroy(leveldb_iterator_t* iter);
/* Returns whether the iterator is on an entry. */
LEVELDB_EXPORT uint8_t leveldb_iter_valid(const leveldb_iterator_t* iter);
/* Moves to the first entry. */
LEVELDB_EXPORT void leveldb_iter_seek_to_first(leveldb_iterator_t* iter);
/* Moves to the last entry. */
LEVELDB_EXPORT void leveldb_iter_seek_to_last(leveldb_iterator_t* iter);
/* Moves to the first entry whose key is `k` or follows it. */
LEVELDB_EXPORT void leveldb_iter_seek(leveldb_iterator_t* iter, const char* k, size_t klen);
/* Moves to the next entry. Does nothing if the iterator is not on one. */
LEVELDB_EXPORT void leveldb_iter_next(leveldb_iterator_t* iter);
/* Moves to the previous entry. Does nothing if the iterator is not on one. */
LEVELDB_EXPORT void leveldb_iter_prev(leveldb_iterator_t* iter);
/* Returns the key of the entry, and its length in *klen. NULL if there is no entry. */
LEVELDB_EXPORT const char* leveldb_iter_key(const leveldb_iterator_t* iter, size_t* klen);
/* Returns the value of the entry, and its length in *vlen. NULL if there is no entry. */
LEVELDB_EXPORT const char* leveldb_iter_value(const leveldb_iterator_t* iter, size_t* vlen);
/* Reports the error of the last move, if it failed. */
LEVELDB_EXPORT void leveldb_iter_get_error(const leveldb_iterator_t* iter, char** errptr);

/* ---- Batches ---- */

/* Returns an empty batch. */
LEVELDB_EXPORT leveldb_writebatch_t* leveldb_writebatch_create(void);
/* Destroys a batch. */
LEVELDB_EXPORT void leveldb_writebatch_destroy(leveldb_writebatch_t* batch);
/* Removes all writes of the batch. */
LEVELDB_EXPORT void leveldb_writebatch_clear(leveldb_writebatch_t* batch);
/* Adds a put. A key or value that is too long is reported by leveldb_write. */
LEVELDB_EXPORT void leveldb_writebatch_put(leveldb_writebatch_t* batch, const char* key,
                                           size_t klen, const char* val, size_t vlen);
/* Adds a deletion. */
LEVELDB_EXPORT void leveldb_writebatch_delete(leveldb_writebatch_t* batch, const char* key,
                                              size_t klen);
/* Calls `put` or `deleted` for each write, in order. They must not use the batch. Merge operands,
 * which only "cairndb.h" adds, are passed over. */
LEVELDB_EXPORT void leveldb_writebatch_iterate(
    const leveldb_writebatch_t* batch, void* state,
    void (*put)(void* state, const char* k, size_t klen, const char* v, size_t vlen),
    void (*deleted)(void* state, const char* k, size_t klen));
/* Adds the writes of `source` to `destination`. */
LEVELDB_EXPORT void leveldb_writebatch_append(leveldb_writebatch_t* destination,
                                              const leveldb_writebatch_t* source);

/* ---- Options ---- */

/* Returns LevelDB's defaults: a missing database is an error, 12 MiB of memory, compression. */
LEVELDB_EXPORT leveldb_options_t* leveldb_options_create(void);
/* Destroys options. A database keeps what it was opened with. */
LEVELDB_EXPORT void leveldb_options_destroy(leveldb_options_t* options);
/* Sets the order of keys; NULL for the bytewise order. Its name is stored in the database. */
LEVELDB_EXPORT void leveldb_options_set_comparator(leveldb_options_t* options,
                                                   leveldb_comparator_t* comparator);
/* Sets the number of filter bits per key, if the policy is of leveldb_filterpolicy_create_bloom.
 * Every table has a filter, of 10 bits per key unless set: also with NULL and with a policy of the
 * caller, which is never consulted. */
LEVELDB_EXPORT void leveldb_options_set_filter_policy(leveldb_options_t* options,
                                                      leveldb_filterpolicy_t* policy);
/* Sets whether a missing database is created. */
LEVELDB_EXPORT void leveldb_options_set_create_if_missing(leveldb_options_t* options,
                                                          uint8_t create);
/* Sets whether an existing database is an error. */
LEVELDB_EXPORT void leveldb_options_set_error_if_exists(leveldb_options_t* options, uint8_t error);
/* Sets the memory for writes, in bytes. The memory budget of the database is this and the capacity
 * of the cache together, and at least 256 KiB. */
LEVELDB_EXPORT void leveldb_options_set_write_buffer_size(leveldb_options_t* options, size_t bytes);
/* Sets the memory for reads to the capacity of a cache; NULL for 8 MiB. A cache is only this number
 * here: databases that are opened with the same cache do not share it. */
LEVELDB_EXPORT void leveldb_options_set_cache(leveldb_options_t* options, leveldb_cache_t* cache);

enum { leveldb_no_compression = 0, leveldb_snappy_compression = 1 };

/* Sets whether values are compressed. Snappy stands for CairnDB's own compression. */
LEVELDB_EXPORT void leveldb_options_set_compression(leveldb_options_t* options, int compression);

/* Accepted, without effect:
 *   paranoid_checks         damage of what was durable is always an error
 *   env                     there is one environment, the operating system
 *   info_log                nothing is logged
 *   max_open_files          mapped tables need no descriptors, and the others are few
 *   block_size              pages have 4096 bytes
 *   block_restart_interval  pages have no restart points
 *   max_file_size           the length of tables follows from the memory budget */
LEVELDB_EXPORT void leveldb_options_set_paranoid_checks(leveldb_options_t* options,
                                                        uint8_t paranoid);
LEVELDB_EXPORT void leveldb_options_set_env(leveldb_options_t* options, leveldb_env_t* env);
LEVELDB_EXPORT void leveldb_options_set_info_log(leveldb_options_t* options,
                                                 leveldb_logger_t* logger);
LEVELDB_EXPORT void leveldb_options_set_max_open_files(leveldb_options_t* options, int files);
LEVELDB_EXPORT void leveldb_options_set_block_size(leveldb_options_t* options, size_t bytes);
LEVELDB_EXPORT void leveldb_options_set_block_restart_interval(leveldb_options_t* options,
                                                               int interval);
LEVELDB_EXPORT void leveldb_options_set_max_file_size(leveldb_options_t* options, size_t bytes);

/* ---- Options of reads and writes ---- */

/* Returns options for reads of the current state. */
LEVELDB_EXPORT leveldb_readoptions_t* leveldb_readoptions_create(void);
/* Destroys options. */
LEVELDB_EXPORT void leveldb_readoptions_destroy(leveldb_readoptions_t* options);
/* Sets the snapshot to read; NULL for the current state. */
LEVELDB_EXPORT void leveldb_readoptions_set_snapshot(leveldb_readoptions_t* options,
                                                     const leveldb_snapshot_t* snapshot);
/* Without effect: every byte is verified when it is first read after an open. */
LEVELDB_EXPORT void leveldb_readoptions_set_verify_checksums(leveldb_readoptions_t* options,
                                                             uint8_t verify);
/* Without effect: mapped tables are cached by the operating system. */
LEVELDB_EXPORT void leveldb_readoptions_set_fill_cache(leveldb_readoptions_t* options,
                                                       uint8_t fill);

/* Returns options for writes that survive the death of the process, but are not synced. */
LEVELDB_EXPORT leveldb_writeoptions_t* leveldb_writeoptions_create(void);
/* Destroys options. */
LEVELDB_EXPORT void leveldb_writeoptions_destroy(leveldb_writeoptions_t* options);
/* Sets whether a write returns only once it survives a power failure. */
LEVELDB_EXPORT void leveldb_writeoptions_set_sync(leveldb_writeoptions_t* options, uint8_t sync);

/* ---- Objects of options ---- */

/* Returns an order of keys. `compare` returns a negative number, 0 or a positive one, as memcmp
 * does; the order must be total and never change. `name` returns a string that lives as long as
 * `state`; it is called at each open. A name that is not UTF-8, or is longer than 255 bytes, is
 * stored as its start and a hash. `destructor` is called with `state` once the comparator was
 * destroyed and no options and no database use it, on any thread. Returns NULL if `compare` or
 * `name` is NULL. */
LEVELDB_EXPORT leveldb_comparator_t* leveldb_comparator_create(
    void* state, void (*destructor)(void*),
    int (*compare)(void*, const char* a, size_t alen, const char* b, size_t blen),
    const char* (*name)(void*));
/* Destroys a comparator. */
LEVELDB_EXPORT void leveldb_comparator_destroy(leveldb_comparator_t* comparator);

/* Returns a filter policy of which only `destructor` is ever called, when it is destroyed. */
LEVELDB_EXPORT leveldb_filterpolicy_t* leveldb_filterpolicy_create(
    void* state, void (*destructor)(void*),
    char* (*create_filter)(void*, const char* const* key_array, const size_t* key_length_array,
                           int num_keys, size_t* filter_length),
    uint8_t (*key_may_match)(void*, const char* key, size_t length, const char* filter,
                             size_t filter_length),
    const char* (*name)(void*));
/* Returns a policy of 1 to 100 filter bits per key. */
LEVELDB_EXPORT leveldb_filterpolicy_t* leveldb_filterpolicy_create_bloom(int bits_per_key);
/* Destroys a policy. */
LEVELDB_EXPORT void leveldb_filterpolicy_destroy(leveldb_filterpolicy_t* policy);

/* Returns a cache of this many bytes. */
LEVELDB_EXPORT leveldb_cache_t* leveldb_cache_create_lru(size_t capacity);
/* Destroys a cache. */
LEVELDB_EXPORT void leveldb_cache_destroy(leveldb_cache_t* cache);

/* Returns the default environment, the operating system. */
LEVELDB_EXPORT leveldb_env_t* leveldb_create_default_env(void);
/* Destroys an environment. */
LEVELDB_EXPORT void leveldb_env_destroy(leveldb_env_t* env);
/* Returns a directory for tests, which is created, as a string for the caller to free. */
LEVELDB_EXPORT char* leveldb_env_get_test_directory(leveldb_env_t* env);

/* ---- Other functions ---- */

/* Frees memory that a function has returned; NULL is allowed. */
LEVELDB_EXPORT void leveldb_free(void* memory);
/* Returns 1: the interface is LevelDB 1.23's. */
LEVELDB_EXPORT int leveldb_major_version(void);
/* Returns 23. */
LEVELDB_EXPORT int leveldb_minor_version(void);

#ifdef __cplusplus
}
#endif

#endif
