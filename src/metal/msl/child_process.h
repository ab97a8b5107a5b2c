// Runs a program with a limit on time, memory and output, its standard streams in memory, no environment of
// ours and no way to leave processes behind. Knows nothing about compilers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace ingot::metal::msl {

struct ChildLimits {
    double seconds = 60;
    uint64_t memory_bytes = uint64_t{4} << 30;
    uint64_t output_bytes = uint64_t{512} << 20;
};

struct ChildResult {
    int exit_code = 0;  // of a program that ended by itself
    int signal = 0;     // that ended it otherwise; 0 if none did
    bool timed_out = false;
    std::string output, errors;
};

// `arguments[0]` is the program's path. `input` is its standard input; `extra_input`, if not empty, can be
// read at /dev/fd/3. Errors: kIo, kNotFound (no such program).
Result<ChildResult> run_child(const std::vector<std::string>& arguments, std::string_view input,
                              std::string_view extra_input, const ChildLimits& limits);

}  // namespace ingot::metal::msl
