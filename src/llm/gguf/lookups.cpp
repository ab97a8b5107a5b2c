// Typed lookups of metadata: what a model's code asks for, and the messages when it isn't there or is
// something else.
#include "llm/gguf/value_types.h"

namespace ingot::gguf {
namespace {

Failure missing(const File& file, std::string_view key) {
    return fail(ErrorKind::kNotFound, "{}: key '{}' is missing", file.path(), key);
}

Failure wrong_type(const File& file, std::string_view key, const Value& value, std::string_view accepted) {
    return fail(ErrorKind::kCorrupt, "{}: key '{}' is of type {}, {} is needed", file.path(), key,
                type_name(value), accepted);
}

template <typename T>
Result<T> held_as(const File& file, std::string_view key, const Value& value) {
    if (const T* held = std::get_if<T>(&value.value)) return *held;
    return wrong_type(file, key, value, kTypeName<T>);
}

Result<uint64_t> uint_of(const File& file, std::string_view key, const Value& value) {
    if (const auto number = as_uint(value)) return *number;
    return wrong_type(file, key, value, "an integer from 0 on");
}

Result<double> float_of(const File& file, std::string_view key, const Value& value) {
    if (const auto number = as_float(value)) return *number;
    return wrong_type(file, key, value, "float32 or float64");
}

}  // namespace

size_t Array::size() const {
    return std::visit([](const auto& held) { return held.size(); }, items);
}

Result<uint64_t> File::get_uint(std::string_view key) const {
    const Value* value = find(key);
    return value ? uint_of(*this, key, *value) : missing(*this, key);
}

Result<double> File::get_float(std::string_view key) const {
    const Value* value = find(key);
    return value ? float_of(*this, key, *value) : missing(*this, key);
}

Result<bool> File::get_bool(std::string_view key) const {
    const Value* value = find(key);
    return value ? held_as<bool>(*this, key, *value) : missing(*this, key);
}

Result<std::string_view> File::get_string(std::string_view key) const {
    const Value* value = find(key);
    return value ? held_as<std::string_view>(*this, key, *value) : missing(*this, key);
}

Result<const Array*> File::get_array(std::string_view key) const {
    const Value* value = find(key);
    if (value == nullptr) return missing(*this, key);
    if (const Array* held = std::get_if<Array>(&value->value)) return held;
    return wrong_type(*this, key, *value, "an array");
}

Result<uint64_t> File::get_uint(std::string_view key, uint64_t fallback) const {
    const Value* value = find(key);
    return value ? uint_of(*this, key, *value) : fallback;
}

Result<double> File::get_float(std::string_view key, double fallback) const {
    const Value* value = find(key);
    return value ? float_of(*this, key, *value) : fallback;
}

Result<bool> File::get_bool(std::string_view key, bool fallback) const {
    const Value* value = find(key);
    return value ? held_as<bool>(*this, key, *value) : fallback;
}

}  // namespace ingot::gguf
