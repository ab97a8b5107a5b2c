// A small language of structured programs over 32-bit numbers, which tests of divergent control flow are
// written in or made of at random. A program can be read from text, printed, turned into a kernel (emit.cpp)
// and carried out by an interpreter that moves all threads in lockstep under masks (interpret.cpp) and shares
// nothing with the executors.
//
//   a = x * 3 + t; if (a & 1) { b += simd_sum(a); } else { return; } while (k < a % 5) { break; }
//
// Variables a to f start at 0. `x` is the thread's input, `t` its index, `l` its lane, `u` a number that is
// the same for all, `k` the rounds that the innermost loop has done. Loops end after kMaxRounds. `log(e)`
// appends to the thread's own memory, `count(e)` adds 1 to a bin that all share, p[e] are 8 private numbers.
// exchange(e, n) is what the thread n places further gave: two barriers, so all threads must get there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::metal::testing::structured {

constexpr uint32_t kVariables = 6, kPrivate = 8, kBins = 16, kMaxRounds = 12;

// Name in the text, arguments.
#define INGOT_STRUCTURED_CALLS(X) \
    X(kSum, "simd_sum", 1)        \
    X(kMin, "simd_min", 1)        \
    X(kMax, "simd_max", 1)        \
    X(kPrefix, "simd_prefix", 1)  \
    X(kFirst, "simd_first", 1)    \
    X(kBallot, "simd_ballot", 1)  \
    X(kAny, "simd_any", 1)        \
    X(kAll, "simd_all", 1)        \
    X(kXor, "simd_xor", 2)        \
    X(kExchange, "exchange", 2)   \
    X(kSelect, "select", 3)

// simd_xor(v, n) is v of the lane with the number XOR n (a constant); 0 if that one isn't active.
enum class Op : uint8_t {
    kNumber,
    kVariable,
    kInput,
    kThread,
    kLane,
    kUniform,
    kRound,
    kPrivateRead,
    kBinary,
#define X(enumerator, text, arguments) enumerator,
    INGOT_STRUCTURED_CALLS(X)
#undef X
};

// Division by 0 gives what division by 1 gives; shifts take their amount modulo 32; comparisons give 0 or 1.
#define INGOT_STRUCTURED_BINARY(X) \
    X("*", 5)                      \
    X("/", 5)                      \
    X("%", 5)                      \
    X("+", 4)                      \
    X("-", 4)                      \
    X("<<", 3)                     \
    X(">>", 3)                     \
    X("<", 2)                      \
    X("==", 2)                     \
    X("!=", 2)                     \
    X("&", 1)                      \
    X("^", 1)                      \
    X("|", 1)

struct Expression {
    Op op = Op::kNumber;
    uint32_t value = 0;  // number or variable
    std::string binary;  // operator of kBinary
    std::vector<Expression> arguments;
};

enum class Kind : uint8_t {
    kAssign,
    kPrivateWrite,
    kLog,
    kCount,
    kIf,
    kWhile,
    kDo,
    kSwitch,
    kBreak,
    kContinue,
    kReturn
};

struct Statement;
using Block = std::vector<Statement>;

struct Case {
    bool is_default = false;
    uint32_t value = 0;
    Block body;  // falls through into the next case
};

struct Statement {
    Kind kind = Kind::kAssign;
    uint32_t variable = 0;
    std::vector<Expression> expressions;  // condition, or value; index and value of kPrivateWrite
    Block body, otherwise;
    std::vector<Case> cases;
};

// Fails the running test if the text isn't a program.
Block parse(std::string_view text);
std::string print(const Block& block, unsigned depth = 0);

struct Options {
    bool simdgroup_functions = true;
    bool exchanges = true;
};
Block generate(uint32_t seed, const Options& options);

// What all threads of one threadgroup leave behind, by thread.
struct Outcome {
    std::vector<uint32_t> variables;  // [threads, kVariables]
    std::vector<uint32_t> logs;       // [threads]
    std::vector<uint32_t> bins;       // [kBins]
    bool operator==(const Outcome&) const = default;
};
Outcome interpret(const Block& program, const std::vector<uint32_t>& inputs, uint32_t uniform);

// The kernel as LLVM IR: buffers 0 inputs, 1 variables, 2 logs, 3 bins, 4 {u, threads of a group}.
std::string to_kernel(const Block& program);

}  // namespace ingot::metal::testing::structured
