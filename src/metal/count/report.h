// Counts for readers: a table, the source with counts beside its lines, JSON.
#pragma once

#include <string>

#include "metal/check/report.h"
#include "metal/count/counter.h"

namespace ingot::metal::count {

// Counts of one source line, or of one instruction where lines aren't known.
struct LineCounts {
    std::string file;  // empty where only the instruction is known
    uint32_t line = 0, instruction = 0;
    uint64_t simdgroups = 0;                     // accesses and calls, of a simdgroup each
    uint64_t bytes_read = 0, bytes_written = 0;  // of buffers
    uint64_t threadgroup_bytes = 0;              // of threadgroup memory, read or written
    uint64_t lines = 0;                          // 128-byte lines of buffers, a simdgroup access at a time
    uint64_t arithmetic = 0;                     // instructions, of a thread each
    uint64_t matrix_products = 0, meetings = 0;  // barriers and simdgroup functions
};

// By file and line.
std::vector<LineCounts> by_line(const Counts& counts, const Instrumentation& instrumentation);

// What isn't 0, a line each; then the buffers.
std::string to_text(const Counts& counts);
std::string to_text(const std::vector<LineCounts>& lines, const check::SourceLines& source);
std::string to_json(const Counts& counts, const std::vector<LineCounts>& lines);

}  // namespace ingot::metal::count
