// The tuner: tries the plans of a shortlist on a device and keeps what came of each. Search and replay are
// two steps. The search compiles, checks every element of every output, and only then measures, until its
// part of the budget is gone; its least value picks who goes on and is no result. The replay measures that
// one, the planner's own choice and the reference way anew, in balanced order; the plan with the least median
// there is written down for later compiles.
#pragma once

#include <functional>

#include "tile/ir/interpret.h"
#include "tile/tuner/database.h"

namespace ingot::tile {

using TuningOutputs = std::map<std::string, std::vector<double>>;

// One compiled kernel with its arguments, ready to run on the device.
class TuningLaunch {
  public:
    virtual ~TuningLaunch() = default;
    // All outputs after one launch from the arguments' values.
    virtual Result<TuningOutputs> run() = 0;
    // What one launch takes; less is better.
    virtual Result<double> measure() = 0;
};

class TuningDevice {
  public:
    virtual ~TuningDevice() = default;
    virtual std::string name() const = 0;
    virtual std::string compiler() const = 0;
    // What values are, as the database and reports label them.
    virtual std::string ranking() const = 0;
    virtual Result<std::unique_ptr<TuningLaunch>> prepare(const CompiledKernel& compiled) = 0;
};

struct TuningRequest {
    CompileOptions compile;  // with a value for each dim
    TuningOutputs expected;
    std::string validated_by;
    double tolerance = 0;  // of an element, in parts of the output's largest magnitude (at least 1)
    double budget_seconds = 60;
    size_t shortlist = 16;
    uint32_t measurements = 3, replays = 2;  // of a candidate; rounds in each order
    std::function<double()> seconds;         // a clock
    std::function<void(const std::string&)> say;
};

struct TuningReport {
    size_t candidates = 0, measured = 0, refused = 0, left = 0, same = 0, failed = 0, wrong = 0;
    std::string searched;  // what the search would take
    double search_least = 0;
    TunedPlan plan;
    double reference_median = 0;
    uint32_t replay_rounds = 0;
};

// Errors: the planner's own choice or the reference way doesn't run right; the database's.
Result<TuningReport> tune(const Kernel& k, TuningDevice& device, const TuningRequest& request,
                          TuningDatabase& database);

// How far the outputs are from those expected, in parts of the output's largest magnitude (at least 1);
// infinite where one has a NaN or an infinity that the other hasn't. Names the output.
struct OutputDifference {
    double worst = 0;
    std::string output;
};
OutputDifference difference(const TuningOutputs& actual, const TuningOutputs& expected);

}  // namespace ingot::tile
