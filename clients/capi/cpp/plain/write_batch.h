// Access to the bytes of a WriteBatch.
#ifndef CAIRNDB_CPP_WRITE_BATCH_H_
#define CAIRNDB_CPP_WRITE_BATCH_H_

#include <cstdint>

#include "leveldb/write_batch.h"

namespace leveldb {

// The friend that LevelDB's header names.
class WriteBatchInternal {
public:
    static const std::string& Contents(const WriteBatch& batch) { return batch.rep_; }
    static uint32_t Count(const WriteBatch& batch);
    static void SetCount(WriteBatch* batch, uint32_t count);
};

}  // namespace leveldb

#endif  // CAIRNDB_CPP_WRITE_BATCH_H_
