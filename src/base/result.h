// Errors as values. Everything that comes from outside (files, text, flags, requests) yields Result<T>; a
// violated invariant of ours aborts through INGOT_CHECK (check.h). A message names what was observed and what
// would be accepted, so that its reader can act on it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <tl/expected.hpp>

namespace ingot {

enum class ErrorKind {
    kInvalidArgument,  // a flag, request or call that can't be served as it stands
    kNotFound,         // a file, tensor, key or name that isn't there
    kIo,               // the operating system refused
    kCorrupt,          // a file or text that breaks its own format
    kUnsupported,      // well formed, but this build or device doesn't serve it
    kLimit,            // a bound (memory, context, steps, time) was reached
    kCancelled,        // the user stopped it
};

std::string_view to_string(ErrorKind kind);

struct Error {
    ErrorKind kind;
    std::string message;
    // Where it happened, outermost first: "model.gguf: tensor 'output.weight'". Empty if the message says it
    // all.
    std::string where;

    // "where: message", or the message alone.
    std::string describe() const { return where.empty() ? message : where + ": " + message; }
};

template <typename T>
using Result = tl::expected<T, Error>;

using Failure = tl::unexpected<Error>;

// fail(ErrorKind::kCorrupt, "{} tensors, at most {} accepted", n, max): an Error ready to be returned.
template <typename... Args>
[[nodiscard]] Failure fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
    return Failure(Error{kind, fmt::format(format, std::forward<Args>(args)...), {}});
}

// Puts `where` in front of the place that an Error already names.
[[nodiscard]] Error with_context(Error error, std::string_view where);

}  // namespace ingot

// INGOT_TRY(expr): returns the Error of a Result<void> (or of any Result whose value isn't needed).
#define INGOT_TRY(...)                                                 \
    do {                                                               \
        if (auto ingot_result_ = (__VA_ARGS__); !ingot_result_)        \
            return ::ingot::Failure(std::move(ingot_result_).error()); \
    } while (false)

// INGOT_ASSIGN(auto x, expr): x is the value, or the enclosing function returns the Error.
#define INGOT_ASSIGN(target, ...) INGOT_ASSIGN_(INGOT_CONCAT_(ingot_result_, __LINE__), target, __VA_ARGS__)
#define INGOT_ASSIGN_(tmp, target, ...)                        \
    auto tmp = (__VA_ARGS__);                                  \
    if (!tmp) return ::ingot::Failure(std::move(tmp).error()); \
    target = *std::move(tmp)
#define INGOT_CONCAT_(a, b) INGOT_CONCAT2_(a, b)
#define INGOT_CONCAT2_(a, b) a##b
