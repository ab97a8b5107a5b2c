#include "cli/stream.h"

#include <cstdio>

namespace ingot::cli {

GenerateOptions stream_to_stdout(uint32_t max_tokens, const SamplingFlags& sampling,
                                 const Interrupt& interrupt) {
    GenerateOptions options;
    options.max_tokens = max_tokens;
    options.stop = sampling.stop;
    options.cancel = &interrupt.flag();
    options.on_text = [](std::string_view part) {
        std::fwrite(part.data(), 1, part.size(), stdout);
        std::fflush(stdout);
    };
    return options;
}

}  // namespace ingot::cli
