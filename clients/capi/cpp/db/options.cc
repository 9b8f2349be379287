// Options, and their translation for the C interface.
#include "db/options.h"

#include "leveldb/comparator.h"
#include "leveldb/env.h"
#include "leveldb/slice.h"
#include "plain/cache.h"
#include "plain/filter_policy.h"

namespace leveldb {

Options::Options() : comparator(BytewiseComparator()), env(Env::Default()) {}

namespace {

// The functions of a comparator of the caller. An exception must not cross the library: it ends the
// process.
const Comparator* OrderOf(void* state) { return static_cast<const Comparator*>(state); }

extern "C" int CallCompare(void* state, const char* a, size_t a_len, const char* b,
                           size_t b_len) noexcept {
    return OrderOf(state)->Compare(Slice(a, a_len), Slice(b, b_len));
}

extern "C" const char* CallName(void* state) noexcept { return OrderOf(state)->Name(); }

// The comparator belongs to the caller.
extern "C" void KeepComparator(void*) noexcept {}

}  // namespace

NativeOptions::NativeOptions(const Options& options) : options_(leveldb_options_create()) {
    leveldb_options_set_create_if_missing(options_, options.create_if_missing);
    leveldb_options_set_error_if_exists(options_, options.error_if_exists);
    leveldb_options_set_write_buffer_size(options_, options.write_buffer_size);
    leveldb_options_set_compression(options_, options.compression == kNoCompression
                                                  ? leveldb_no_compression
                                                  : leveldb_snappy_compression);
    SetComparator(options.comparator);
    SetFilterPolicy(options.filter_policy);
    SetCache(options.block_cache);
}

NativeOptions::~NativeOptions() { leveldb_options_destroy(options_); }

void NativeOptions::SetComparator(const Comparator* comparator) {
    if (comparator == nullptr || comparator == BytewiseComparator()) return;
    leveldb_comparator_t* order = leveldb_comparator_create(
        const_cast<Comparator*>(comparator), KeepComparator, CallCompare, CallName);
    leveldb_options_set_comparator(options_, order);
    // The options keep what they need.
    leveldb_comparator_destroy(order);
}

void NativeOptions::SetFilterPolicy(const FilterPolicy* policy) {
    const BloomFilterPolicy* bloom = dynamic_cast<const BloomFilterPolicy*>(policy);
    if (bloom == nullptr) return;
    leveldb_filterpolicy_t* native = leveldb_filterpolicy_create_bloom(bloom->bits_per_key());
    leveldb_options_set_filter_policy(options_, native);
    leveldb_filterpolicy_destroy(native);
}

void NativeOptions::SetCache(const Cache* cache) {
    const LruCache* lru = dynamic_cast<const LruCache*>(cache);
    if (lru == nullptr) return;
    leveldb_cache_t* native = leveldb_cache_create_lru(lru->capacity());
    leveldb_options_set_cache(options_, native);
    leveldb_cache_destroy(native);
}

}  // namespace leveldb
