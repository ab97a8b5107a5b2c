// metal::array, array_ref and uniform.
#pragma once

#include "type_traits.h"

namespace metal {

template <typename T, size_t N>
struct array {
    using value_type = T;
    T elements_[N];
    constexpr T& operator[](size_t i) { return elements_[i]; }
    constexpr const T& operator[](size_t i) const { return elements_[i]; }
    constexpr T* data() { return elements_; }
    constexpr const T* data() const { return elements_; }
    constexpr T* begin() { return elements_; }
    constexpr const T* begin() const { return elements_; }
    constexpr T* end() { return elements_ + N; }
    constexpr const T* end() const { return elements_ + N; }
    constexpr T& front() { return elements_[0]; }
    constexpr const T& front() const { return elements_[0]; }
    constexpr T& back() { return elements_[N - 1]; }
    constexpr const T& back() const { return elements_[N - 1]; }
    static constexpr size_t size() { return N; }
    static constexpr bool empty() { return N == 0; }
};
template <typename T, typename... Rest>
array(T, Rest...) -> array<T, 1 + sizeof...(Rest)>;

template <typename T>
class array_ref {
  public:
    constexpr array_ref() = default;
    constexpr array_ref(const T* data, size_t size) : data_(data), size_(size) {}
    template <size_t N>
    constexpr array_ref(const array<T, N>& a) : data_(a.data()), size_(N) {}
    template <size_t N>
    constexpr array_ref(const T (&a)[N]) : data_(a), size_(N) {}
    constexpr const T& operator[](size_t i) const { return data_[i]; }
    constexpr size_t size() const { return size_; }
    constexpr bool empty() const { return size_ == 0; }
    constexpr const T* data() const { return data_; }
    constexpr const T* begin() const { return data_; }
    constexpr const T* end() const { return data_ + size_; }

  private:
    const T* data_ = nullptr;
    size_t size_ = 0;
};

// A value that is the same in all threads; here a plain value.
template <typename T>
class uniform {
  public:
    uniform() = default;
    constexpr uniform(T value) : value_(value) {}
    constexpr operator T() const { return value_; }

  private:
    T value_;
};
template <typename T>
constexpr uniform<T> make_uniform(T value) {
    return value;
}

}  // namespace metal
