// Files of the operating system, for Env::Default().
#ifndef CAIRNDB_CPP_POSIX_FILES_H_
#define CAIRNDB_CPP_POSIX_FILES_H_

#include <string>

#include "leveldb/env.h"

namespace leveldb {

// Returns the status for an `errno`, as LevelDB does: a missing file is NotFound.
Status ErrnoStatus(const std::string& context, int number);

Status OpenSequential(const std::string& fname, SequentialFile** result);
Status OpenRandomAccess(const std::string& fname, RandomAccessFile** result);

enum class Existing { kTruncate, kAppend };

Status OpenWritable(const std::string& fname, Existing existing, WritableFile** result);

// Opens a log file; each entry is one line with its time and thread.
Status OpenLogger(const std::string& fname, Logger** result);

}  // namespace leveldb

#endif  // CAIRNDB_CPP_POSIX_FILES_H_
