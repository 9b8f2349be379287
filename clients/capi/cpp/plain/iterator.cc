// Iterator: the list of functions to run at its end, and the iterators without entries.
#include "leveldb/iterator.h"

namespace leveldb {

// The head of the list is part of the object, so that one function needs no allocation.
Iterator::Iterator() {
    cleanup_head_.function = nullptr;
    cleanup_head_.next = nullptr;
}

Iterator::~Iterator() {
    if (cleanup_head_.IsEmpty()) return;
    cleanup_head_.Run();
    for (CleanupNode* node = cleanup_head_.next; node != nullptr;) {
        CleanupNode* next = node->next;
        node->Run();
        delete node;
        node = next;
    }
}

void Iterator::RegisterCleanup(CleanupFunction function, void* arg1, void* arg2) {
    assert(function != nullptr);
    CleanupNode* node = &cleanup_head_;
    if (!node->IsEmpty()) {
        node = new CleanupNode;
        node->next = cleanup_head_.next;
        cleanup_head_.next = node;
    }
    node->function = function;
    node->arg1 = arg1;
    node->arg2 = arg2;
}

namespace {

class Empty final : public Iterator {
public:
    explicit Empty(const Status& status) : status_(status) {}

    bool Valid() const override { return false; }
    void SeekToFirst() override {}
    void SeekToLast() override {}
    void Seek(const Slice&) override {}
    void Next() override {}
    void Prev() override {}
    Slice key() const override { return Slice(); }
    Slice value() const override { return Slice(); }
    Status status() const override { return status_; }

private:
    const Status status_;
};

}  // namespace

Iterator* NewEmptyIterator() { return new Empty(Status::OK()); }

Iterator* NewErrorIterator(const Status& status) { return new Empty(status); }

}  // namespace leveldb
