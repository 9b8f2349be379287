// Env::Default(), EnvWrapper and NewMemEnv, as programs use them themselves.
#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "leveldb/env.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/slice.h"
#include "values.h"

using namespace leveldb;

namespace {

// The text of a status without the directory, which differs.
std::string Text(const Status& status, const std::string& directory) {
    std::string text = status.ToString();
    for (size_t at; (at = text.find(directory)) != std::string::npos;) {
        text.replace(at, directory.size(), "DIR");
    }
    return text;
}

void ShowReads(Env* env, const std::string& name) {
    char scratch[64];
    Slice found;
    SequentialFile* opened = nullptr;
    Say("sequential", env->NewSequentialFile(name, &opened).ok());
    const std::unique_ptr<SequentialFile> sequential(opened);
    Say("skip", sequential->Skip(3).ok());
    Say("read", sequential->Read(4, &found, scratch).ok());
    Say("found", found.ToString());
    sequential->Skip(1000);
    Say("read at the end", sequential->Read(4, &found, scratch).ok() && found.empty());
    RandomAccessFile* random_opened = nullptr;
    Say("random", env->NewRandomAccessFile(name, &random_opened).ok());
    const std::unique_ptr<RandomAccessFile> random(random_opened);
    Say("read at 5", random->Read(5, 5, &found, scratch).ok());
    Say("found", found.ToString());
}

void ShowFiles(Env* env, const std::string& directory) {
    const std::string first = directory + "/first", second = directory + "/second";
    env->CreateDir(directory);
    Say("write", Text(WriteStringToFile(env, "granite and slate", first), directory));
    std::string data;
    Say("read", Text(ReadFileToString(env, first, &data), directory) + " " + data);
    ShowReads(env, first);
    WritableFile* opened = nullptr;
    Say("append", env->NewAppendableFile(first, &opened).ok());
    {
        const std::unique_ptr<WritableFile> file(opened);
        Say("append", file->Append(std::string(100000, 'x')).ok() && file->Flush().ok() &&
                          file->Append("end").ok() && file->Sync().ok() && file->Close().ok());
    }
    uint64_t size = 0;
    Say("size", Text(env->GetFileSize(first, &size), directory) + " " + std::to_string(size));
    Say("rename", Text(env->RenameFile(first, second), directory));
    Say("exists", env->FileExists(second) + 2 * env->FileExists(first));
    std::vector<std::string> children;
    Say("children", Text(env->GetChildren(directory, &children), directory));
    std::sort(children.begin(), children.end());
    for (const std::string& child : children) {
        if (child != "." && child != "..") Say("child", child);
    }
    FileLock* lock = nullptr;
    Say("lock", Text(env->LockFile(directory + "/lock", &lock), directory));
    Say("unlock", Text(env->UnlockFile(lock), directory));
    Say("remove", Text(env->RemoveFile(second), directory));
    Say("delete", env->DeleteFile(second).ok());
    SequentialFile* missing = nullptr;
    const Status status = env->NewSequentialFile(second, &missing);
    Say("missing", status.ok() || missing != nullptr);
    env->RemoveFile(directory + "/lock");
    Say("remove directory", Text(env->RemoveDir(directory), directory));
}

std::mutex mutex;
std::condition_variable changed;
std::vector<size_t> ran;

void Ran(void* argument) {
    const std::lock_guard<std::mutex> lock(mutex);
    ran.push_back(reinterpret_cast<size_t>(argument));
    changed.notify_all();
}

void ShowThreads(Env* env) {
    for (size_t n = 0; n < 3; n++) env->Schedule(Ran, reinterpret_cast<void*>(n));
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [] { return ran.size() == 3; });
    Say("scheduled in order", ran[0] == 0 && ran[1] == 1 && ran[2] == 2);
    lock.unlock();
    env->StartThread(Ran, reinterpret_cast<void*>(3));
    lock.lock();
    changed.wait(lock, [] { return ran.size() == 4; });
    const uint64_t now = env->NowMicros();
    env->SleepForMicroseconds(1000);
    Say("time passes", env->NowMicros() > now && now > 1600000000000000u);
}

class Lines : public Logger {
public:
    void Logv(const char* format, std::va_list arguments) override {
        char line[256];
        std::vsnprintf(line, sizeof line, format, arguments);
        Say("line", line);
    }
};

// Changes what a program usually changes.
class Quiet : public EnvWrapper {
public:
    explicit Quiet(Env* base) : EnvWrapper(base) {}
    Status NewLogger(const std::string&, Logger** result) override {
        *result = new Lines;
        return Status::OK();
    }
};

// Overrides the old names only, which the new ones must reach.
class Old : public EnvWrapper {
public:
    explicit Old(Env* base) : EnvWrapper(base) {}
    Status RemoveFile(const std::string& fname) override { return Env::RemoveFile(fname); }
    Status DeleteFile(const std::string& fname) override {
        return Status::IOError("old name reached", fname);
    }
};

}  // namespace

void ShowEnvironments(const std::string& directory) {
    Env* system = Env::Default();
    Say("one default", system == Env::Default());
    ShowFiles(system, directory + "/files");
    ShowThreads(system);
    Logger* log = nullptr;
    const std::string name = directory + "/log";
    Say("logger", system->NewLogger(name, &log).ok());
    delete log;
    Say("log exists", system->FileExists(name));
    system->RemoveFile(name);
    Quiet quiet(system);
    ShowFiles(&quiet, directory + "/wrapped");
    Old old(system);
    Say("old", static_cast<Env&>(old).RemoveFile("name").ToString());
    const std::unique_ptr<Env> memory(NewMemEnv(system));
    ShowFiles(memory.get(), "/memory");
    std::string test_directory;
    Say("test directory", memory->GetTestDirectory(&test_directory).ok());
    Say("test directory", test_directory);
}
