// WriteBatch: writes as bytes, in LevelDB's layout.
//
// The layout matters to callers, which copy batches in inline functions and measure them with
// ApproximateSize: 8 bytes for a sequence number, which stays 0 here, 4 with the number of writes,
// then the writes. A put is the byte 1, key and value; a deletion is the byte 0 and the key. Before
// a key or a value stands its length, 7 bits a byte, the lowest first.
#include "plain/write_batch.h"

#include "leveldb/slice.h"

namespace leveldb {

namespace {

constexpr size_t kHeader = 12;
constexpr size_t kCountAt = 8;
constexpr char kDeletion = 0;
constexpr char kPut = 1;

void AppendBytes(std::string* to, const Slice& bytes) {
    // The format has 32 bits for a length, and a put of more than 1 GiB is refused when written.
    uint32_t length = static_cast<uint32_t>(bytes.size());
    assert(length == bytes.size());
    for (; length >= 128; length >>= 7) to->push_back(static_cast<char>(length | 128));
    to->push_back(static_cast<char>(length));
    to->append(bytes.data(), bytes.size());
}

// Removes bytes with their length from the front of `from`; returns false if they are not complete.
bool TakeBytes(Slice* from, Slice* bytes) {
    uint64_t length = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (shift > 28 || from->empty()) return false;
        const unsigned char byte = static_cast<unsigned char>((*from)[0]);
        from->remove_prefix(1);
        length |= static_cast<uint64_t>(byte & 127) << shift;
        if (byte < 128) break;
    }
    if (length > from->size()) return false;
    *bytes = Slice(from->data(), static_cast<size_t>(length));
    from->remove_prefix(static_cast<size_t>(length));
    return true;
}

}  // namespace

uint32_t WriteBatchInternal::Count(const WriteBatch& batch) {
    uint32_t count = 0;
    for (size_t at = 4; at-- > 0;) {
        count = count << 8 | static_cast<unsigned char>(batch.rep_[kCountAt + at]);
    }
    return count;
}

void WriteBatchInternal::SetCount(WriteBatch* batch, uint32_t count) {
    for (size_t at = 0; at < 4; at++) {
        batch->rep_[kCountAt + at] = static_cast<char>(count >> (8 * at));
    }
}

WriteBatch::Handler::~Handler() = default;

WriteBatch::WriteBatch() { Clear(); }

WriteBatch::~WriteBatch() = default;

void WriteBatch::Clear() { rep_.assign(kHeader, '\0'); }

size_t WriteBatch::ApproximateSize() const { return rep_.size(); }

void WriteBatch::Put(const Slice& key, const Slice& value) {
    WriteBatchInternal::SetCount(this, WriteBatchInternal::Count(*this) + 1);
    rep_.push_back(kPut);
    AppendBytes(&rep_, key);
    AppendBytes(&rep_, value);
}

void WriteBatch::Delete(const Slice& key) {
    WriteBatchInternal::SetCount(this, WriteBatchInternal::Count(*this) + 1);
    rep_.push_back(kDeletion);
    AppendBytes(&rep_, key);
}

void WriteBatch::Append(const WriteBatch& source) {
    const uint32_t count = WriteBatchInternal::Count(*this) + WriteBatchInternal::Count(source);
    // A copy, because the source may be this batch.
    const std::string writes = source.rep_.substr(kHeader);
    rep_.append(writes);
    WriteBatchInternal::SetCount(this, count);
}

Status WriteBatch::Iterate(Handler* handler) const {
    if (rep_.size() < kHeader) return Status::Corruption("malformed WriteBatch (too small)");
    Slice rest(rep_.data() + kHeader, rep_.size() - kHeader);
    uint32_t found = 0;
    for (; !rest.empty(); found++) {
        const char tag = rest[0];
        rest.remove_prefix(1);
        Slice key, value;
        if (tag == kPut) {
            if (!TakeBytes(&rest, &key) || !TakeBytes(&rest, &value)) {
                return Status::Corruption("bad WriteBatch Put");
            }
            handler->Put(key, value);
        } else if (tag == kDeletion) {
            if (!TakeBytes(&rest, &key)) return Status::Corruption("bad WriteBatch Delete");
            handler->Delete(key);
        } else {
            return Status::Corruption("unknown WriteBatch tag");
        }
    }
    if (found != WriteBatchInternal::Count(*this)) {
        return Status::Corruption("WriteBatch has wrong count");
    }
    return Status::OK();
}

}  // namespace leveldb
