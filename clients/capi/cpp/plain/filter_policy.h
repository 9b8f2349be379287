// The Bloom filter of NewBloomFilterPolicy, recognised when a database is opened.
#ifndef CAIRNDB_CPP_FILTER_POLICY_H_
#define CAIRNDB_CPP_FILTER_POLICY_H_

#include "leveldb/filter_policy.h"

namespace leveldb {

class BloomFilterPolicy final : public FilterPolicy {
public:
    explicit BloomFilterPolicy(int bits_per_key);

    // The number that the caller asked for: tables get as many filter bits per key.
    int bits_per_key() const { return bits_per_key_; }

    const char* Name() const override;
    void CreateFilter(const Slice* keys, int n, std::string* dst) const override;
    bool KeyMayMatch(const Slice& key, const Slice& filter) const override;

private:
    const int bits_per_key_;
    int probes_;
};

}  // namespace leveldb

#endif  // CAIRNDB_CPP_FILTER_POLICY_H_
