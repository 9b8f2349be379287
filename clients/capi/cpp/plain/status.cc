// Status: one allocation that holds length, code and message.
//
// The layout is part of the binary interface, because callers read the code and free the memory in
// inline functions: four bytes with the length of the message, one with the code, the message.
#include "leveldb/status.h"

#include <cstdint>
#include <cstdio>

namespace leveldb {

namespace {

constexpr size_t kHeader = sizeof(uint32_t) + 1;

}  // namespace

const char* Status::CopyState(const char* state) {
    uint32_t length;
    std::memcpy(&length, state, sizeof length);
    char* copy = new char[kHeader + length];
    std::memcpy(copy, state, kHeader + length);
    return copy;
}

Status::Status(Code code, const Slice& msg, const Slice& msg2) {
    assert(code != kOk);
    std::string message = msg.ToString();
    if (!msg2.empty()) message.append(": ").append(msg2.data(), msg2.size());
    const uint32_t length = static_cast<uint32_t>(message.size());
    char* state = new char[kHeader + length];
    std::memcpy(state, &length, sizeof length);
    state[sizeof length] = static_cast<char>(code);
    std::memcpy(state + kHeader, message.data(), length);
    state_ = state;
}

std::string Status::ToString() const {
    if (state_ == nullptr) return "OK";
    std::string text;
    switch (code()) {
    case kOk: text = "OK"; break;
    case kNotFound: text = "NotFound: "; break;
    case kCorruption: text = "Corruption: "; break;
    case kNotSupported: text = "Not implemented: "; break;
    case kInvalidArgument: text = "Invalid argument: "; break;
    case kIOError: text = "IO error: "; break;
    default:
        text = "Unknown code(" + std::to_string(static_cast<int>(code())) + "): ";
        break;
    }
    uint32_t length;
    std::memcpy(&length, state_, sizeof length);
    return text.append(state_ + kHeader, length);
}

}  // namespace leveldb
