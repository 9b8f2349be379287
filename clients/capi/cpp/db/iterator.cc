// Iterators over a database.
#include "db/iterator.h"

#include "db/errors.h"

namespace leveldb {

DbIterator::~DbIterator() {
    // An iterator that outlives its database, which LevelDB forbids, is destroyed all the same.
    cairndb_error_destroy(cairndb_iter_destroy(iter_));
}

// Stores where the entry is, and the error of the move.
void DbIterator::Moved(cairndb_error* error) {
    if (error != nullptr) {
        valid_ = false;
        status_ = TakeStatus(error);
    } else {
        valid_ = cairndb_iter_valid(iter_);
        if (!status_.ok()) status_ = Status::OK();
    }
    if (!valid_) {
        key_ = value_ = Slice();
        return;
    }
    size_t length = 0;
    const char* bytes = cairndb_iter_key(iter_, &length);
    key_ = Slice(bytes, length);
    bytes = cairndb_iter_value(iter_, &length);
    value_ = Slice(bytes, length);
}

}  // namespace leveldb
