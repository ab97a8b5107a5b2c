// INGOT_CHECK(condition, format, args...): aborts with file, line and message when an invariant of ours is
// violated, in every build. Never for input from outside: that is a Result (result.h).
#pragma once

#include <string_view>

#include <fmt/format.h>

namespace ingot {

[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view message);

}  // namespace ingot

#define INGOT_CHECK(condition, ...)                                                               \
    do {                                                                                          \
        if (!(condition)) [[unlikely]]                                                            \
            ::ingot::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
    } while (false)
