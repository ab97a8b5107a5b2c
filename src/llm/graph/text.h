// Graphs as text, both ways: print(parse(text)) is the same text. Pass tests are written in it, and
// --print-after shows it. One node a line, operands by role, fields that have their default value left out:
//
//   graph tokens=1 sequences=1 outputs=1 kv=f16 window=causal fuse=glu,qkv,ffn
//   backends cpu
//   weight "tok" Q8_0 [512, 64]
//   %0 = input() {name="tokens"} : i32 [1] @cpu
//   %1 = get_rows(rows=%0, table="tok") : f32 [1, 64] @cpu
//   output %1
//
// `;` starts a comment. Weights are [rows, cols]; a parsed graph has them without data.
#pragma once

#include <string>
#include <string_view>

#include "llm/graph/graph.h"

namespace ingot::graph {

struct Module;

std::string print(const Graph& graph);
// The same with the splits, and where each value lies, as comments.
std::string print(const Module& module);

// kCorrupt with the line for text that is malformed or does not pass the verifier.
Result<Graph> parse(std::string_view text);

}  // namespace ingot::graph
