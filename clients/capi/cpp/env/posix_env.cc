// Env::Default(): the operating system, for programs that use it themselves. The database does not.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "env/posix_files.h"

namespace leveldb {

namespace {

Status Done(const std::string& context, int result) {
    return result == 0 ? Status::OK() : ErrnoStatus(context, errno);
}

class PosixLock final : public FileLock {
public:
    PosixLock(const std::string& name, int number) : name(name), number(number) {}

    const std::string name;
    const int number;
};

// Places or removes the record lock by which processes that use LevelDB exclude each other.
int SetLock(int number, short type) {
    struct ::flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return ::fcntl(number, F_SETLK, &lock);
}

class PosixEnv final : public Env {
public:
    Status NewSequentialFile(const std::string& fname, SequentialFile** result) override {
        return OpenSequential(fname, result);
    }

    Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) override {
        return OpenRandomAccess(fname, result);
    }

    Status NewWritableFile(const std::string& fname, WritableFile** result) override {
        return OpenWritable(fname, Existing::kTruncate, result);
    }

    Status NewAppendableFile(const std::string& fname, WritableFile** result) override {
        return OpenWritable(fname, Existing::kAppend, result);
    }

    bool FileExists(const std::string& fname) override {
        return ::access(fname.c_str(), F_OK) == 0;
    }

    Status GetChildren(const std::string& dir, std::vector<std::string>* result) override {
        result->clear();
        ::DIR* opened = ::opendir(dir.c_str());
        if (opened == nullptr) return ErrnoStatus(dir, errno);
        while (const ::dirent* entry = ::readdir(opened)) result->emplace_back(entry->d_name);
        ::closedir(opened);
        return Status::OK();
    }

    Status RemoveFile(const std::string& fname) override {
        return Done(fname, ::unlink(fname.c_str()));
    }

    Status CreateDir(const std::string& dirname) override {
        return Done(dirname, ::mkdir(dirname.c_str(), 0755));
    }

    Status RemoveDir(const std::string& dirname) override {
        return Done(dirname, ::rmdir(dirname.c_str()));
    }

    Status GetFileSize(const std::string& fname, uint64_t* size) override {
        struct ::stat found;
        const int result = ::stat(fname.c_str(), &found);
        *size = result == 0 ? static_cast<uint64_t>(found.st_size) : 0;
        return Done(fname, result);
    }

    Status RenameFile(const std::string& src, const std::string& target) override {
        return Done(src, std::rename(src.c_str(), target.c_str()));
    }

    Status LockFile(const std::string& fname, FileLock** lock) override;
    Status UnlockFile(FileLock* lock) override;
    void Schedule(void (*function)(void*), void* argument) override;

    void StartThread(void (*function)(void*), void* argument) override {
        std::thread(function, argument).detach();
    }

    Status GetTestDirectory(std::string* path) override {
        const char* set = std::getenv("TEST_TMPDIR");
        *path = set != nullptr && *set != '\0'
                    ? set
                    : "/tmp/leveldbtest-" + std::to_string(::geteuid());
        // It may exist.
        CreateDir(*path);
        return Status::OK();
    }

    Status NewLogger(const std::string& fname, Logger** result) override {
        return OpenLogger(fname, result);
    }

    uint64_t NowMicros() override {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        return static_cast<uint64_t>(
            std::chrono::duration_cast<std::chrono::microseconds>(now).count());
    }

    void SleepForMicroseconds(int micros) override {
        std::this_thread::sleep_for(std::chrono::microseconds(micros));
    }

private:
    struct Work {
        void (*function)(void*);
        void* argument;
    };

    [[noreturn]] void RunWork();

    std::mutex locks_mutex_;
    // Record locks do not exclude the same process, so names that it has locked are kept here.
    std::set<std::string> locked_;

    std::mutex work_mutex_;
    std::condition_variable work_added_;
    std::deque<Work> work_;
    bool worker_started_ = false;
};

Status PosixEnv::LockFile(const std::string& fname, FileLock** lock) {
    *lock = nullptr;
    const int number = ::open(fname.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (number < 0) return ErrnoStatus(fname, errno);
    std::lock_guard<std::mutex> guard(locks_mutex_);
    if (!locked_.insert(fname).second) {
        ::close(number);
        return Status::IOError("lock " + fname, "already held by process");
    }
    if (SetLock(number, F_WRLCK) != 0) {
        const Status status = ErrnoStatus("lock " + fname, errno);
        ::close(number);
        locked_.erase(fname);
        return status;
    }
    *lock = new PosixLock(fname, number);
    return Status::OK();
}

Status PosixEnv::UnlockFile(FileLock* lock) {
    const PosixLock* held = static_cast<PosixLock*>(lock);
    const Status status = Done("unlock " + held->name, SetLock(held->number, F_UNLCK));
    if (!status.ok()) return status;
    std::lock_guard<std::mutex> guard(locks_mutex_);
    locked_.erase(held->name);
    ::close(held->number);
    delete held;
    return Status::OK();
}

// One thread, started by the first call, runs everything in turn.
void PosixEnv::Schedule(void (*function)(void*), void* argument) {
    std::lock_guard<std::mutex> guard(work_mutex_);
    if (!worker_started_) {
        worker_started_ = true;
        std::thread(&PosixEnv::RunWork, this).detach();
    }
    work_.push_back(Work{function, argument});
    work_added_.notify_one();
}

void PosixEnv::RunWork() {
    for (;;) {
        std::unique_lock<std::mutex> guard(work_mutex_);
        work_added_.wait(guard, [this] { return !work_.empty(); });
        const Work next = work_.front();
        work_.pop_front();
        guard.unlock();
        next.function(next.argument);
    }
}

}  // namespace

Env* Env::Default() {
    // Never destroyed: its thread may run until the process ends.
    static Env* const system = new PosixEnv;
    return system;
}

}  // namespace leveldb
