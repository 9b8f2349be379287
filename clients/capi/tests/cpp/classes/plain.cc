// Status, WriteBatch, comparators, filter policies, caches, iterators without a database.
#include <memory>
#include <typeinfo>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/filter_policy.h"
#include "leveldb/iterator.h"
#include "leveldb/write_batch.h"
#include "values.h"

using namespace leveldb;

namespace {

void ShowStatus() {
    const std::vector<Status> all = {Status::OK(),
                                     Status::NotFound("key"),
                                     Status::Corruption("page", "7"),
                                     Status::NotSupported("this"),
                                     Status::InvalidArgument("that", ""),
                                     Status::IOError("file", "no such file")};
    for (const Status& status : all) {
        Status copy = status;
        Status moved = std::move(copy);
        copy = moved;
        Say("status", copy.ToString() + (copy.IsNotFound() ? " missing" : ""));
    }
    Say("sizes", sizeof(Options) * 1000000 + sizeof(ReadOptions) * 1000 + sizeof(WriteBatch));
    const Options options;
    Say("defaults", std::string(options.comparator->Name()) + " " +
                        std::to_string(options.write_buffer_size) + " " +
                        std::to_string(options.max_open_files) + " " +
                        std::to_string(options.block_size) + " " +
                        std::to_string(options.max_file_size) + " " +
                        std::to_string(options.compression) + " " +
                        std::to_string(options.create_if_missing));
}

class Printer : public WriteBatch::Handler {
public:
    void Put(const Slice& key, const Slice& value) override {
        Say("put", key.ToString() + "=" + value.ToString());
    }
    void Delete(const Slice& key) override { Say("delete", key.ToString()); }
};

void ShowBatch() {
    WriteBatch batch;
    Say("empty batch", batch.ApproximateSize());
    batch.Put("granite", std::string(300, 'g'));
    batch.Delete("slate");
    batch.Put("", "");
    WriteBatch other = batch;
    other.Put("marl", "soft");
    batch.Append(other);
    batch.Append(batch);
    Say("batch", batch.ApproximateSize());
    Printer printer;
    Say("iterate", batch.Iterate(&printer).ToString());
    // The bytes are the object: a batch is one string.
    static_assert(sizeof(WriteBatch) == sizeof(std::string), "a batch is its bytes");
    std::string* bytes = reinterpret_cast<std::string*>(&other);
    Say("bytes", bytes->substr(0, 32));
    const std::string whole = *bytes;
    for (size_t cut : {size_t{3}, size_t{12}, size_t{13}, size_t{20}, whole.size() - 1}) {
        *bytes = whole.substr(0, cut);
        Say("cut batch", other.Iterate(&printer).ToString());
    }
    *bytes = whole;
    (*bytes)[12] = 9;
    Say("wrong tag", other.Iterate(&printer).ToString());
    other.Clear();
    Say("cleared", other.ApproximateSize());
}

void ShowComparator() {
    const Comparator* bytewise = BytewiseComparator();
    Say("order", std::string(bytewise->Name()) + (bytewise->Compare("a", "b") < 0 ? " <" : " >"));
    const char* pairs[][2] = {{"abc", "abz"}, {"abc", "abd"}, {"abc", "abcd"}, {"", "b"}, {"a\xff", "c"}};
    for (const auto& pair : pairs) {
        std::string start = pair[0];
        bytewise->FindShortestSeparator(&start, pair[1]);
        Say("separator", start);
    }
    for (std::string key : {"abc", "\xff\xff", "\xff\x01", ""}) {
        bytewise->FindShortSuccessor(&key);
        Say("successor", key);
    }
    Say("type", typeid(*bytewise) == typeid(Comparator) ? "base" : "derived");
}

void ShowFilter() {
    for (const int bits : {1, 10, 100}) {
        const std::unique_ptr<const FilterPolicy> policy(NewBloomFilterPolicy(bits));
        std::vector<std::string> keys;
        std::vector<Slice> slices;
        for (int n = 0; n < 50; n++) keys.push_back(std::string(static_cast<size_t>(n), 'k') + "\xfe");
        for (const std::string& key : keys) slices.push_back(key);
        std::string filter = "kept";
        policy->CreateFilter(slices.data(), 50, &filter);
        Say(policy->Name(), filter);
        const Slice part(filter.data() + 4, filter.size() - 4);
        int matches = 0;
        for (int n = 0; n < 1000; n++) matches += policy->KeyMayMatch(std::to_string(n), part);
        Say("matches", static_cast<unsigned long long>(matches));
        for (const Slice& key : slices) {
            if (!policy->KeyMayMatch(key, part)) Say("missing", key.ToString());
        }
    }
}

void Deleted(const Slice& key, void* value) {
    Say("deleted", key.ToString() + " " + std::to_string(reinterpret_cast<size_t>(value)));
}

// Keys of one shard of LevelDB's cache would be needed to compare what it evicts, so only what both
// must do is printed.
void ShowCache() {
    const std::unique_ptr<Cache> cache(NewLRUCache(1 << 20));
    for (size_t n = 1; n <= 3; n++) {
        cache->Release(cache->Insert("key" + std::to_string(n), reinterpret_cast<void*>(n), 10, Deleted));
    }
    Cache::Handle* held = cache->Lookup("key2");
    Say("held", reinterpret_cast<size_t>(cache->Value(held)));
    Say("charge", cache->TotalCharge());
    cache->Erase("key2");
    Say("absent", cache->Lookup("key2") == nullptr);
    cache->Release(held);
    cache->Release(cache->Insert("key1", reinterpret_cast<void*>(7), 20, Deleted));
    Say("charge", cache->TotalCharge());
    const uint64_t id = cache->NewId();
    Say("ids differ", id != cache->NewId());
    held = cache->Lookup("key3");
    cache->Prune();
    Say("after prune", cache->TotalCharge());
    cache->Release(held);
    const std::unique_ptr<Cache> off(NewLRUCache(0));
    off->Release(off->Insert("off", reinterpret_cast<void*>(9), 1, Deleted));
    Say("without capacity", off->TotalCharge());
}

void Cleaned(void* name, void* number) {
    Say("cleaned", static_cast<const char*>(name) + std::to_string(reinterpret_cast<size_t>(number)));
}

void ShowIterators() {
    for (Iterator* iter : {NewEmptyIterator(), NewErrorIterator(Status::IOError("lost"))}) {
        for (size_t n = 0; n < 3; n++) {
            iter->RegisterCleanup(Cleaned, const_cast<char*>("iterator "), reinterpret_cast<void*>(n));
        }
        iter->SeekToFirst();
        Say("empty", iter->Valid() ? "valid" : iter->status().ToString());
        delete iter;
    }
}

}  // namespace

void ShowPlain() {
    ShowStatus();
    ShowBatch();
    ShowComparator();
    ShowFilter();
    ShowCache();
    ShowIterators();
}
