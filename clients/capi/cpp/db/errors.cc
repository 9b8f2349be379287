// Errors of the C library as values of Status.
#include "db/errors.h"

#include <string>

#include "leveldb/c.h"

namespace leveldb {

namespace {

// Removes `prefix` from `text`; returns whether it was there.
bool Strip(Slice* text, const char* prefix) {
    if (!text->starts_with(prefix)) return false;
    text->remove_prefix(strlen(prefix));
    return true;
}

}  // namespace

Status TakeStatus(char* text) {
    if (text == nullptr) return Status::OK();
    Slice message(text);
    Status status;
    if (Strip(&message, "Corruption: ")) {
        status = Status::Corruption(message);
    } else if (Strip(&message, "Invalid argument: ")) {
        status = Status::InvalidArgument(message);
    } else if (Strip(&message, "Not implemented: ")) {
        status = Status::NotSupported(message);
    } else {
        Strip(&message, "IO error: ");
        status = Status::IOError(message);
    }
    leveldb_free(text);
    return status;
}

// The categories are those that the C interface writes before the text of an error.
Status TakeStatus(cairndb_error* error) {
    if (error == nullptr) return Status::OK();
    Slice message(cairndb_error_message(error));
    Status status;
    switch (cairndb_error_get_kind(error)) {
    case CAIRNDB_ERROR_CORRUPTION:
        Strip(&message, "corruption: ");
        status = Status::Corruption(message);
        break;
    case CAIRNDB_ERROR_INVALID_ARGUMENT:
    case CAIRNDB_ERROR_NOT_FOUND:
        Strip(&message, "invalid argument: ");
        status = Status::InvalidArgument(message);
        break;
    case CAIRNDB_ERROR_NOT_SUPPORTED:
    case CAIRNDB_ERROR_FORMAT_TOO_NEW: status = Status::NotSupported(message); break;
    default:
        Strip(&message, "i/o error: ");
        status = Status::IOError(message);
        break;
    }
    cairndb_error_destroy(error);
    return status;
}

}  // namespace leveldb
