// Environments as options of a database.
#ifndef CAIRNDB_CPP_ENV_CHECK_H_
#define CAIRNDB_CPP_ENV_CHECK_H_

#include "leveldb/env.h"

namespace leveldb {

// Returns whether a database can be opened with `env`: its files must be the operating system's,
// because the database reaches them by itself. NotSupported if not, with the reason.
Status CheckEnv(Env* env);

}  // namespace leveldb

#endif  // CAIRNDB_CPP_ENV_CHECK_H_
