// Comparator, and the bytewise order.
#include "leveldb/comparator.h"

#include <algorithm>

#include "leveldb/slice.h"

namespace leveldb {

Comparator::~Comparator() = default;

namespace {

class Bytewise final : public Comparator {
public:
    int Compare(const Slice& a, const Slice& b) const override { return a.compare(b); }

    const char* Name() const override { return "leveldb.BytewiseComparator"; }

    // Shortens `start` to a key that is still below `limit`, if there is one: programs that build
    // their own orders on this one call it, the database does not.
    void FindShortestSeparator(std::string* start, const Slice& limit) const override {
        const size_t shorter = std::min(start->size(), limit.size());
        size_t same = 0;
        while (same < shorter && (*start)[same] == limit[same]) same++;
        if (same >= shorter) return;
        const unsigned char byte = static_cast<unsigned char>((*start)[same]);
        if (byte < 0xff && byte + 1 < static_cast<unsigned char>(limit[same])) {
            (*start)[same] = static_cast<char>(byte + 1);
            start->resize(same + 1);
        }
    }

    void FindShortSuccessor(std::string* key) const override {
        for (size_t at = 0; at < key->size(); at++) {
            const unsigned char byte = static_cast<unsigned char>((*key)[at]);
            if (byte != 0xff) {
                (*key)[at] = static_cast<char>(byte + 1);
                key->resize(at + 1);
                return;
            }
        }
    }
};

}  // namespace

const Comparator* BytewiseComparator() {
    // Never destroyed: databases may be closed while the process ends.
    static const Comparator* const bytewise = new Bytewise;
    return bytewise;
}

}  // namespace leveldb
