// Where models are looked for: a MODEL on the command line is a path or the name of a file in the model
// folder, ${XDG_CACHE_HOME:-~/.cache}/ingot/models; without one the demo model is meant. Doesn't open or
// download anything.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ingot::cli {

inline constexpr std::string_view kDemoModel = "SmolLM2-135M-Instruct.Q4_1.gguf";

// May not exist. kNotFound if neither XDG_CACHE_HOME nor HOME is set.
Result<std::string> model_folder();

// The path of `model`; of the demo model if it is empty. A path that exists is taken before a name in the
// folder.
Result<std::string> resolve_model(const std::string& model);

// Names of the .gguf files in the model folder, sorted; of a split model only the first part.
Result<std::vector<std::string>> list_models();

}  // namespace ingot::cli
