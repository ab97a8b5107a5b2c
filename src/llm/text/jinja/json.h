// JSON in and out: the variables of a render, and what `tojson` writes (Python's json.dumps as transformers
// calls it).
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "llm/text/jinja/heap.h"
#include "llm/text/jinja/value.h"

namespace ingot::jinja {

struct JsonOptions {
    bool ensure_ascii = false;
    bool sort_keys = false;
    std::optional<std::string> indent;  // one level of it; an empty one still breaks lines
    std::string item_separator = ", ";
    std::string key_separator = ": ";
};

// Error: kInvalidArgument for what isn't JSON (undefined, functions, iterators).
Result<std::string> to_json(Heap& heap, const Value& value, const JsonOptions& options);

// Texts are borrowed from `json`. Error: kInvalidArgument for invalid UTF-8 and integers over 64 bits, kLimit
// for nesting deeper than the limit.
Result<Value> from_json(Heap& heap, const nlohmann::ordered_json& json, uint32_t depth = 0);

}  // namespace ingot::jinja
