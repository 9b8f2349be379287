// A database of the C library as a DB.
#ifndef CAIRNDB_CPP_DB_DATABASE_H_
#define CAIRNDB_CPP_DB_DATABASE_H_

#include "cairndb.h"
#include "leveldb/c.h"
#include "leveldb/db.h"

namespace leveldb {

class Database final : public DB {
public:
    // Takes over the handle.
    explicit Database(leveldb_t* db) : db_(db) {}
    ~Database() override;

    Status Put(const WriteOptions& options, const Slice& key, const Slice& value) override;
    Status Delete(const WriteOptions& options, const Slice& key) override;
    Status Write(const WriteOptions& options, WriteBatch* updates) override;
    Status Get(const ReadOptions& options, const Slice& key, std::string* value) override;
    Iterator* NewIterator(const ReadOptions& options) override;
    const Snapshot* GetSnapshot() override;
    void ReleaseSnapshot(const Snapshot* snapshot) override;
    bool GetProperty(const Slice& property, std::string* value) override;
    void GetApproximateSizes(const Range* range, int n, uint64_t* sizes) override;
    void CompactRange(const Slice* begin, const Slice* end) override;

    // Writes a line about the open to the log of the caller.
    void LogOpen(Logger* log, const std::string& name) const;

private:
    cairndb_db* db() const { return reinterpret_cast<cairndb_db*>(db_); }

    leveldb_t* const db_;
};

}  // namespace leveldb

#endif  // CAIRNDB_CPP_DB_DATABASE_H_
