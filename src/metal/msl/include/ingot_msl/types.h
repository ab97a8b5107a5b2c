// Scalar types of the Metal Shading Language and their literals. Address spaces, `kernel` and other words of
// Metal never reach these headers: the front end has taken them out. half and bfloat are the compiler's own
// 16-bit floats, each operation rounded; there is no double.
#pragma once

// Braces narrow freely in Metal (`short2{a, b}`), and suffixes such as 1.0h are Metal's own.
#pragma clang diagnostic ignored "-Wc++11-narrowing"
#pragma clang diagnostic ignored "-Wuser-defined-literals"
#pragma clang diagnostic ignored "-Wreserved-user-defined-literal"

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;
using half = _Float16;
using bfloat = __bf16;

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;
using size_t = unsigned long;
using ptrdiff_t = long;
using intptr_t = long;
using uintptr_t = unsigned long;
using nullptr_t = decltype(nullptr);

constexpr half operator""h(long double value) {
    return half(value);
}
constexpr half operator""h(unsigned long long value) {
    return half(value);
}
constexpr bfloat operator""_bf(long double value) {
    return bfloat(float(value));
}

namespace metal {

using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intptr_t;
using ::nullptr_t;
using ::ptrdiff_t;
using ::size_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;

namespace ingot {

// Booleans are stored as bytes of 0 and 1.
template <typename T>
struct stored {
    using type = T;
};
template <>
struct stored<bool> {
    using type = unsigned char;
};
template <typename T, int N>
using native = typename stored<T>::type __attribute__((ext_vector_type(N)));

}  // namespace ingot

}  // namespace metal
