// What `run` and `chat` share: generating an answer that goes to stdout piece by piece.
#pragma once

#include "cli/interrupt.h"
#include "cli/options.h"
#include "llm/engine/generate.h"

namespace ingot::cli {

// Text is written and flushed as it comes; Ctrl-C cancels. `interrupt` must outlive the options.
GenerateOptions stream_to_stdout(uint32_t max_tokens, const SamplingFlags& sampling,
                                 const Interrupt& interrupt);

}  // namespace ingot::cli
