// Visible functions by table: visible_function_table<R(A...)>. A table is a record that the host binds as a
// buffer: how many entries, then a number each, which stands for a visible function of the source (0: none).
// The rewriter knows these and defines call_visible() behind the source.
#pragma once

#include "types.h"

namespace metal {

template <typename Signature>
struct visible_function;
template <typename R, typename... A>
struct visible_function<R(A...)> {
    ulong number;

    R operator()(A... arguments) const { return call_visible(*this, arguments...); }
};

template <typename Signature>
class visible_function_table {
  public:
    static visible_function_table from_argument(const void* record) {
        visible_function_table table;
        table.record_ = static_cast<const ulong*>(record);
        return table;
    }
    uint size() const { return record_ == nullptr ? 0 : uint(record_[0]); }
    visible_function<Signature> operator[](size_t index) const {
        return {index < size() ? record_[1 + index] : 0};
    }
    bool is_null() const { return record_ == nullptr; }

  private:
    const ulong* record_ = nullptr;
};

template <typename Signature>
bool is_null_visible_function_table(visible_function_table<Signature> table) {
    return table.is_null();
}

namespace ingot {

// A call of what no visible function of that type is: a fault, as of a null pointer.
template <typename R>
R call_nothing() {
    *(volatile int __attribute__((address_space(1)))*)0 = 0;
    if constexpr (!__is_void(R)) return R();
}

// A parameter that nothing is deduced from.
template <typename T>
struct stated {
    using type = T;
};

template <typename Pointer, typename Signature>
inline constexpr bool has_signature = false;
template <typename Signature>
inline constexpr bool has_signature<Signature* const, Signature> = true;

}  // namespace ingot
}  // namespace metal
