// Table, TableBuilder and DumpFile: single files in LevelDB's format.
//
// CairnDB's tables have another format, so these classes have nothing to work on. They are here
// because programs that use none of them may still name them; every call returns NotSupported.
#include "leveldb/dumpfile.h"
#include "leveldb/table.h"
#include "leveldb/table_builder.h"

namespace leveldb {

namespace {

Status NoTables(const char* what) {
    return Status::NotSupported(what, "CairnDB has no files in LevelDB's table format");
}

}  // namespace

struct Table::Rep {};

Status Table::Open(const Options&, RandomAccessFile*, uint64_t, Table** table) {
    *table = nullptr;
    return NoTables("Table::Open");
}

Table::~Table() = default;

Iterator* Table::NewIterator(const ReadOptions&) const {
    return NewErrorIterator(NoTables("Table::NewIterator"));
}

uint64_t Table::ApproximateOffsetOf(const Slice&) const { return 0; }

struct TableBuilder::Rep {};

TableBuilder::TableBuilder(const Options&, WritableFile*) : rep_(nullptr) {}

TableBuilder::~TableBuilder() = default;

Status TableBuilder::ChangeOptions(const Options&) { return status(); }

void TableBuilder::Add(const Slice&, const Slice&) {}

void TableBuilder::Flush() {}

Status TableBuilder::status() const { return NoTables("TableBuilder"); }

Status TableBuilder::Finish() { return status(); }

void TableBuilder::Abandon() {}

uint64_t TableBuilder::NumEntries() const { return 0; }

uint64_t TableBuilder::FileSize() const { return 0; }

Status DumpFile(Env*, const std::string& fname, WritableFile*) {
    return Status::NotSupported(fname, "the program cairn prints what is in a file");
}

}  // namespace leveldb
