// NewMemEnv: an environment that keeps files in memory, for programs that use it themselves.
//
// A database cannot be opened with it, see check.cc.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "leveldb/env.h"
#include "leveldb/helpers/memenv.h"

namespace leveldb {

namespace {

// The bytes of a file, shared by everyone who has it open; a removed file lives until the last of
// them has closed it.
struct Contents {
    std::mutex mutex;
    std::string bytes;
};

using Shared = std::shared_ptr<Contents>;

Status Missing(const std::string& fname) { return Status::IOError(fname, "File not found"); }

// Copies what is at `offset`; the end of the file ends the result.
Slice ReadAt(Contents* file, uint64_t offset, size_t n, char* scratch) {
    std::lock_guard<std::mutex> lock(file->mutex);
    if (offset >= file->bytes.size()) return Slice(scratch, 0);
    const size_t found = file->bytes.copy(scratch, n, static_cast<size_t>(offset));
    return Slice(scratch, found);
}

class MemSequential final : public SequentialFile {
public:
    explicit MemSequential(Shared file) : file_(std::move(file)) {}

    Status Read(size_t n, Slice* result, char* scratch) override {
        *result = ReadAt(file_.get(), at_, n, scratch);
        at_ += result->size();
        return Status::OK();
    }

    Status Skip(uint64_t n) override {
        std::lock_guard<std::mutex> lock(file_->mutex);
        const uint64_t length = file_->bytes.size();
        if (at_ > length) return Status::IOError("position after the end of the file");
        at_ += std::min(n, length - at_);
        return Status::OK();
    }

private:
    const Shared file_;
    uint64_t at_ = 0;
};

class MemRandomAccess final : public RandomAccessFile {
public:
    explicit MemRandomAccess(Shared file) : file_(std::move(file)) {}

    Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
        *result = ReadAt(file_.get(), offset, n, scratch);
        return Status::OK();
    }

private:
    const Shared file_;
};

class MemWritable final : public WritableFile {
public:
    explicit MemWritable(Shared file) : file_(std::move(file)) {}

    Status Append(const Slice& data) override {
        std::lock_guard<std::mutex> lock(file_->mutex);
        file_->bytes.append(data.data(), data.size());
        return Status::OK();
    }

    Status Close() override { return Status::OK(); }
    Status Flush() override { return Status::OK(); }
    Status Sync() override { return Status::OK(); }

private:
    const Shared file_;
};

class NoLogger final : public Logger {
public:
    void Logv(const char*, std::va_list) override {}
};

class MemLock final : public FileLock {};

class MemEnv final : public EnvWrapper {
public:
    explicit MemEnv(Env* base) : EnvWrapper(base) {}

    Status NewSequentialFile(const std::string& fname, SequentialFile** result) override {
        const Shared file = Find(fname);
        *result = file == nullptr ? nullptr : new MemSequential(file);
        return file == nullptr ? Missing(fname) : Status::OK();
    }

    Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) override {
        const Shared file = Find(fname);
        *result = file == nullptr ? nullptr : new MemRandomAccess(file);
        return file == nullptr ? Missing(fname) : Status::OK();
    }

    Status NewWritableFile(const std::string& fname, WritableFile** result) override {
        std::lock_guard<std::mutex> lock(mutex_);
        const Shared file = std::make_shared<Contents>();
        files_[fname] = file;
        *result = new MemWritable(file);
        return Status::OK();
    }

    Status NewAppendableFile(const std::string& fname, WritableFile** result) override {
        std::lock_guard<std::mutex> lock(mutex_);
        Shared& file = files_[fname];
        if (file == nullptr) file = std::make_shared<Contents>();
        *result = new MemWritable(file);
        return Status::OK();
    }

    bool FileExists(const std::string& fname) override { return Find(fname) != nullptr; }

    Status GetChildren(const std::string& dir, std::vector<std::string>* result) override {
        result->clear();
        std::lock_guard<std::mutex> lock(mutex_);
        const std::string start = dir + "/";
        for (const auto& named : files_) {
            if (named.first.size() > start.size() && named.first.compare(0, start.size(), start) == 0) {
                result->push_back(named.first.substr(start.size()));
            }
        }
        return Status::OK();
    }

    Status RemoveFile(const std::string& fname) override {
        std::lock_guard<std::mutex> lock(mutex_);
        return files_.erase(fname) == 0 ? Missing(fname) : Status::OK();
    }

    // Directories are prefixes of names: they always exist.
    Status CreateDir(const std::string&) override { return Status::OK(); }
    Status RemoveDir(const std::string&) override { return Status::OK(); }

    Status GetFileSize(const std::string& fname, uint64_t* size) override {
        const Shared file = Find(fname);
        if (file == nullptr) return Missing(fname);
        std::lock_guard<std::mutex> lock(file->mutex);
        *size = file->bytes.size();
        return Status::OK();
    }

    Status RenameFile(const std::string& src, const std::string& target) override {
        std::lock_guard<std::mutex> lock(mutex_);
        const auto found = files_.find(src);
        if (found == files_.end()) return Missing(src);
        const Shared file = found->second;
        files_.erase(found);
        files_[target] = file;
        return Status::OK();
    }

    Status LockFile(const std::string&, FileLock** lock) override {
        *lock = new MemLock;
        return Status::OK();
    }

    Status UnlockFile(FileLock* lock) override {
        delete lock;
        return Status::OK();
    }

    Status GetTestDirectory(std::string* path) override {
        *path = "/test";
        return Status::OK();
    }

    Status NewLogger(const std::string&, Logger** result) override {
        *result = new NoLogger;
        return Status::OK();
    }

private:
    Shared Find(const std::string& fname) {
        std::lock_guard<std::mutex> lock(mutex_);
        const auto found = files_.find(fname);
        return found == files_.end() ? nullptr : found->second;
    }

    std::mutex mutex_;
    std::map<std::string, Shared> files_;
};

}  // namespace

Env* NewMemEnv(Env* base_env) { return new MemEnv(base_env); }

}  // namespace leveldb
