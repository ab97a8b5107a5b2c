// Where the objects of one render live, and what bounds the render: steps, nesting, bytes. Freed all at once.
#pragma once

#include <ctime>
#include <memory_resource>
#include <string>
#include <string_view>

#include "llm/text/chat_template_limits.h"
#include "llm/text/jinja/value.h"

namespace ingot::jinja {

// Counts what a monotonic arena takes from the system.
class CountingResource : public std::pmr::memory_resource {
  public:
    uint64_t bytes() const { return bytes_; }

  private:
    void* do_allocate(size_t bytes, size_t alignment) override {
        bytes_ += bytes;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* pointer, size_t bytes, size_t alignment) override {
        std::pmr::new_delete_resource()->deallocate(pointer, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    uint64_t bytes_ = 0;
};

class Heap {
  public:
    explicit Heap(const ChatTemplateLimits& limits);

    // Accounts for `cost` units of work. kLimit once steps or memory are used up.
    Result<void> step(uint64_t cost = 1);
    // Looking for `needle_bytes` in `bytes`: as much work as text that repeats itself makes of it.
    Result<void> search(uint64_t bytes, uint64_t needle_bytes);
    // To be called before something of `count` units is built in one go; kLimit if it is too large. Counts
    // come from templates, and their product may be more than 64 bits hold.
    Result<void> claim(uint64_t count, uint64_t unit_bytes = 1);
    const ChatTemplateLimits& limits() const { return limits_; }

    template <typename T>
    T* make(T value) {
        return new (arena_.allocate(sizeof(T), alignof(T))) T(std::move(value));
    }
    Values values() { return Values(&arena_); }
    std::pmr::memory_resource* arena() { return &arena_; }

    Value text(std::string_view bytes, bool markup = false);      // copies the bytes
    Value borrowed(std::string_view bytes, bool markup = false);  // the bytes outlive the render
    std::string_view keep(std::string_view bytes);
    Value list(Values items) { return Value(Kind::kList, make(Sequence{std::move(items)})); }
    Value tuple(Values items) { return Value(Kind::kTuple, make(Sequence{std::move(items)})); }
    Value pair(Value first, Value second);
    Value dict(std::pmr::vector<Entry> entries) { return Value(Kind::kDict, make(Dict{std::move(entries)})); }
    Value iterator(Values items, const Error* failure = nullptr);
    Value undefined_name(std::string_view name);
    Value undefined_element(const Value& owner, Value name);
    Value undefined_hint(std::string_view hint);

  private:
    ChatTemplateLimits limits_;
    CountingResource system_;
    std::pmr::monotonic_buffer_resource arena_;
    uint64_t steps_ = 0;
};

// One level of nesting for as long as it lives; `ok` is the Error of going too deep.
class Nesting {
  public:
    Nesting(uint32_t& depth, uint32_t limit, std::string_view what);
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

    Result<void> ok;

  private:
    uint32_t& depth_;
};

}  // namespace ingot::jinja
