// The cache of NewLRUCache, recognised when a database is opened.
#ifndef CAIRNDB_CPP_CACHE_H_
#define CAIRNDB_CPP_CACHE_H_

#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>

#include "leveldb/cache.h"

namespace leveldb {

// A cache for the caller's own entries. A database takes only the capacity from it.
//
// One lock guards everything; only callers that use the cache themselves ever wait for it.
class LruCache final : public Cache {
public:
    explicit LruCache(size_t capacity) : capacity_(capacity) {}
    ~LruCache() override;

    size_t capacity() const { return capacity_; }

    Handle* Insert(const Slice& key, void* value, size_t charge,
                   void (*deleter)(const Slice& key, void* value)) override;
    Handle* Lookup(const Slice& key) override;
    void Release(Handle* handle) override;
    void* Value(Handle* handle) override;
    void Erase(const Slice& key) override;
    uint64_t NewId() override;
    void Prune() override;
    size_t TotalCharge() const override;

private:
    struct Entry : Handle {
        std::string key;
        void* value;
        size_t charge;
        void (*deleter)(const Slice& key, void* value);
        // Handles of callers, and one while the table names the entry.
        size_t references;
        bool in_table;
        // Valid while only the table refers to the entry.
        std::list<Entry*>::iterator unused_at;
    };

    void Drop(Entry* entry);
    void Forget(Entry* entry);
    void Shrink();

    const size_t capacity_;
    mutable std::mutex mutex_;
    size_t used_ = 0;
    uint64_t last_id_ = 0;
    std::unordered_map<std::string, Entry*> table_;
    // Entries to which only the table refers, the one that was used last at the end.
    std::list<Entry*> unused_;
};

}  // namespace leveldb

#endif  // CAIRNDB_CPP_CACHE_H_
