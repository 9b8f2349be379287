// Iterators over a database.
#ifndef CAIRNDB_CPP_DB_ITERATOR_H_
#define CAIRNDB_CPP_DB_ITERATOR_H_

#include "cairndb.h"
#include "leveldb/iterator.h"

namespace leveldb {

// An iterator over a handle. Where its entry is was stored by the last move, so reads of it are two
// loads, and any number of threads may read at the same time, as in LevelDB.
class DbIterator final : public Iterator {
public:
    // Takes over the handle.
    explicit DbIterator(cairndb_iter* iter) : iter_(iter) {}
    ~DbIterator() override;

    bool Valid() const override { return valid_; }
    void SeekToFirst() override { Moved(cairndb_iter_seek_to_first(iter_)); }
    void SeekToLast() override { Moved(cairndb_iter_seek_to_last(iter_)); }
    void Seek(const Slice& target) override {
        Moved(cairndb_iter_seek(iter_, target.data(), target.size()));
    }
    void Next() override { Moved(cairndb_iter_next(iter_)); }
    void Prev() override { Moved(cairndb_iter_prev(iter_)); }
    Slice key() const override { return key_; }
    Slice value() const override { return value_; }
    Status status() const override { return status_; }

private:
    void Moved(cairndb_error* error);

    cairndb_iter* const iter_;
    bool valid_ = false;
    Slice key_;
    Slice value_;
    Status status_;
};

}  // namespace leveldb

#endif  // CAIRNDB_CPP_DB_ITERATOR_H_
