#include "base/result.h"

namespace ingot {

std::string_view to_string(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::kInvalidArgument:
            return "invalid argument";
        case ErrorKind::kNotFound:
            return "not found";
        case ErrorKind::kIo:
            return "input/output";
        case ErrorKind::kCorrupt:
            return "corrupt";
        case ErrorKind::kUnsupported:
            return "unsupported";
        case ErrorKind::kLimit:
            return "limit reached";
        case ErrorKind::kCancelled:
            return "cancelled";
    }
    return "unknown";
}

Error with_context(Error error, std::string_view where) {
    error.where = error.where.empty() ? std::string(where) : fmt::format("{}: {}", where, error.where);
    return error;
}

}  // namespace ingot
