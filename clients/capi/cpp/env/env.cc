// Env: the parts that every environment shares, and the functions on top of one.
#include "leveldb/env.h"

#include <memory>

namespace leveldb {

Env::Env() = default;
Env::~Env() = default;
SequentialFile::~SequentialFile() = default;
RandomAccessFile::~RandomAccessFile() = default;
WritableFile::~WritableFile() = default;
Logger::~Logger() = default;
FileLock::~FileLock() = default;
EnvWrapper::~EnvWrapper() = default;

Status Env::NewAppendableFile(const std::string& fname, WritableFile**) {
    return Status::NotSupported("NewAppendableFile", fname);
}

// An environment overrides the new name or the old one of each of these pairs.
Status Env::RemoveFile(const std::string& fname) { return DeleteFile(fname); }
Status Env::DeleteFile(const std::string& fname) { return RemoveFile(fname); }
Status Env::RemoveDir(const std::string& dirname) { return DeleteDir(dirname); }
Status Env::DeleteDir(const std::string& dirname) { return RemoveDir(dirname); }

void Log(Logger* info_log, const char* format, ...) {
    if (info_log == nullptr) return;
    std::va_list arguments;
    va_start(arguments, format);
    info_log->Logv(format, arguments);
    va_end(arguments);
}

Status WriteStringToFile(Env* env, const Slice& data, const std::string& fname) {
    WritableFile* made = nullptr;
    Status status = env->NewWritableFile(fname, &made);
    if (!status.ok()) return status;
    std::unique_ptr<WritableFile> file(made);
    status = file->Append(data);
    if (status.ok()) status = file->Close();
    file.reset();
    if (!status.ok()) env->RemoveFile(fname);
    return status;
}

Status ReadFileToString(Env* env, const std::string& fname, std::string* data) {
    data->clear();
    SequentialFile* opened = nullptr;
    Status status = env->NewSequentialFile(fname, &opened);
    if (!status.ok()) return status;
    const std::unique_ptr<SequentialFile> file(opened);
    constexpr size_t kPiece = 8192;
    char piece[kPiece];
    for (;;) {
        Slice found;
        status = file->Read(kPiece, &found, piece);
        if (!status.ok() || found.empty()) return status;
        data->append(found.data(), found.size());
    }
}

}  // namespace leveldb
