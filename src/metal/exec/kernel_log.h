// os_log of kernels: formats a message as C's printf does and writes it to standard error, one line at a
// time.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ingot::metal {

// `arguments` are laid out as C passes variadic ones, each at its natural alignment: int, long, double,
// pointers to strings. Conversions whose argument isn't there, and those of C that make no sense here (%n,
// %*d), are printed as they stand. The result has at most `kMaxLogBytes` bytes.
inline constexpr size_t kMaxLogBytes = 1024;
std::string format_log(const char* format, std::span<const std::byte> arguments);

}  // namespace ingot::metal

// What generated code calls. `type`: 0 default, 1 info, 2 debug, 16 error, 17 fault.
extern "C" void ingot_os_log(const char* subsystem, const char* category, uint32_t type, const char* format,
                             const void* arguments, uint64_t size);
