#include "tile/emit/names.h"

#include <algorithm>

namespace ingot::tile {
namespace {

constexpr std::string_view kTaken[] = {
    // C++ and MSL
    "alignas", "alignof", "and", "array", "asm", "atomic", "auto", "bfloat", "bool", "break", "case", "catch",
    "char", "class", "const", "constant", "constexpr", "continue", "decltype", "default", "delete", "device",
    "do", "double", "else", "enum", "explicit", "extern", "false", "float", "for", "fragment", "friend",
    "goto", "half", "if", "inline", "int", "kernel", "long", "main", "metal", "mpp", "mutable", "namespace",
    "new", "not", "operator", "or", "private", "protected", "public", "register", "return", "sampler",
    "short", "signed", "sizeof", "static", "struct", "switch", "tensor", "template", "texture", "this",
    "thread", "threadgroup", "true", "typedef", "typename", "uchar", "uint", "ulong", "union", "unsigned",
    "using", "ushort", "vertex", "virtual", "void", "volatile", "while", "xor", "size_t", "vec", "matrix",
    "exp", "log", "min", "max", "sin", "cos", "abs", "floor", "ceil", "sqrt", "pow", "select", "clamp",
    "round", "dot",
    // the emitter's own
    "args", "shared_memory", "group", "groups", "thread_index", "simdgroup", "lane", "lane_row",
    "lane_column", "place", "row", "column", "atom", "parts_", "total", "half_row", "INFINITY", "NAN",
    "as_type", "op", "e", "kk", "am", "an", "ah", "left", "right", "left_at", "right_at", "left_step",
    "right_step", "left_view", "right_view", "product", "rows", "columns", "descriptor", "at", "rest"};

}  // namespace

std::string msl_name(std::string_view name) {
    const bool taken = std::ranges::find(kTaken, name) != std::end(kTaken) || name.starts_with("__") ||
                       name.starts_with("simd_") || name.starts_with("simdgroup_") || name.starts_with("air");
    return std::string(name) + (taken ? "_" : "");
}

}  // namespace ingot::tile
