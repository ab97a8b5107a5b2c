// The words of findings.
#pragma once

#include <string>

#include "metal/check/finding.h"

namespace ingot::metal::check {

// "(3, 0, 0)"
std::string describe(const Position& position);
// "thread (3, 0, 0) of threadgroup (0, 0, 0)"
std::string describe(const Thread& thread);
// "buffer 1 ('sums')", "threadgroup variable 'partial'", "a private array"
std::string describe(const MemoryObject& object);
// "reads 4 bytes", "writes 16 bytes", "updates 4 bytes"
std::string describe_deed(const Access& access);
// "sum.metal:14", or "instruction 12" where no line is known.
std::string describe(const Site& site);
// "byte 28 of threadgroup variable 'partial'"
std::string describe_memory(const Access& access);

// Notes thread, memory and offset of an access.
void set_access(Finding& finding, const Access& access);

}  // namespace ingot::metal::check
