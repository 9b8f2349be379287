// Files of the operating system, for Env::Default(): for programs that use it themselves. The
// database does not.
#include "env/posix_files.h"

#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <functional>
#include <system_error>
#include <thread>

namespace leveldb {

Status ErrnoStatus(const std::string& context, int number) {
    const std::string reason = std::generic_category().message(number);
    if (number == ENOENT) return Status::NotFound(context, reason);
    return Status::IOError(context, reason);
}

namespace {

// An open file, closed at the end.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { Close(); }

    int number() const { return number_; }

    // Returns false, with `errno`, if the system reports an error of an earlier write.
    bool Close() {
        if (number_ < 0) return true;
        const int number = number_;
        number_ = -1;
        return ::close(number) == 0;
    }

private:
    int number_;
};

class PosixSequential final : public SequentialFile {
public:
    PosixSequential(const std::string& name, int number) : name_(name), file_(number) {}

    Status Read(size_t n, Slice* result, char* scratch) override {
        for (;;) {
            const ssize_t found = ::read(file_.number(), scratch, n);
            if (found >= 0) {
                *result = Slice(scratch, static_cast<size_t>(found));
                return Status::OK();
            }
            if (errno != EINTR) return ErrnoStatus(name_, errno);
        }
    }

    Status Skip(uint64_t n) override {
        if (::lseek(file_.number(), static_cast<off_t>(n), SEEK_CUR) >= 0) return Status::OK();
        return ErrnoStatus(name_, errno);
    }

private:
    const std::string name_;
    Descriptor file_;
};

class PosixRandomAccess final : public RandomAccessFile {
public:
    PosixRandomAccess(const std::string& name, int number) : name_(name), file_(number) {}

    Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
        const ssize_t found = ::pread(file_.number(), scratch, n, static_cast<off_t>(offset));
        *result = Slice(scratch, found < 0 ? 0 : static_cast<size_t>(found));
        return found < 0 ? ErrnoStatus(name_, errno) : Status::OK();
    }

private:
    const std::string name_;
    const Descriptor file_;
};

// Gathers small writes in a buffer until Flush.
class PosixWritable final : public WritableFile {
public:
    PosixWritable(const std::string& name, int number) : name_(name), file_(number) {}

    ~PosixWritable() override { Flush(); }

    Status Append(const Slice& data) override {
        buffer_.append(data.data(), data.size());
        return buffer_.size() < kBufferBytes ? Status::OK() : Flush();
    }

    Status Close() override {
        Status status = Flush();
        if (!file_.Close() && status.ok()) status = ErrnoStatus(name_, errno);
        return status;
    }

    Status Flush() override {
        size_t written = 0;
        while (written < buffer_.size()) {
            const ssize_t taken =
                ::write(file_.number(), buffer_.data() + written, buffer_.size() - written);
            if (taken < 0 && errno == EINTR) continue;
            if (taken < 0) {
                const Status status = ErrnoStatus(name_, errno);
                buffer_.erase(0, written);
                return status;
            }
            written += static_cast<size_t>(taken);
        }
        buffer_.clear();
        return Status::OK();
    }

    Status Sync() override {
        Status status = Flush();
        if (status.ok() && ::fdatasync(file_.number()) != 0) status = ErrnoStatus(name_, errno);
        return status;
    }

private:
    static constexpr size_t kBufferBytes = 64 << 10;

    const std::string name_;
    Descriptor file_;
    std::string buffer_;
};

class PosixLogger final : public Logger {
public:
    explicit PosixLogger(std::FILE* file) : file_(file) {}
    ~PosixLogger() override { std::fclose(file_); }

    void Logv(const char* format, std::va_list arguments) override {
        ::timeval now;
        ::gettimeofday(&now, nullptr);
        std::tm parts;
        ::localtime_r(&now.tv_sec, &parts);
        char time[32];
        std::strftime(time, sizeof time, "%Y/%m/%d-%H:%M:%S", &parts);
        const size_t thread = std::hash<std::thread::id>()(std::this_thread::get_id());
        std::va_list again;
        va_copy(again, arguments);
        const int length = std::vsnprintf(nullptr, 0, format, again);
        va_end(again);
        std::string text(length < 0 ? 0 : static_cast<size_t>(length) + 1, '\0');
        std::vsnprintf(&text[0], text.size(), format, arguments);
        if (!text.empty()) text.pop_back();
        if (text.empty() || text.back() != '\n') text.push_back('\n');
        std::fprintf(file_, "%s.%06ld %zx %s", time, static_cast<long>(now.tv_usec), thread,
                     text.c_str());
        std::fflush(file_);
    }

private:
    std::FILE* const file_;
};

}  // namespace

Status OpenSequential(const std::string& fname, SequentialFile** result) {
    const int number = ::open(fname.c_str(), O_RDONLY | O_CLOEXEC);
    *result = number < 0 ? nullptr : new PosixSequential(fname, number);
    return number < 0 ? ErrnoStatus(fname, errno) : Status::OK();
}

Status OpenRandomAccess(const std::string& fname, RandomAccessFile** result) {
    const int number = ::open(fname.c_str(), O_RDONLY | O_CLOEXEC);
    *result = number < 0 ? nullptr : new PosixRandomAccess(fname, number);
    return number < 0 ? ErrnoStatus(fname, errno) : Status::OK();
}

Status OpenWritable(const std::string& fname, Existing existing, WritableFile** result) {
    const int rest = existing == Existing::kTruncate ? O_TRUNC : O_APPEND;
    const int number = ::open(fname.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | rest, 0644);
    *result = number < 0 ? nullptr : new PosixWritable(fname, number);
    return number < 0 ? ErrnoStatus(fname, errno) : Status::OK();
}

Status OpenLogger(const std::string& fname, Logger** result) {
    std::FILE* file = std::fopen(fname.c_str(), "we");
    *result = file == nullptr ? nullptr : new PosixLogger(file);
    return file == nullptr ? ErrnoStatus(fname, errno) : Status::OK();
}

}  // namespace leveldb
