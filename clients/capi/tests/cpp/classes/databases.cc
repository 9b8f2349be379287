// Databases: writes, reads, snapshots, iterators, orders of the caller, repair and destroy.
#include <cstring>
#include <memory>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/write_batch.h"
#include "values.h"

using namespace leveldb;

namespace {

// The category of an error; the words after it differ.
std::string Category(const Status& status) {
    const std::string text = status.ToString();
    return text.substr(0, text.find(':'));
}

void ShowEntries(const char* name, DB* db, const ReadOptions& options) {
    const std::unique_ptr<Iterator> iter(db->NewIterator(options));
    std::string all;
    for (iter->SeekToFirst(); iter->Valid(); iter->Next()) {
        all += iter->key().ToString() + "=" + iter->value().ToString() + " ";
    }
    for (iter->SeekToLast(); iter->Valid(); iter->Prev()) all += iter->key().ToString() + " ";
    iter->Seek("m");
    all += iter->Valid() ? "seek " + iter->key().ToString() : "seek nothing";
    Say(name, all + " " + iter->status().ToString());
}

class Reverse : public Comparator {
public:
    int Compare(const Slice& a, const Slice& b) const override { return b.compare(a); }
    const char* Name() const override { return "test.Reverse"; }
    void FindShortestSeparator(std::string*, const Slice&) const override {}
    void FindShortSuccessor(std::string*) const override {}
};

class Quiet : public EnvWrapper {
public:
    explicit Quiet(Env* base) : EnvWrapper(base) {}
    Status NewLogger(const std::string&, Logger** result) override {
        *result = nullptr;
        return Status::OK();
    }
    uint64_t NowMicros() override { return 1700000000000000u; }
};

class Silent : public Logger {
public:
    void Logv(const char*, std::va_list) override {}
};

void ShowWrites(DB* db) {
    WriteOptions synced;
    synced.sync = true;
    Say("put", db->Put(WriteOptions(), "granite", "grey").ToString());
    Say("put", db->Put(synced, "slate", "blue").ToString());
    Say("put", db->Put(WriteOptions(), Slice("\0null", 5), Slice("\0", 1)).ToString());
    Say("put", db->Put(WriteOptions(), "", "").ToString());
    Say("put", db->Put(WriteOptions(), "large", std::string(300000, 'l')).ToString());
    Say("delete", db->Delete(WriteOptions(), "absent").ToString());
    WriteBatch batch;
    batch.Put("marl", "soft");
    batch.Delete("slate");
    batch.Put("basalt", "black");
    Say("write", db->Write(synced, &batch).ToString());
    std::string* bytes = reinterpret_cast<std::string*>(&batch);
    bytes->pop_back();
    Say("malformed batch", Category(db->Write(WriteOptions(), &batch)));
    Say("no batch", db->Write(WriteOptions(), nullptr).ToString());
}

void ShowReads(DB* db) {
    std::string value = "before";
    Say("get", db->Get(ReadOptions(), "granite", &value).ToString() + " " + value);
    Say("get", db->Get(ReadOptions(), "absent", &value).ToString());
    Say("get", db->Get(ReadOptions(), Slice("\0null", 5), &value).ToString() + " " + value);
    const Status large = db->Get(ReadOptions(), "large", &value);
    Say("get", large.ToString() + " " + std::to_string(value.size()) + value.substr(299990));
    Say("delete", db->Delete(WriteOptions(), "large").ToString());
    ReadOptions past;
    past.snapshot = db->GetSnapshot();
    db->Put(WriteOptions(), "granite", "red");
    db->Delete(WriteOptions(), "marl");
    Say("past", db->Get(past, "granite", &value).ToString() + " " + value);
    ShowEntries("past", db, past);
    ShowEntries("now", db, ReadOptions());
    db->ReleaseSnapshot(past.snapshot);
    Say("property", db->GetProperty("leveldb.stats", &value) && !value.empty());
    Say("property", db->GetProperty("leveldb.num-files-at-level0", &value));
    Say("property", db->GetProperty("leveldb.unknown", &value));
    const Slice from("a"), to("z");
    db->CompactRange(&from, &to);
    db->CompactRange(nullptr, nullptr);
    const Range ranges[2] = {Range("a", "z"), Range("y", "z")};
    uint64_t sizes[2] = {1, 1};
    db->GetApproximateSizes(ranges, 2, sizes);
    Say("sizes", sizes[0] > 0 && sizes[1] == 0);
    ShowEntries("compacted", db, ReadOptions());
}

// A database of the caller that inherits Put and Delete.
class Recorder : public DB {
public:
    Status Put(const WriteOptions& options, const Slice& key, const Slice& value) override {
        return DB::Put(options, key, value);
    }
    Status Delete(const WriteOptions& options, const Slice& key) override {
        return DB::Delete(options, key);
    }
    Status Write(const WriteOptions&, WriteBatch* updates) override {
        Say("recorded", updates->ApproximateSize());
        return Status::NotSupported("recorded");
    }
    Status Get(const ReadOptions&, const Slice&, std::string*) override { return Status::OK(); }
    Iterator* NewIterator(const ReadOptions&) override { return NewEmptyIterator(); }
    const Snapshot* GetSnapshot() override { return nullptr; }
    void ReleaseSnapshot(const Snapshot*) override {}
    bool GetProperty(const Slice&, std::string*) override { return false; }
    void GetApproximateSizes(const Range*, int, uint64_t*) override {}
    void CompactRange(const Slice*, const Slice*) override {}
};

DB* Open(const Options& options, const std::string& name) {
    DB* db = nullptr;
    Say("open", Category(DB::Open(options, name, &db)));
    return db;
}

void ShowFailures(const std::string& name, Options options) {
    options.create_if_missing = false;
    Say("missing", Open(options, name + "-missing") == nullptr);
    Say("locked", Open(options, name) == nullptr);
    options.error_if_exists = true;
    Say("exists", Open(options, name) == nullptr);
    Say("destroy an open one", Category(DestroyDB(name, options)));
}

}  // namespace

void ShowDatabases(const std::string& directory) {
    const std::string name = directory + "/database";
    Options options;
    const std::unique_ptr<Cache> cache(NewLRUCache(1 << 20));
    const std::unique_ptr<const FilterPolicy> filter(NewBloomFilterPolicy(10));
    Quiet quiet(Env::Default());
    Silent silent;
    options.create_if_missing = true;
    options.block_cache = cache.get();
    options.filter_policy = filter.get();
    options.env = &quiet;
    options.info_log = &silent;
    std::unique_ptr<DB> db(Open(options, name));
    ShowWrites(db.get());
    ShowReads(db.get());
    ShowFailures(name, options);
    db.reset();
    options.env = Env::Default();
    options.compression = kNoCompression;
    db.reset(Open(options, name));
    ShowEntries("reopened", db.get(), ReadOptions());
    db.reset();
    Say("repair", RepairDB(name, options).ToString());
    db.reset(Open(options, name));
    ShowEntries("repaired", db.get(), ReadOptions());
    db.reset();

    Reverse reverse;
    options.comparator = &reverse;
    Say("another order", Open(options, name) == nullptr);
    Options plain;
    Say("destroy", DestroyDB(name, plain).ToString());
    db.reset(Open(options, name));
    for (const char* key : {"a", "m", "n", "z"}) db->Put(WriteOptions(), key, key);
    ShowEntries("reverse", db.get(), ReadOptions());
    db.reset();
    Say("destroy", DestroyDB(name, options).ToString());

    Recorder recorder;
    Say("inherited", recorder.Put(WriteOptions(), "key", "value").ToString());
    Say("inherited", recorder.Delete(WriteOptions(), "key").ToString());
}
