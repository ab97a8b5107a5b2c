// Findings for readers: paragraphs for people, JSON for programs, SARIF 2.1.0 for annotations of CI systems.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "metal/check/finding.h"

namespace ingot::metal::check {

// A line of a source file without its end, nothing if it can't be had.
using SourceLines = std::function<std::optional<std::string>(const std::string& file, uint32_t line)>;
// Reads files, each once.
SourceLines lines_of_files();

// A paragraph that starts with "FILE:LINE: KIND: " and shows the lines it speaks of.
std::string to_text(const Finding& finding, const SourceLines& lines);
std::string to_text(const std::vector<Finding>& findings, const SourceLines& lines);

// An array with one object a finding.
std::string to_json(const std::vector<Finding>& findings);
// A log with one run; `library` is the file that findings without a line are about.
std::string to_sarif(const std::vector<Finding>& findings, const std::string& library);

}  // namespace ingot::metal::check
