#include "llm/text/jinja/heap.h"

#include <algorithm>
#include <cstring>

#include "llm/text/jinja/print.h"

namespace ingot::jinja {

int64_t Range::length() const {
    // Unsigned: the distance of two bounds and the size of a step may be more than an int64_t holds.
    const auto distance = [](int64_t from, int64_t to) { return uint64_t(to) - uint64_t(from); };
    if (step > 0) return start < stop ? int64_t((distance(start, stop) - 1) / uint64_t(step)) + 1 : 0;
    return start > stop ? int64_t((distance(stop, start) - 1) / distance(step, 0)) + 1 : 0;
}

Heap::Heap(const ChatTemplateLimits& limits) : limits_(limits), arena_(&system_) {}

Result<void> Heap::step(uint64_t cost) {
    steps_ += cost;
    if (steps_ > limits_.max_steps) {
        return fail(ErrorKind::kLimit, "the template takes more than {} steps", limits_.max_steps);
    }
    if (system_.bytes() > limits_.max_heap_bytes) {
        return fail(ErrorKind::kLimit, "the template needs more than {} bytes of memory",
                    limits_.max_heap_bytes);
    }
    return {};
}

Result<void> Heap::search(uint64_t bytes, uint64_t needle_bytes) {
    return step((1 + bytes / 64) * (1 + needle_bytes / 64));
}

Result<void> Heap::claim(uint64_t count, uint64_t unit_bytes) {
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(count, unit_bytes, &bytes)) {
        return fail(ErrorKind::kLimit, "the template builds a value of {} x {} bytes, at most {} accepted",
                    count, unit_bytes, limits_.max_output_bytes);
    }
    if (bytes > limits_.max_output_bytes) {
        return fail(ErrorKind::kLimit, "the template builds a value of {} bytes, at most {} accepted", bytes,
                    limits_.max_output_bytes);
    }
    return step(bytes / 64);
}

std::string_view Heap::keep(std::string_view bytes) {
    if (bytes.empty()) return {};
    auto* copy = static_cast<char*>(arena_.allocate(bytes.size(), 1));
    std::memcpy(copy, bytes.data(), bytes.size());
    return {copy, bytes.size()};
}

Value Heap::text(std::string_view bytes, bool markup) {
    return borrowed(keep(bytes), markup);
}

Value Heap::borrowed(std::string_view bytes, bool markup) {
    return Value(Kind::kText, make(Text{bytes, markup}));
}

Value Heap::pair(Value first, Value second) {
    Values items = values();
    items.assign({first, second});
    return tuple(std::move(items));
}

Value Heap::iterator(Values items, const Error* failure) {
    Iterator iterator{std::move(items), 0, {}};
    if (failure) iterator.failure = KeptError{failure->kind, keep(failure->message), keep(failure->where)};
    return Value(Kind::kIterator, make(std::move(iterator)));
}

Value Heap::undefined_name(std::string_view name) {
    return Value(Kind::kUndefined, make(Undefined{{}, borrowed(keep(name)), {}}));
}

Value Heap::undefined_element(const Value& owner, Value name) {
    return Value(Kind::kUndefined, make(Undefined{{}, name, object_type(owner)}));
}

Value Heap::undefined_hint(std::string_view hint) {
    return Value(Kind::kUndefined, make(Undefined{keep(hint), {}, {}}));
}

Nesting::Nesting(uint32_t& depth, uint32_t limit, std::string_view what) : depth_(depth) {
    if (++depth_ > limit) ok = fail(ErrorKind::kLimit, "{} nested more than {} deep", what, limit);
}

}  // namespace ingot::jinja
