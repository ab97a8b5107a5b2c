// Flags that several commands share. Values are checked while the command line is parsed, so that a wrong one
// is wrong usage (exit code 2) and names what would be accepted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "llm/engine/engine.h"
#include "llm/text/sampler.h"

namespace CLI {
class App;
class Validator;  // <CLI/App.hpp> is dear to compile: only what declares flags includes it
}  // namespace CLI

namespace ingot::cli {

struct ModelFlags {
    std::string model;     // as typed: a path, a name in the model folder, or empty for the demo model
    EngineOptions engine;  // `progress` is set when the model is loaded (load.h)
};

// MODEL and the flags of group "Model": --threads, --ctx, --device, --kv-format, --gpu-layers, --set,
// --trace...
void add_model_flags(CLI::App& app, ModelFlags& flags, bool model_required);

struct SamplingFlags {
    SamplerOptions sampler;
    std::vector<std::string> stop;
    std::optional<uint64_t> seed;  // --seed; options() draws one where it is missing

    // All flags together, checked again as a whole.
    Result<SamplerOptions> options() const;
};

// --seed, --greedy, --stop, --logit-bias and one flag for each row of sampler_fields().
void add_sampling_flags(CLI::App& app, SamplingFlags& flags);

// A check for options: a whole number, or any finite number, in [min, max].
CLI::Validator whole_number(long long min, long long max);
CLI::Validator number(double min, double max);

// "15043=-2.5", "7=-inf".
Result<std::pair<TokenId, float>> parse_logit_bias(const std::string& text);

}  // namespace ingot::cli
