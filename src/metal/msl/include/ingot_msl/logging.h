// <metal_logging>: os_log. A message goes to air.os_log(subsystem, category, type, format, arguments, size),
// the arguments as C passes variadic ones (narrow integers as int, floats as double), each at its natural
// alignment.
#pragma once

#include "type_traits.h"

namespace metal {

namespace ingot {

namespace air {
void os_log(const char* subsystem, const char* category, int type, const char* format, const void* arguments,
            ulong size) __asm__("air.os_log");
}

enum log_type : int { log_default = 0, log_info = 1, log_debug = 2, log_error = 16, log_fault = 17 };

template <typename T>
constexpr auto promote(T value) {
    if constexpr (__is_floating_point(T)) {
        return double(value);
    } else if constexpr (__is_pointer(T)) {
        return value;
    } else {
        return +value;
    }
}
// Where the next argument may begin.
template <typename T>
inline ulong place(char* bytes, ulong offset, T value) {
    offset = (offset + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    __builtin_memcpy(bytes + offset, &value, sizeof(T));
    return offset + sizeof(T);
}

}  // namespace ingot

class os_log {
  public:
    constexpr os_log(const char* subsystem, const char* category)
        : subsystem_(subsystem), category_(category) {}
#define INGOT_LOG(name, type)                                            \
    template <typename... Arguments>                                     \
    inline void name(const char* format, Arguments... arguments) const { \
        write(ingot::type, format, arguments...);                        \
    }
    INGOT_LOG(log, log_default)
    INGOT_LOG(log_info, log_info)
    INGOT_LOG(log_debug, log_debug)
    INGOT_LOG(log_error, log_error)
    INGOT_LOG(log_fault, log_fault)
#undef INGOT_LOG

  private:
    template <typename... Arguments>
    inline void write(ingot::log_type type, const char* format, Arguments... arguments) const {
        alignas(8) char bytes[8 * sizeof...(Arguments) + 8];
        ulong size = 0;
        ((size = ingot::place(bytes, size, ingot::promote(arguments))), ...);
        ingot::air::os_log(subsystem_, category_, int(type), format, bytes, size);
    }

    const char* subsystem_;
    const char* category_;
};

inline constexpr os_log os_log_default("", "");

}  // namespace metal
