#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace ingot {

void check_failed(const char* file, int line, const char* condition, std::string_view message) {
    fmt::print(stderr, "{}:{}: violated: {}{}{}\n", file, line, condition, message.empty() ? "" : ": ",
               message);
    std::abort();
}

}  // namespace ingot
