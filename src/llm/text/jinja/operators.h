// Arithmetic of template expressions, as Python computes it. Integers are 64 bits wide: what would not fit is
// a named refusal, never a wrong number.
#pragma once

#include <string>

#include "llm/text/jinja/heap.h"
#include "llm/text/jinja/value.h"

namespace ingot::jinja {

enum class BinaryOp : uint8_t { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };
std::string_view symbol(BinaryOp op);

Result<Value> binary(Heap& heap, BinaryOp op, const Value& a, const Value& b);
Result<Value> negate(const Value& value, bool minus);  // unary - and +
// Text and markup joined: if either is markup, the other one is escaped and the result is markup.
Result<Value> join_text(Heap& heap, const Value& a, const Value& b);
std::string escape_html(std::string_view text);

}  // namespace ingot::jinja
