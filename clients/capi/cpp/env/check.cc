// Whether a database can be opened with an environment of the caller.
//
// The database opens its files itself, so an Env that keeps files elsewhere (in memory, encrypted,
// counted) cannot be honoured. Ignoring it would write data where the program does not expect it,
// so it is refused. An EnvWrapper that changes only logging, threads or the clock is accepted, and
// those functions are not called.
#include "env/check.h"

namespace leveldb {

namespace {

// Slots of Env's virtual functions on files and directories, in the order of leveldb/env.h. Two
// slots of the destructor come first, as in every class under the Itanium ABI, which all platforms
// of this library follow.
constexpr size_t kFirstOfFiles = 2;  // NewSequentialFile
constexpr size_t kLastOfFiles = 16;  // UnlockFile

void* const* SlotsOf(const Env* env) { return *reinterpret_cast<void* const* const*>(env); }

// Returns whether the wrapper passes every call on files to its target.
bool PassesFilesOn(const EnvWrapper* wrapper) {
    static const EnvWrapper* const plain = new EnvWrapper(nullptr);
    for (size_t slot = kFirstOfFiles; slot <= kLastOfFiles; slot++) {
        if (SlotsOf(wrapper)[slot] != SlotsOf(plain)[slot]) return false;
    }
    return true;
}

}  // namespace

Status CheckEnv(Env* env) {
    while (env != nullptr && env != Env::Default()) {
        const EnvWrapper* wrapper = dynamic_cast<EnvWrapper*>(env);
        if (wrapper == nullptr || !PassesFilesOn(wrapper)) {
            return Status::NotSupported(
                "Options::env has files of its own, which CairnDB cannot use; pass Env::Default() "
                "or an EnvWrapper that passes the functions on files to it");
        }
        env = wrapper->target();
    }
    return Status::OK();
}

}  // namespace leveldb
