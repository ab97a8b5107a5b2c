#include "base/system_call.h"

#include <cerrno>
#include <cstring>

namespace ingot {

Failure system_error(const std::string& path, const char* action) {
    const ErrorKind kind = errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo;
    return fail(kind, "{}: can't {}: {}", path, action, std::strerror(errno));
}

}  // namespace ingot
