// Databases that are not open: destroy and repair.
#include "db/errors.h"
#include "db/options.h"
#include "env/check.h"
#include "leveldb/db.h"

namespace leveldb {

namespace {

using Operation = void (*)(const leveldb_options_t*, const char*, char**);

Status Run(Operation operation, const std::string& name, const Options& options) {
    const Status allowed = CheckEnv(options.env);
    if (!allowed.ok()) return allowed;
    const NativeOptions native(options);
    char* error = nullptr;
    operation(native.get(), name.c_str(), &error);
    return TakeStatus(error);
}

}  // namespace

Status DestroyDB(const std::string& name, const Options& options) {
    return Run(leveldb_destroy_db, name, options);
}

Status RepairDB(const std::string& dbname, const Options& options) {
    return Run(leveldb_repair_db, dbname, options);
}

}  // namespace leveldb
