// The tuning database: an SQLite file of everything that tuning tried, with the reason where it came to
// nothing, what was measured, and the plan that won the replay, by a key that says what it holds for. Knows
// nothing of devices and makes no decision. A program built without SQLite has an Error in its place.
#pragma once

#include <memory>
#include <string>

#include "tile/api/compile.h"

namespace ingot::tile {

// What a tuned plan holds for. `strides` and `shapes` are those of all tensors, `compiler` changes whenever
// what it emits does.
#define INGOT_TILE_TUNING_KEY(X) X(kernel_hash) X(target) X(shapes) X(strides) X(options) X(compiler)

struct TuningKey {
    std::string kernel;  // its name, for people
#define X(name) std::string name;
    INGOT_TILE_TUNING_KEY(X)
#undef X
};

// Of a kernel whose dims `options` give. Errors: a dim without a value; what stops the compiler.
Result<TuningKey> tuning_key(const Kernel& k, const CompileOptions& options);

struct TuningRun {
    std::string device, device_compiler;
    std::string ranking;       // what values mean: "counters, no time" or "seconds"
    std::string validated_by;  // where the expected outputs come from
    double budget_seconds = 0, tolerance = 0;
};

// How a candidate ended.
#define INGOT_TILE_TUNING_ENDS(X)                                              \
    X(Measured, "measured", "compiled, ran, right in every element, measured") \
    X(Refused, "refused", "not legal; the reason is the proof that failed")    \
    X(Left, "left", "legal, but not on the shortlist or past the budget")      \
    X(Same, "same", "the same source as one before")                           \
    X(Failed, "failed", "didn't compile, or didn't run")                       \
    X(Wrong, "wrong", "an output differs from what is expected")

enum class TuningEnd : uint8_t {
#define X(id, ...) k##id,
    INGOT_TILE_TUNING_ENDS(X)
#undef X
};
inline constexpr std::string_view kTuningEndNames[] = {
#define X(id, name, meaning) name,
    INGOT_TILE_TUNING_ENDS(X)
#undef X
};

struct TuningCandidate {
    std::string what, plan, basis;  // plan: plan_text.h; empty for what was refused
    double score = 0;               // of the work model
    TuningEnd end = TuningEnd::kLeft;
    std::string reason;
    std::optional<double> search_value;  // the least of the search; a result is only what replay gives
};

struct TuningReplay {
    int64_t candidate = 0;
    uint32_t round = 0, position = 0;
    double value = 0;
};

struct TunedPlan {
    std::string what, plan, device, ranking;
    double replay_median = 0, planner_median = 0;  // of this plan and of the planner's own choice
};

class TuningDatabase {
  public:
    // Makes the file where there is none, if `create`. Errors: kUnsupported in a build without SQLite; kIo,
    // kCorrupt: what SQLite says of the file, or another schema.
    static Result<std::unique_ptr<TuningDatabase>> open(const std::string& path, bool create);
    virtual ~TuningDatabase() = default;

    // Ids of new rows.
    virtual Result<int64_t> add_run(const TuningKey& key, const TuningRun& run) = 0;
    virtual Result<int64_t> add_candidate(int64_t run, const TuningCandidate& candidate) = 0;
    virtual Result<void> add_replay(int64_t run, const TuningReplay& replay) = 0;
    // In the place of the key's older plan.
    virtual Result<void> set_plan(const TuningKey& key, int64_t run, int64_t candidate,
                                  const TunedPlan& plan) = 0;
    // Error kNotFound: none for this key; it says which of the key's parts no plan of the kernel has.
    virtual Result<TunedPlan> plan_of(const TuningKey& key) = 0;
};

// The planner's options of the plan that the file has for this kernel.
Result<PlannerOptions> tuned_planner(const std::string& path, const Kernel& k, const CompileOptions& options);

}  // namespace ingot::tile
