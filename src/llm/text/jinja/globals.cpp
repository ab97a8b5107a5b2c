// Functions that every template can call: Jinja's own and those that transformers adds.
#include <ctime>

#include "llm/text/jinja/builtin.h"
#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/interpreter.h"
#include "llm/text/jinja/print.h"

namespace ingot::jinja {
namespace {

constexpr int64_t kLongestRange = 100'000;  // the sandbox of Jinja accepts no longer one
constexpr int64_t kLargestBound = int64_t{1} << 60;

Result<Value> range(Call& call) {
    int64_t bounds[3] = {0, 0, 1};
    const size_t given = call.args.has(2) ? 3 : call.args.has(1) ? 2 : 1;
    for (size_t i = 0; i < given; ++i) {
        INGOT_ASSIGN(bounds[given == 1 ? 1 : i], integer_argument(call.args[i], "an argument of range()"));
    }
    for (const int64_t bound : bounds) {
        if (bound > kLargestBound || bound < -kLargestBound) {
            return fail(ErrorKind::kUnsupported, "range() bounds over 2^60 aren't supported");
        }
    }
    const Range result{bounds[0], bounds[1], bounds[2]};
    if (result.step == 0) return fail(ErrorKind::kInvalidArgument, "range() arg 3 must not be zero");
    if (result.length() > kLongestRange) {
        return fail(ErrorKind::kInvalidArgument, "Range too big: {} items, at most {} accepted",
                    result.length(), kLongestRange);
    }
    return Value(Kind::kRange, call.heap.make(result));
}

// What dict(...) and namespace(...) take: a mapping or pairs, then keywords.
Result<std::pmr::vector<Entry>> entries(Call& call) {
    std::pmr::vector<Entry> result(call.heap.arena());
    const Arguments& arguments = call.args.rest;
    if (arguments.positional.size() > 1) {
        return fail(ErrorKind::kInvalidArgument, "dict expected at most 1 argument, got {}",
                    arguments.positional.size());
    }
    for (const Value& source : arguments.positional) {
        if (source.is(Kind::kDict)) {
            result = source.dict().entries;
            continue;
        }
        INGOT_ASSIGN(const std::span<const Value> pairs, items_of(call.heap, source));
        for (const Value& pair : pairs) {
            INGOT_ASSIGN(const std::span<const Value> parts, items_of(call.heap, pair));
            if (parts.size() != 2) {
                return fail(ErrorKind::kInvalidArgument, "an item of dict() has length {}; 2 is required",
                            parts.size());
            }
            INGOT_TRY(set_key(call.heap, result, parts[0], parts[1]));
        }
    }
    for (const NamedValue& argument : arguments.named) {
        INGOT_TRY(set_key(call.heap, result, call.heap.text(argument.name), argument.value));
    }
    return result;
}

Result<Value> dict(Call& call) {
    INGOT_ASSIGN(std::pmr::vector<Entry> result, entries(call));
    return call.heap.dict(std::move(result));
}

Result<Value> name_space(Call& call) {
    INGOT_ASSIGN(const std::pmr::vector<Entry> result, entries(call));
    Namespace names{std::pmr::vector<std::pair<std::string_view, Value>>(call.heap.arena())};
    for (const Entry& entry : result) {
        INGOT_ASSIGN(const std::string_view name, text_argument(entry.key, "a name of namespace()"));
        if (name.starts_with('_')) {
            return fail(ErrorKind::kInvalidArgument,
                        "cannot store the underscore-prefixed attribute '{}' on a namespace", name);
        }
        names.names.emplace_back(name, entry.value);
    }
    return Value(Kind::kNamespace, call.heap.make(std::move(names)));
}

Result<Value> cycler(Call& call) {
    if (call.args.rest.positional.empty())
        return fail(ErrorKind::kInvalidArgument, "at least one item has to be provided");
    Values items = call.heap.values();
    items.assign(call.args.rest.positional.begin(), call.args.rest.positional.end());
    return Value(Kind::kCycler, call.heap.make(Cycler{std::move(items), 0}));
}

Result<Value> joiner(Call& call) {
    INGOT_ASSIGN(const Value separator, call.args.has(0) ? to_text_value(call.heap, call.args[0])
                                                         : Result<Value>(call.heap.borrowed(", ")));
    return Value(Kind::kJoiner, call.heap.make(Joiner{separator, false}));
}

Result<Value> raise_exception(Call& call) {
    INGOT_ASSIGN(const std::string message, to_text(call.heap, call.args[0]));
    return fail(ErrorKind::kInvalidArgument, "{}", message);
}

Result<Value> strftime_now(Call& call) {
    INGOT_ASSIGN(const std::string_view format, text_argument(call.args[0], "strftime_now: the format"));
    constexpr size_t kLongestFormat = 256;
    if (format.size() > kLongestFormat) {
        return fail(ErrorKind::kLimit, "strftime_now: a format of {} bytes, at most {} accepted",
                    format.size(), kLongestFormat);
    }
    // strftime returns 0 for an empty result and for one that doesn't fit: a space in front tells which.
    char buffer[8192];
    const size_t size =
        std::strftime(buffer, sizeof buffer, fmt::format(" {}", format).c_str(), &call.interpreter.now());
    if (size == 0)
        return fail(ErrorKind::kLimit, "strftime_now: the result is longer than {} bytes", sizeof buffer);
    return call.heap.text({buffer + 1, size - 1});
}

Result<Value> lipsum(Call&) {
    return fail(ErrorKind::kUnsupported, "the function lipsum() isn't supported");
}

constexpr Builtin kGlobals[] = {
    builtin("range", range, 1, {"", "", ""}),
    variadic("dict", dict),
    variadic("namespace", name_space),
    variadic("cycler", cycler),
    builtin("joiner", joiner, 0, {"sep"}),
    builtin("raise_exception", raise_exception, 1, {"message"}),
    builtin("strftime_now", strftime_now, 1, {"format"}),
    variadic("lipsum", lipsum),
};

}  // namespace

std::span<const Builtin> globals() {
    return kGlobals;
}

}  // namespace ingot::jinja
