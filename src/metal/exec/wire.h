// Plain values as bytes and back, for compiled kernels on disk and for the compiler's child process. Both
// ends are builds of one revision, so nothing is versioned here; bytes that don't hold what is read yield
// ok() == false. A struct travels by its `fields` function (below), which serves both directions and doesn't
// compile when a member is missing from it.
#pragma once

#include <cstring>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "metal/exec/compiler.h"

namespace ingot::metal::wire {

template <typename T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class Writer {
  public:
    template <typename... Ts>
    void operator()(const Ts&... values) {
        (put(values), ...);
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    void append(const void* data, size_t size) {
        const size_t end = bytes_.size();
        bytes_.resize(end + size);
        if (size != 0) std::memcpy(bytes_.data() + end, data, size);
    }
    template <Plain T>
    void put(const T& value) {
        append(&value, sizeof value);
    }
    void put(const std::string& text) {
        put(uint64_t{text.size()});
        append(text.data(), text.size());
    }
    template <typename T>
    void put(const std::vector<T>& values) {
        put(uint64_t{values.size()});
        if constexpr (sizeof(T) == 1) {
            append(values.data(), values.size());
        } else {
            for (const T& value : values) put(value);
        }
    }
    template <typename K, typename V>
    void put(const std::map<K, V>& values) {
        put(uint64_t{values.size()});
        for (const auto& [key, value] : values) put(key), put(value);
    }
    void put(const ConstantValue& value) {
        put(uint8_t(value.index()));
        std::visit([&](const auto& held) { put(held); }, value);
    }
    template <typename T>
        requires std::is_class_v<T>
    void put(const T& value) {
        fields(*this, const_cast<T&>(value));
    }

    std::vector<std::byte> bytes_;
};

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <typename... Ts>
    void operator()(Ts&... values) {
        (get(values), ...);
    }
    // All was there, and nothing else.
    bool ok() const { return ok_ && bytes_.empty(); }

  private:
    bool take(void* data, size_t size) {
        ok_ = ok_ && size <= bytes_.size();
        if (!ok_) return false;
        std::memcpy(data, bytes_.data(), size);
        bytes_ = bytes_.subspan(size);
        return true;
    }
    template <Plain T>
    void get(T& value) {
        if constexpr (std::is_same_v<T, bool>) {
            uint8_t byte = 0;
            get(byte);
            value = byte != 0;
        } else {
            take(&value, sizeof value);
        }
    }
    // A count of things that take at least a byte each.
    size_t get_count() {
        uint64_t count = 0;
        get(count);
        ok_ = ok_ && count <= bytes_.size();
        return ok_ ? size_t(count) : 0;
    }
    void get(std::string& text) {
        text.resize(get_count());
        take(text.data(), text.size());
    }
    template <typename T>
    void get(std::vector<T>& values) {
        values.resize(get_count());
        if constexpr (sizeof(T) == 1) {
            take(values.data(), values.size());
        } else {
            for (T& value : values) get(value);
        }
    }
    template <typename K, typename V>
    void get(std::map<K, V>& values) {
        values.clear();
        for (size_t left = get_count(); left != 0 && ok_; --left) {
            K key{};
            get(key);
            get(values[key]);
        }
    }
    void get(ConstantValue& value) {
        uint8_t index = 0;
        get(index);
        if (index == 0) value = false;
        if (index == 1) value = int64_t{0};
        if (index == 2) value = 0.0f;
        if (index == 3) value = std::vector<int64_t>();
        if (index == 4) value = std::vector<float>();
        std::visit([&](auto& held) { get(held); }, value);
    }
    template <typename T>
        requires std::is_class_v<T>
    void get(T& value) {
        fields(*this, value);
    }

    std::span<const std::byte> bytes_;
    bool ok_ = true;
};

template <typename Archive>
void fields(Archive& archive, Argument& argument) {
    auto& [kind, access, in_constant_space, guarded, unused, is_restrict, slot, size, align, reference_size,
           position, type, name, guard] = argument;
    archive(kind, access, in_constant_space, guarded, unused, is_restrict, slot, size, align, reference_size,
            position, type, name, guard);
}
template <typename Archive>
void fields(Archive& archive, FunctionConstant& constant) {
    auto& [name, type_name, index, required] = constant;
    archive(name, type_name, index, required);
}
template <typename Archive>
void fields(Archive& archive, KernelInfo& info) {
    auto& [name, arguments, constants, max_threads, static_threadgroup_bytes] = info;
    archive(name, arguments, constants, max_threads, static_threadgroup_bytes);
}
template <typename Archive>
void fields(Archive& archive, MemoryObject& object) {
    auto& [kind, space, slot, offset, size, name] = object;
    archive(kind, space, slot, offset, size, name);
}
template <typename Archive>
void fields(Archive& archive, Site& site) {
    auto& [kind, space, element, reads, writes, is_atomic, size, align, is_fixed, fixed_offset, object, block,
           line, caller_line, instruction, file, caller_file, function] = site;
    archive(kind, space, element, reads, writes, is_atomic, size, align, is_fixed, fixed_offset, object,
            block, line, caller_line, instruction, file, caller_file, function);
}
template <typename Archive>
void fields(Archive& archive, BlockArithmetic& arithmetic) {
    auto& [block, kind, count, line, file] = arithmetic;
    archive(block, kind, count, line, file);
}
template <typename Archive>
void fields(Archive& archive, Instrumentation& instrumentation) {
    auto& [sites, objects, num_blocks, arithmetic] = instrumentation;
    archive(sites, objects, num_blocks, arithmetic);
}
template <typename Archive>
void fields(Archive& archive, CompileTimes& times) {
    auto& [parse, lower, optimise, generate, load] = times;
    archive(parse, lower, optimise, generate, load);
}
// Without what belongs to one process.
template <typename Archive>
void fields(Archive& archive, Kernel& kernel) {
    auto& [info, entry, meets, private_bytes, operations, batches, layout, instrumentation, times, from_cache,
           code, lanes] = kernel;
    static_cast<void>(entry), static_cast<void>(from_cache), static_cast<void>(code),
        static_cast<void>(lanes);
    archive(info, meets, private_bytes, operations, batches, layout, instrumentation, times);
}
template <typename Archive>
void fields(Archive& archive, LaneVariant& variant) {
    auto& [full, linear] = variant;
    archive(full, linear);
}
template <typename Archive>
void fields(Archive& archive, Constants& constants) {
    auto& [by_index, by_name] = constants;
    archive(by_index, by_name);
}
// Without what says how rather than what to compile, and where to print.
template <typename Archive>
void fields(Archive& archive, CompileOptions& options) {
    auto& [constants, require_constants, layout, reconverge, batch_matrices, executor, variant, instrument,
           watch_overflow, lower_only, isolate, aside, stop, use_cache, print_after, printed] = options;
    static_cast<void>(isolate), static_cast<void>(aside), static_cast<void>(stop);
    static_cast<void>(use_cache), static_cast<void>(printed);
    archive(constants, require_constants, layout, reconverge, batch_matrices, executor, variant, instrument,
            watch_overflow, lower_only, print_after);
}

}  // namespace ingot::metal::wire

namespace ingot {

template <typename Archive>
void fields(Archive& archive, Error& error) {
    auto& [kind, message, where] = error;
    archive(kind, message, where);
}

}  // namespace ingot
