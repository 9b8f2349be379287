// LevelDB's C++ classes through the target leveldb::leveldb. Arguments: a path. Prints the stones.
#include <cstdio>
#include <memory>
#include <string>

#include "leveldb/c.h"
#include "leveldb/db.h"
#include "leveldb/write_batch.h"

static int Fail(const leveldb::Status& status) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
}

int main(int argc, char** argv) {
    if (argc != 2 || leveldb_major_version() != 1) return 2;
    leveldb::Options options;
    options.create_if_missing = true;
    leveldb::DB* opened = nullptr;
    leveldb::Status status = leveldb::DB::Open(options, argv[1], &opened);
    if (!status.ok()) return Fail(status);
    std::unique_ptr<leveldb::DB> db(opened);
    leveldb::WriteBatch batch;
    batch.Put("granite", "grey");
    batch.Put("slate", "blue");
    status = db->Write(leveldb::WriteOptions(), &batch);
    if (!status.ok()) return Fail(status);
    std::unique_ptr<leveldb::Iterator> it(db->NewIterator(leveldb::ReadOptions()));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
        std::printf("%s is %s\n", it->key().ToString().c_str(), it->value().ToString().c_str());
    }
    return it->status().ok() ? 0 : Fail(it->status());
}
