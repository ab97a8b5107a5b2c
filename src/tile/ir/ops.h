// The two tables of the Tile IR: operators of expressions and statements. Enum, printer, parser, verifier,
// effects, docs (docs/tile-language.md is checked against them) and tests derive from these rows and from
// nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace ingot::tile {

// How an operator is written: infix with a precedence (higher binds tighter), prefix, or name(...). A leaf
// has its own syntax.
enum class Form : uint8_t { kLeaf, kInfix, kPrefix, kCall };

// What types an operator takes and gives.
enum class TypeRule : uint8_t {
    kLeaf,     // given by the node
    kNumber,   // equal numeric types -> that type
    kFloat,    // equal float types -> that type
    kInteger,  // equal integer types -> that type
    kCompare,  // equal types -> bool
    kLogic,    // bools -> bool
    kSelect,   // bool, T, T -> T
    kCast,     // any -> the node's type
    kBits,     // any -> the node's type, which has as many bytes
    kShuffle,  // a number, i32 -> the first's type
};

// X(id, spelling, form, precedence, arity, rule, meaning)
#define INGOT_TILE_EXPRS(X)                                                                       \
    X(Const, "", Leaf, 0, 0, Leaf, "a number: 3, 0.5, f16(0.5), inf, true")                       \
    X(Var, "", Leaf, 0, 0, Leaf, "a grid index, loop index, carried value or let")                \
    X(Dim, "", Leaf, 0, 0, Leaf, "a size bound at launch")                                        \
    X(Scalar, "", Leaf, 0, 0, Leaf, "a number bound at launch")                                   \
    X(Load, "", Leaf, 0, 0, Leaf, "an element; outside of a tensor it is 0")                      \
    X(Or, "||", Infix, 1, 2, Logic, "logical or")                                                 \
    X(And, "&&", Infix, 2, 2, Logic, "logical and")                                               \
    X(BitOr, "|", Infix, 3, 2, Integer, "bitwise or")                                             \
    X(BitXor, "^", Infix, 4, 2, Integer, "bitwise exclusive or")                                  \
    X(BitAnd, "&", Infix, 5, 2, Integer, "bitwise and")                                           \
    X(Eq, "==", Infix, 6, 2, Compare, "equal")                                                    \
    X(Ne, "!=", Infix, 6, 2, Compare, "not equal")                                                \
    X(Lt, "<", Infix, 7, 2, Compare, "less")                                                      \
    X(Le, "<=", Infix, 7, 2, Compare, "less or equal")                                            \
    X(Gt, ">", Infix, 7, 2, Compare, "greater")                                                   \
    X(Ge, ">=", Infix, 7, 2, Compare, "greater or equal")                                         \
    X(Shl, "<<", Infix, 8, 2, Integer, "shift left; the count is below the type's bits")          \
    X(Shr, ">>", Infix, 8, 2, Integer, "shift right, arithmetic for signed types")                \
    X(Add, "+", Infix, 9, 2, Number, "sum")                                                       \
    X(Sub, "-", Infix, 9, 2, Number, "difference")                                                \
    X(Mul, "*", Infix, 10, 2, Number, "product")                                                  \
    X(Div, "/", Infix, 10, 2, Number, "quotient; of integers the floor of it")                    \
    X(Mod, "%", Infix, 10, 2, Integer, "what the floor division leaves, with the divisor's sign") \
    X(Neg, "-", Prefix, 11, 1, Number, "negation")                                                \
    X(Not, "!", Prefix, 11, 1, Logic, "logical not")                                              \
    X(BitNot, "~", Prefix, 11, 1, Integer, "bitwise not")                                         \
    X(Min, "min", Call, 0, 2, Number, "the lesser; a NaN gives the other operand")                \
    X(Max, "max", Call, 0, 2, Number, "the greater; a NaN gives the other operand")               \
    X(CeilDiv, "ceildiv", Call, 0, 2, Integer, "quotient rounded up")                             \
    X(Abs, "abs", Call, 0, 1, Number, "magnitude")                                                \
    X(Floor, "floor", Call, 0, 1, Float, "round down")                                            \
    X(Ceil, "ceil", Call, 0, 1, Float, "round up")                                                \
    X(Round, "round", Call, 0, 1, Float, "nearest integer, ties to even")                         \
    X(Exp, "exp", Call, 0, 1, Float, "e to the power")                                            \
    X(Exp2, "exp2", Call, 0, 1, Float, "2 to the power")                                          \
    X(Log, "log", Call, 0, 1, Float, "natural logarithm")                                         \
    X(Log2, "log2", Call, 0, 1, Float, "binary logarithm")                                        \
    X(Sqrt, "sqrt", Call, 0, 1, Float, "square root")                                             \
    X(Rsqrt, "rsqrt", Call, 0, 1, Float, "1 / square root")                                       \
    X(Sin, "sin", Call, 0, 1, Float, "sine")                                                      \
    X(Cos, "cos", Call, 0, 1, Float, "cosine")                                                    \
    X(Tanh, "tanh", Call, 0, 1, Float, "hyperbolic tangent")                                      \
    X(Sigmoid, "sigmoid", Call, 0, 1, Float, "1 / (1 + exp(-x))")                                 \
    X(Erf, "erf", Call, 0, 1, Float, "error function")                                            \
    X(Pow, "pow", Call, 0, 2, Float, "power of a non-negative base")                              \
    X(Select, "select", Call, 0, 3, Select, "select(c, a, b) is a where c holds, else b")         \
    X(Shuffle, "shuffle", Call, 0, 2, Shuffle, "what a is in iteration b of the same 32")         \
    X(Cast, "", Call, 0, 1, Cast, "f32(x): conversion; floats to integers truncate")              \
    X(Bits, "", Call, 0, 1, Bits, "as_f16(x): the same bits as another type")

enum class ExprOp : uint8_t {
#define X(id, ...) k##id,
    INGOT_TILE_EXPRS(X)
#undef X
};

struct ExprOpFacts {
    ExprOp op;
    std::string_view id, spelling;
    Form form;
    int precedence;
    int arity;
    TypeRule rule;
    std::string_view meaning;
};

inline constexpr ExprOpFacts kExprOps[] = {
#define X(id, spelling, form, precedence, arity, rule, meaning) \
    {ExprOp::k##id, #id, spelling, Form::k##form, precedence, arity, TypeRule::k##rule, meaning},
    INGOT_TILE_EXPRS(X)
#undef X
};

constexpr const ExprOpFacts& facts(ExprOp op) {
    return kExprOps[size_t(op)];
}

// Where a statement may stand: group level (all threads together), inside `parallel` (one iteration), or
// both.
enum class Place : uint8_t { kGroup, kElement, kAnywhere };

// X(id, keyword, regions, place, syntax, meaning). `regions` has a letter for each region: w written, r read,
// u read and written.
#define INGOT_TILE_STMTS(X)                                                                                  \
    X(Alloc, "alloc", "", Anywhere, "shared|fragment|local NAME: TYPE[SIZES]",                               \
      "memory of the group (shared, fragment) or of an iteration (local)")                                   \
    X(Copy, "copy", "wr", Group, "copy DST = SRC [fill X]",                                                  \
      "converts; outside of a tensor reads give X (0) and writes do nothing")                                \
    X(Fill, "fill", "w", Group, "fill DST = X", "every element of DST becomes X")                            \
    X(Gemm, "gemm", "urr", Group, "gemm C += A @ B; also =, A^T, B^T, policy(P)",                            \
      "matrix product added to C (or, with =, stored), accumulated in C's type or wider")                    \
    X(Reduce, "reduce", "ur", Group, "reduce DST = sum|max|min|absmax|prod(SRC, AXIS); also +=-like `with`", \
      "combines along an axis; `reduce DST with max(...)` also combines with what DST holds")                \
    X(CumSum, "cumsum", "wr", Group, "cumsum DST = SRC, AXIS", "inclusive prefix sums along an axis")        \
    X(Store, "store", "w", Element, "B[I, J] = X", "one element; outside of a tensor nothing happens")       \
    X(AtomicAdd, "atomic_add", "u", Element, "atomic_add B[I] += X", "adds indivisibly")                     \
    X(For, "for", "", Anywhere, "for I < N [unroll|pipelined(S)] [carry V: T = X -> R, ...] { ... }",        \
      "runs in order; carried values come from the body's yield")                                            \
    X(Parallel, "parallel", "", Group, "parallel I < N, J < M { ... }",                                      \
      "independent iterations, spread over the threads")                                                     \
    X(If, "if", "", Anywhere, "if C { ... } [else { ... }]", "branches; at group level all threads agree")   \
    X(Let, "let", "", Anywhere, "let V = X", "names a value")                                                \
    X(Yield, "yield", "", Anywhere, "yield X, ...", "the carried values of the next iteration")              \
    X(Barrier, "barrier", "", Group, "barrier", "all threads meet, and see each other's writes")             \
    X(Print, "print", "", Element, "print \"text\", X, ...", "writes a line to the device's log")            \
    X(Assert, "assert", "", Anywhere, "assert C, \"text\"",                                                  \
      "checked by the interpreter and, if asked for, on the device")

enum class StmtOp : uint8_t {
#define X(id, ...) k##id,
    INGOT_TILE_STMTS(X)
#undef X
};

struct StmtOpFacts {
    StmtOp op;
    std::string_view keyword, regions;
    Place place;
    std::string_view syntax, meaning;
};

inline constexpr StmtOpFacts kStmtOps[] = {
#define X(id, keyword, regions, place, syntax, meaning) \
    {StmtOp::k##id, keyword, regions, Place::k##place, syntax, meaning},
    INGOT_TILE_STMTS(X)
#undef X
};

constexpr const StmtOpFacts& facts(StmtOp op) {
    return kStmtOps[size_t(op)];
}

// X(id, keyword, identity, combine of doubles a and b)
#define INGOT_TILE_REDUCTIONS(X)                                             \
    X(Sum, "sum", 0.0, a + b)                                                \
    X(Max, "max", -std::numeric_limits<double>::infinity(), std::fmax(a, b)) \
    X(Min, "min", std::numeric_limits<double>::infinity(), std::fmin(a, b))  \
    X(AbsMax, "absmax", 0.0, std::fmax(std::fabs(a), std::fabs(b)))          \
    X(Prod, "prod", 1.0, a* b)

enum class Reduction : uint8_t {
#define X(id, ...) k##id,
    INGOT_TILE_REDUCTIONS(X)
#undef X
};

inline constexpr std::string_view kReductionNames[] = {
#define X(id, keyword, ...) keyword,
    INGOT_TILE_REDUCTIONS(X)
#undef X
};

enum class Policy : uint8_t { kSquare, kFullRow, kFullCol };
inline constexpr std::string_view kPolicyNames[] = {"square", "full_row", "full_col"};

enum class LoopKind : uint8_t { kSerial, kUnroll, kPipelined };

enum class SwizzleOrder : uint8_t { kNone, kRow, kColumn, kMlx };
inline constexpr std::string_view kSwizzleNames[] = {"none", "row", "column", "mlx"};

enum class Scope : uint8_t { kGlobal, kShared, kFragment, kLocal };
inline constexpr std::string_view kScopeNames[] = {"global", "shared", "fragment", "local"};

enum class Role : uint8_t { kIn, kOut, kInOut, kNone };
inline constexpr std::string_view kRoleNames[] = {"in", "out", "inout", ""};

}  // namespace ingot::tile
