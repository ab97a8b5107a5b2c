// What checkers find. One table lists the checkers, one the kinds of findings: they give the names of
// `--check`, the rules of SARIF files, the table in docs/checking.md, and the sweep of the tests.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "metal/check/event.h"

namespace ingot::metal::check {

// Enumerator, name, whether it is on by default, what it does. Class NAME of each is made by make_NAME
// (checkers.h).
#define INGOT_METAL_CHECKERS(X)                                                                            \
    X(kBounds, bounds, true, "accesses outside of buffers, threadgroup memory, private arrays, constants") \
    X(kRace, race, true, "accesses of two threads to one place, one of them a write, that nothing orders") \
    X(kUninitialised, uninitialised, true, "reads of memory and variables that nobody wrote")              \
    X(kDivergence, divergence, true, "barriers that not all threads of a threadgroup reach")               \
    X(kSimd, simd, true, "simdgroup functions and matrices that some lanes skip, shuffles from nowhere")   \
    X(kBinding, binding, true, "arguments that a launch leaves out, binds too small or misaligned")        \
    X(kTensor, tensor, true, "cooperative tensors: elements that aren't there, layouts that are assumed")  \
    X(kApi, api, true, "calls that the rules of the Metal API forbid")                                     \
    X(kOrder, order, true, "dispatches, and accesses of the host, that nothing orders")                    \
    X(kOverflow, overflow, false, "index arithmetic that leaves 32 bits")                                  \
    X(kValues, values, false, "stores of infinities and NaNs")

enum class CheckerId : uint8_t {
#define X(enumerator, name, by_default, text) enumerator,
    INGOT_METAL_CHECKERS(X)
#undef X
};

// Checker, enumerator, name, what it means.
#define INGOT_METAL_FINDINGS(X)                                                                              \
    X(kBounds, kBufferBounds, "buffer-bounds", "an access past the end or before the beginning of a buffer") \
    X(kBounds, kThreadgroupBounds, "threadgroup-bounds", "an access outside of a threadgroup variable")      \
    X(kBounds, kPrivateBounds, "private-bounds", "an access outside of a thread's own array")                \
    X(kBounds, kConstantBounds, "constant-bounds", "a read outside of the program's constant data")          \
    X(kBounds, kUnknownAddress, "unknown-address", "an access to memory that isn't bound")                   \
    X(kBounds, kMisaligned, "misaligned", "an address that isn't a multiple of what its type needs")         \
    X(kRace, kThreadgroupRace, "threadgroup-race", "a race in threadgroup memory: no barrier between")       \
    X(kRace, kDeviceRace, "device-race", "a race in a buffer between threads of one threadgroup")            \
    X(kRace, kGroupRace, "group-race", "a race in a buffer between threadgroups, which no barrier orders")   \
    X(kRace, kLockstep, "lockstep", "only the lockstep of a simdgroup orders two accesses")                  \
    X(kUninitialised, kUninitialisedThreadgroup, "uninitialised-threadgroup",                                \
      "a read of threadgroup memory that no thread of the group wrote")                                      \
    X(kUninitialised, kUninitialisedBuffer, "uninitialised-buffer", "a read of a buffer before any write")   \
    X(kUninitialised, kUninitialisedLocal, "uninitialised-local", "a use of a variable that has no value")   \
    X(kDivergence, kBarrierDivergence, "barrier-divergence", "a barrier that some threads never reach")      \
    X(kDivergence, kDifferentBarriers, "different-barriers", "threads that wait at different barriers")      \
    X(kSimd, kDivergentSimdFunction, "divergent-simd-function", "a simdgroup function that some lanes skip") \
    X(kSimd, kDivergentMatrix, "divergent-matrix", "a simdgroup matrix operation that some lanes skip")      \
    X(kSimd, kDivergentSimdgroupBarrier, "divergent-simdgroup-barrier",                                      \
      "a simdgroup_barrier that some lanes skip")                                                            \
    X(kSimd, kShuffleInactiveLane, "shuffle-inactive-lane", "a shuffle from a lane that takes no part")      \
    X(kSimd, kShuffleOutOfRange, "shuffle-out-of-range", "a shuffle from a lane that doesn't exist")         \
    X(kTensor, kTensorCapacity, "tensor-capacity", "an element of a cooperative tensor past its capacity")   \
    X(kTensor, kInvalidElement, "invalid-element",                                                           \
      "the place of an element of a cooperative tensor that stands for nothing")                             \
    X(kTensor, kMixedLayouts, "mixed-layouts",                                                               \
      "a cooperative tensor used as an operand that it wasn't made for")                                     \
    X(kTensor, kLayoutDependence, "layout-dependence",                                                       \
      "results that depend on how cooperative tensors lie in threads")                                       \
    X(kBinding, kMissingBuffer, "missing-buffer", "an argument for which nothing is bound")                  \
    X(kBinding, kSmallBuffer, "small-buffer", "a buffer that is smaller than the one object it stands for")  \
    X(kBinding, kMisalignedBuffer, "misaligned-buffer",                                                      \
      "a buffer whose address its element type can't have")                                                  \
    X(kBinding, kMissingThreadgroupMemory, "missing-threadgroup-memory",                                     \
      "a threadgroup argument without a length")                                                             \
    X(kBinding, kWrongArgument, "wrong-argument",                                                            \
      "a buffer bound where threadgroup memory is taken, or the reverse")                                    \
    X(kBinding, kUnusedBinding, "unused-binding", "something bound that the kernel doesn't take")            \
    X(kBinding, kBrokenRestrict, "broken-restrict",                                                          \
      "memory reached by two arguments, of which one promised to be alone")                                  \
    X(kApi, kInvalidOffset, "invalid-offset", "an offset past a buffer's end, or not at a multiple of 4")    \
    X(kApi, kInvalidArgument, "invalid-argument", "a slot, a size or a length that Metal doesn't take")      \
    X(kApi, kLargeThreadgroup, "large-threadgroup", "more threads in a threadgroup than the pipeline takes") \
    X(kApi, kLargeThreadgroupMemory, "large-threadgroup-memory",                                             \
      "more threadgroup memory than the device has")                                                         \
    X(kApi, kMisalignedNoCopy, "misaligned-no-copy", "a no-copy buffer that isn't made of whole pages")      \
    X(kApi, kOpenEncoder, "open-encoder", "an encoder that wasn't ended, or was used after its end")         \
    X(kApi, kBufferInUse, "buffer-in-use", "a buffer that was released while commands use it")               \
    X(kOrder, kDispatchRace, "dispatch-race",                                                                \
      "dispatches of a concurrent encoder that touch one place, with no barrier between")                    \
    X(kOrder, kHostAccess, "host-access", "contents() before the command buffer that writes is completed")   \
    X(kOverflow, kIndexOverflow, "index-overflow", "index arithmetic that wraps around")                     \
    X(kValues, kNonFinite, "non-finite", "a store of an infinity or a NaN")

enum class FindingKind : uint8_t {
#define X(checker, enumerator, name, text) enumerator,
    INGOT_METAL_FINDINGS(X)
#undef X
};

struct CheckerFacts {
    CheckerId id;
    std::string_view name, text;
    bool by_default;
};
struct KindFacts {
    FindingKind kind;
    CheckerId checker;
    std::string_view name, text;
};
const std::vector<CheckerFacts>& all_checkers();
const std::vector<KindFacts>& all_finding_kinds();
const KindFacts& facts_of(FindingKind kind);
// "all", "default", or names separated by commas. Error kInvalidArgument naming what there is.
Result<std::vector<CheckerId>> parse_checkers(std::string_view list);

struct CodePlace {
    std::string file;  // empty where no line is known
    uint32_t line = 0;
    uint32_t instruction = 0;  // number in the kernel's code; 0: the launch as such
    std::string caller_file;
    uint32_t caller_line = 0;
};

struct Finding {
    FindingKind kind;
    std::string kernel;
    CodePlace place;
    std::optional<CodePlace> other = {};  // of a race: the access before
    std::string text = {};                // one sentence or two
    std::string memory = {};              // "buffer 1 ('sums')"; empty if none is concerned
    int64_t offset_bytes = 0;
    std::optional<Position> thread = {}, group = {};
    uint64_t count = 1;  // how often the same was seen
    uint64_t order = 0;  // of findings, if threadgroups run in the order of the grid
};

// A site that is none: of findings about a launch.
constexpr uint32_t kNoSite = ~0u;

// Collects findings, in the order in which they come; what repeats is counted. Sites of one source line and
// one object are one place: the compiler unrolls loops.
class Findings {
  public:
    void begin(const Kernel& kernel);
    const Kernel& kernel() const { return *kernel_; }
    // What is added from here on is met in that threadgroup.
    void at_group(uint32_t number) { next_order_ = (uint64_t{number} + 1) << 24; }
    // Takes over what was found in other threadgroups of the same launch: as if all had been met in order.
    void join(Findings& other);
    // The finding to fill in if it is the first of its kind there; null if it was counted. `slot` tells
    // findings about a launch apart.
    Finding* add(FindingKind kind, uint32_t site, uint32_t slot = 0);
    // Of two places, whichever comes first.
    Finding* add_pair(FindingKind kind, uint32_t site, uint32_t other_site);
    // What only lockstep orders is left out where the same places race as well.
    std::vector<Finding> take();

  private:
    using Key = std::tuple<FindingKind, uint32_t, uint32_t>;
    Finding* add(const Key& key, uint32_t site, uint32_t other_site);

    const Kernel* kernel_ = nullptr;
    uint64_t next_order_ = 0;
    std::vector<uint32_t> places_;  // the first site of each site's line
    std::vector<Finding> found_;
    std::map<Key, size_t> known_;
};

}  // namespace ingot::metal::check
