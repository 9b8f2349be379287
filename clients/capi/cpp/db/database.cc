// A database of the C library as a DB.
#include "db/database.h"

#include <memory>
#include <vector>

#include "db/errors.h"
#include "db/iterator.h"
#include "db/options.h"
#include "env/check.h"
#include "leveldb/env.h"
#include "leveldb/write_batch.h"
#include "plain/write_batch.h"

namespace leveldb {

Snapshot::~Snapshot() = default;
DB::~DB() = default;

// What a subclass of the caller inherits: a batch of one write.
Status DB::Put(const WriteOptions& options, const Slice& key, const Slice& value) {
    WriteBatch batch;
    batch.Put(key, value);
    return Write(options, &batch);
}

Status DB::Delete(const WriteOptions& options, const Slice& key) {
    WriteBatch batch;
    batch.Delete(key);
    return Write(options, &batch);
}

Status DB::Open(const Options& options, const std::string& name, DB** dbptr) {
    *dbptr = nullptr;
    const Status allowed = CheckEnv(options.env);
    if (!allowed.ok()) return allowed;
    const NativeOptions native(options);
    char* error = nullptr;
    leveldb_t* handle = leveldb_open(native.get(), name.c_str(), &error);
    if (handle == nullptr) return TakeStatus(error);
    Database* database = new Database(handle);
    database->LogOpen(options.info_log, name);
    *dbptr = database;
    return Status::OK();
}

namespace {

class DbSnapshot final : public Snapshot {
public:
    explicit DbSnapshot(cairndb_db* db) : error_(TakeStatus(cairndb_snapshot_create(db, &handle_))) {}

    ~DbSnapshot() override { cairndb_error_destroy(cairndb_snapshot_release(handle_)); }

    // Stores the handle to read with: NULL, the current state, without a snapshot. Returns why the
    // snapshot could not be taken; reading the current state instead would be a wrong answer.
    static Status HandleOf(const Snapshot* snapshot, const cairndb_snapshot** handle) {
        *handle = nullptr;
        if (snapshot == nullptr) return Status::OK();
        const DbSnapshot* taken = static_cast<const DbSnapshot*>(snapshot);
        *handle = taken->handle_;
        return taken->error_;
    }

private:
    cairndb_snapshot* handle_ = nullptr;
    const Status error_;
};

cairndb_durability DurabilityOf(const WriteOptions& options) {
    return options.sync ? CAIRNDB_DURABILITY_SYNC : CAIRNDB_DURABILITY_OS;
}

// Copies the writes of a batch to one of the C interface.
class Copier final : public WriteBatch::Handler {
public:
    Copier() { cairndb_error_destroy(cairndb_batch_create(&batch)); }
    ~Copier() override { cairndb_error_destroy(cairndb_batch_destroy(batch)); }

    void Put(const Slice& key, const Slice& value) override {
        Keep(cairndb_batch_put(batch, key.data(), key.size(), value.data(), value.size()));
    }

    void Delete(const Slice& key) override {
        Keep(cairndb_batch_delete(batch, key.data(), key.size()));
    }

    cairndb_batch* batch = nullptr;
    Status first_error;

private:
    void Keep(cairndb_error* error) {
        if (error == nullptr) return;
        const Status status = TakeStatus(error);
        if (first_error.ok()) first_error = status;
    }
};

}  // namespace

Database::~Database() { leveldb_close(db_); }

void Database::LogOpen(Logger* log, const std::string& name) const {
    if (log == nullptr) return;
    cairndb_open_report report = {};
    cairndb_error_destroy(cairndb_get_open_report(db(), &report));
    Log(log, "CairnDB %s opened %s: %s, %llu log records replayed", cairndb_version(), name.c_str(),
        report.created ? "created" : report.clean ? "closed cleanly before" : "not closed before",
        static_cast<unsigned long long>(report.replayed_records));
}

Status Database::Put(const WriteOptions& options, const Slice& key, const Slice& value) {
    return TakeStatus(cairndb_put(db(), key.data(), key.size(), value.data(), value.size(),
                                  DurabilityOf(options)));
}

Status Database::Delete(const WriteOptions& options, const Slice& key) {
    return TakeStatus(cairndb_delete(db(), key.data(), key.size(), DurabilityOf(options)));
}

Status Database::Write(const WriteOptions& options, WriteBatch* updates) {
    // LevelDB starts a new memtable for no batch, which makes it write the full one to a table.
    if (updates == nullptr) return TakeStatus(cairndb_flush(db()));
    Copier copier;
    const Status read = updates->Iterate(&copier);
    if (!read.ok()) return read;
    if (!copier.first_error.ok()) return copier.first_error;
    return TakeStatus(cairndb_write(db(), copier.batch, DurabilityOf(options)));
}

Status Database::Get(const ReadOptions& options, const Slice& key, std::string* value) {
    const cairndb_snapshot* snapshot;
    Status status = DbSnapshot::HandleOf(options.snapshot, &snapshot);
    if (!status.ok()) return status;
    // Nearly every value fits, and then costs no allocation but the caller's.
    char buffer[4096];
    size_t length = 0;
    bool found = false;
    status = TakeStatus(cairndb_get_into(db(), snapshot, key.data(), key.size(), buffer,
                                         sizeof buffer, &length, &found));
    if (!status.ok()) return status;
    if (!found) return Status::NotFound(Slice());
    if (length <= sizeof buffer) {
        value->assign(buffer, length);
        return status;
    }
    cairndb_value* large = nullptr;
    status = TakeStatus(cairndb_get(db(), snapshot, key.data(), key.size(), &large));
    if (!status.ok()) return status;
    // It may have been deleted between the two reads.
    if (large == nullptr) return Status::NotFound(Slice());
    value->assign(cairndb_value_data(large), cairndb_value_len(large));
    cairndb_value_destroy(large);
    return status;
}

Iterator* Database::NewIterator(const ReadOptions& options) {
    const cairndb_snapshot* snapshot;
    Status status = DbSnapshot::HandleOf(options.snapshot, &snapshot);
    cairndb_iter* iter = nullptr;
    if (status.ok()) status = TakeStatus(cairndb_iter_create(db(), snapshot, &iter));
    if (!status.ok()) return NewErrorIterator(status);
    return new DbIterator(iter);
}

const Snapshot* Database::GetSnapshot() { return new DbSnapshot(db()); }

void Database::ReleaseSnapshot(const Snapshot* snapshot) {
    delete static_cast<const DbSnapshot*>(snapshot);
}

bool Database::GetProperty(const Slice& property, std::string* value) {
    value->clear();
    char* text = leveldb_property_value(db_, property.ToString().c_str());
    if (text == nullptr) return false;
    value->assign(text);
    leveldb_free(text);
    return true;
}

void Database::GetApproximateSizes(const Range* range, int n, uint64_t* sizes) {
    const size_t count = n > 0 ? static_cast<size_t>(n) : 0;
    std::vector<const char*> keys[2];
    std::vector<size_t> lengths[2];
    for (size_t at = 0; at < count; at++) {
        const Slice* const ends[2] = {&range[at].start, &range[at].limit};
        for (int end = 0; end < 2; end++) {
            keys[end].push_back(ends[end]->data());
            lengths[end].push_back(ends[end]->size());
        }
    }
    leveldb_approximate_sizes(db_, n, keys[0].data(), lengths[0].data(), keys[1].data(),
                              lengths[1].data(), sizes);
}

void Database::CompactRange(const Slice* begin, const Slice* end) {
    // NULL stands for an open end, so the empty key needs an address.
    const Slice empty;
    if (begin != nullptr && begin->data() == nullptr) begin = &empty;
    if (end != nullptr && end->data() == nullptr) end = &empty;
    leveldb_compact_range(db_, begin == nullptr ? nullptr : begin->data(),
                          begin == nullptr ? 0 : begin->size(),
                          end == nullptr ? nullptr : end->data(),
                          end == nullptr ? 0 : end->size());
}

}  // namespace leveldb
