// FilterPolicy, and LevelDB's Bloom filter.
//
// The database has filters of its own. This one is for programs that call a policy themselves: its
// bits are LevelDB's, so that stored filters stay valid.
#include "plain/filter_policy.h"

#include <cstdint>

#include "leveldb/slice.h"

namespace leveldb {

FilterPolicy::~FilterPolicy() = default;

namespace {

// LevelDB's hash of a key, which resembles MurmurHash.
uint32_t HashOf(const Slice& key) {
    constexpr uint32_t kFactor = 0xc6a4a793;
    const unsigned char* bytes = reinterpret_cast<const unsigned char*>(key.data());
    const size_t length = key.size();
    uint32_t hash = 0xbc9f1d34 ^ static_cast<uint32_t>(length * kFactor);
    size_t at = 0;
    for (; at + 4 <= length; at += 4) {
        hash += bytes[at] | static_cast<uint32_t>(bytes[at + 1]) << 8 |
                static_cast<uint32_t>(bytes[at + 2]) << 16 |
                static_cast<uint32_t>(bytes[at + 3]) << 24;
        hash *= kFactor;
        hash ^= hash >> 16;
    }
    if (at == length) return hash;
    for (size_t last = length - at; last-- > 0;) {
        hash += static_cast<uint32_t>(bytes[at + last]) << (8 * last);
    }
    hash *= kFactor;
    return hash ^ hash >> 24;
}

// Calls `bit` for each bit of a key's probes until it returns false; returns whether it never did.
template <typename Bit>
bool EachProbe(const Slice& key, int probes, size_t bits, Bit bit) {
    uint32_t hash = HashOf(key);
    const uint32_t step = hash >> 17 | hash << 15;
    for (int probe = 0; probe < probes; probe++, hash += step) {
        if (!bit(hash % bits)) return false;
    }
    return true;
}

}  // namespace

BloomFilterPolicy::BloomFilterPolicy(int bits_per_key) : bits_per_key_(bits_per_key) {
    // ln 2 times the bits, rounded down.
    probes_ = static_cast<int>(static_cast<size_t>(bits_per_key) * 0.69);
    if (probes_ < 1) probes_ = 1;
    if (probes_ > 30) probes_ = 30;
}

const char* BloomFilterPolicy::Name() const { return "leveldb.BuiltinBloomFilter2"; }

void BloomFilterPolicy::CreateFilter(const Slice* keys, int n, std::string* dst) const {
    size_t bits = static_cast<size_t>(n) * static_cast<size_t>(bits_per_key_);
    if (bits < 64) bits = 64;
    const size_t bytes = (bits + 7) / 8;
    bits = bytes * 8;
    const size_t start = dst->size();
    dst->resize(start + bytes, '\0');
    dst->push_back(static_cast<char>(probes_));
    char* filter = &(*dst)[start];
    for (int key = 0; key < n; key++) {
        EachProbe(keys[key], probes_, bits, [filter](size_t bit) {
            filter[bit / 8] = static_cast<char>(filter[bit / 8] | 1 << bit % 8);
            return true;
        });
    }
}

bool BloomFilterPolicy::KeyMayMatch(const Slice& key, const Slice& filter) const {
    if (filter.size() < 2) return false;
    const size_t bits = (filter.size() - 1) * 8;
    const int probes = static_cast<unsigned char>(filter[filter.size() - 1]);
    // More probes than any version writes: a format of the future.
    if (probes > 30) return true;
    return EachProbe(key, probes, bits, [&filter](size_t bit) {
        return (filter[bit / 8] & 1 << bit % 8) != 0;
    });
}

const FilterPolicy* NewBloomFilterPolicy(int bits_per_key) {
    return new BloomFilterPolicy(bits_per_key);
}

}  // namespace leveldb
