// Cache, and the cache of NewLRUCache.
#include "plain/cache.h"

namespace leveldb {

Cache::~Cache() = default;

// Every handle must have been released.
LruCache::~LruCache() {
    for (auto& named : table_) {
        assert(named.second->references == 1);
        named.second->deleter(named.second->key, named.second->value);
        delete named.second;
    }
}

// Gives up one reference. An entry that nobody refers to any more is deleted; one that only the
// table refers to may be evicted from now on.
void LruCache::Drop(Entry* entry) {
    assert(entry->references > 0);
    entry->references--;
    if (entry->references == 0) {
        entry->deleter(entry->key, entry->value);
        delete entry;
    } else if (entry->in_table && entry->references == 1) {
        entry->unused_at = unused_.insert(unused_.end(), entry);
    }
}

// Removes an entry from the table.
void LruCache::Forget(Entry* entry) {
    table_.erase(entry->key);
    if (entry->references == 1) unused_.erase(entry->unused_at);
    entry->in_table = false;
    used_ -= entry->charge;
    Drop(entry);
}

void LruCache::Shrink() {
    while (used_ > capacity_ && !unused_.empty()) Forget(unused_.front());
}

Cache::Handle* LruCache::Insert(const Slice& key, void* value, size_t charge,
                                void (*deleter)(const Slice& key, void* value)) {
    std::lock_guard<std::mutex> lock(mutex_);
    Entry* entry = new Entry;
    entry->key = key.ToString();
    entry->value = value;
    entry->charge = charge;
    entry->deleter = deleter;
    entry->references = 1;
    entry->in_table = false;
    // Without capacity the caller's handle is the only reference.
    if (capacity_ > 0) {
        const auto found = table_.find(entry->key);
        if (found != table_.end()) Forget(found->second);
        table_.emplace(entry->key, entry);
        entry->in_table = true;
        entry->references++;
        used_ += charge;
        Shrink();
    }
    return entry;
}

Cache::Handle* LruCache::Lookup(const Slice& key) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = table_.find(key.ToString());
    if (found == table_.end()) return nullptr;
    Entry* entry = found->second;
    if (entry->references == 1) unused_.erase(entry->unused_at);
    entry->references++;
    return entry;
}

void LruCache::Release(Handle* handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    Drop(static_cast<Entry*>(handle));
}

void* LruCache::Value(Handle* handle) { return static_cast<Entry*>(handle)->value; }

void LruCache::Erase(const Slice& key) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = table_.find(key.ToString());
    if (found != table_.end()) Forget(found->second);
}

uint64_t LruCache::NewId() {
    std::lock_guard<std::mutex> lock(mutex_);
    return ++last_id_;
}

void LruCache::Prune() {
    std::lock_guard<std::mutex> lock(mutex_);
    while (!unused_.empty()) Forget(unused_.front());
}

size_t LruCache::TotalCharge() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return used_;
}

Cache* NewLRUCache(size_t capacity) { return new LruCache(capacity); }

}  // namespace leveldb
