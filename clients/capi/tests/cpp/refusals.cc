// What CairnDB does differently from LevelDB in C++: environments with files of their own are
// refused, as are single tables; the log of the caller gets one line per open.
//
// Argument: an empty directory. Prints PASS.
#include <cstdlib>
#include <memory>
#include <string>

#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/dumpfile.h"
#include "leveldb/env.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/slice.h"
#include "leveldb/table.h"
#include "leveldb/table_builder.h"

using namespace leveldb;

namespace {

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
            std::exit(1);                                                         \
        }                                                                         \
    } while (0)

// Keeps files elsewhere, as an environment that encrypts would.
class Elsewhere : public EnvWrapper {
public:
    using EnvWrapper::EnvWrapper;
    Status NewWritableFile(const std::string& fname, WritableFile** result) override {
        return target()->NewWritableFile(fname + ".elsewhere", result);
    }
};

class Renamed : public EnvWrapper {
public:
    using EnvWrapper::EnvWrapper;
    Status UnlockFile(FileLock* lock) override { return target()->UnlockFile(lock); }
};

class Clock : public EnvWrapper {
public:
    using EnvWrapper::EnvWrapper;
    void Schedule(void (*function)(void*), void* argument) override { function(argument); }
    uint64_t NowMicros() override { return 7; }
};

class Lines : public Logger {
public:
    void Logv(const char* format, std::va_list arguments) override {
        char line[512];
        std::vsnprintf(line, sizeof line, format, arguments);
        text += line;
        text += '\n';
    }
    std::string text;
};

Status Open(const std::string& name, Env* env, Logger* log = nullptr) {
    Options options;
    options.create_if_missing = true;
    options.env = env;
    options.info_log = log;
    DB* db = nullptr;
    const Status status = DB::Open(options, name, &db);
    CHECK(status.ok() == (db != nullptr));
    delete db;
    return status;
}

void Environments(const std::string& directory) {
    Env* system = Env::Default();
    const std::unique_ptr<Env> memory(NewMemEnv(system));
    Elsewhere elsewhere(system);
    Renamed renamed(system);
    Clock clock(system), clock_of_clock(&clock), clock_elsewhere(&elsewhere);
    const std::string refused = directory + "/refused", taken = directory + "/taken";
    for (Env* env : {memory.get(), static_cast<Env*>(&elsewhere), static_cast<Env*>(&renamed),
                     static_cast<Env*>(&clock_elsewhere)}) {
        CHECK(Open(refused, env).IsNotSupportedError());
        Options options;
        options.env = env;
        CHECK(DestroyDB(taken, options).IsNotSupportedError());
        CHECK(RepairDB(taken, options).IsNotSupportedError());
    }
    CHECK(!system->FileExists(refused));
    for (Env* env : {system, static_cast<Env*>(&clock), static_cast<Env*>(&clock_of_clock)}) {
        CHECK(Open(taken, env).ok());
    }
    Lines lines;
    CHECK(Open(taken, system, &lines).ok());
    CHECK(lines.text.find("CairnDB ") == 0 && lines.text.find(taken) != std::string::npos);
    CHECK(DestroyDB(taken, Options()).ok() && !system->FileExists(taken));
}

void Tables(const std::string& directory) {
    WritableFile* file = nullptr;
    CHECK(Env::Default()->NewWritableFile(directory + "/table", &file).ok());
    {
        TableBuilder builder(Options(), file);
        builder.Add("key", "value");
        builder.Flush();
        CHECK(builder.status().IsNotSupportedError() && builder.Finish().IsNotSupportedError());
        CHECK(builder.NumEntries() == 0 && builder.FileSize() == 0);
    }
    CHECK(DumpFile(Env::Default(), directory + "/table", file).IsNotSupportedError());
    delete file;
    Table* table = reinterpret_cast<Table*>(1);
    CHECK(Table::Open(Options(), nullptr, 0, &table).IsNotSupportedError() && table == nullptr);
}

// LevelDB forbids what outlives its database; here it is an error of the iterator.
void Outliving(const std::string& directory) {
    Options options;
    options.create_if_missing = true;
    DB* db = nullptr;
    CHECK(DB::Open(options, directory + "/outlived", &db).ok());
    CHECK(db->Put(WriteOptions(), "key", "value").ok());
    const std::unique_ptr<Iterator> iter(db->NewIterator(ReadOptions()));
    iter->SeekToFirst();
    CHECK(iter->Valid());
    delete db;
    iter->Next();
    CHECK(!iter->Valid() && iter->status().IsIOError() && iter->key().empty());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    Environments(argv[1]);
    Tables(argv[1]);
    Outliving(argv[1]);
    std::printf("PASS\n");
    return 0;
}
