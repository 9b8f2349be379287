// Options of a database, translated for the C interface.
#ifndef CAIRNDB_CPP_DB_OPTIONS_H_
#define CAIRNDB_CPP_DB_OPTIONS_H_

#include "leveldb/c.h"
#include "leveldb/options.h"

namespace leveldb {

// The options of one open, repair or destroy. A comparator is used until the database is closed, and
// must live as long, as in LevelDB.
class NativeOptions {
public:
    explicit NativeOptions(const Options& options);
    NativeOptions(const NativeOptions&) = delete;
    NativeOptions& operator=(const NativeOptions&) = delete;
    ~NativeOptions();

    const leveldb_options_t* get() const { return options_; }

private:
    void SetComparator(const Comparator* comparator);
    void SetFilterPolicy(const FilterPolicy* policy);
    void SetCache(const Cache* cache);

    leveldb_options_t* const options_;
};

}  // namespace leveldb

#endif  // CAIRNDB_CPP_DB_OPTIONS_H_
