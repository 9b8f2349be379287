// Errors of the C library as values of Status.
#ifndef CAIRNDB_CPP_ERRORS_H_
#define CAIRNDB_CPP_ERRORS_H_

#include "cairndb.h"
#include "leveldb/status.h"

namespace leveldb {

// Returns the status for an error of "cairndb.h", which is destroyed. NULL is success.
Status TakeStatus(cairndb_error* error);

// Returns the status for the text of an `errptr`, which is freed. NULL is success.
Status TakeStatus(char* text);

}  // namespace leveldb

#endif  // CAIRNDB_CPP_ERRORS_H_
