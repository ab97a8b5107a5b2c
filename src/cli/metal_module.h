// Where `ingot metal` gets a kernel's module from: a compiled library, or Metal source that is compiled
// first.
#pragma once

#include <optional>

#include "cli/metal.h"
#include "metal/air/library_file.h"
#include "metal/msl/source_library.h"

namespace ingot::cli {

// Flags that mean something for Metal source only.
struct SourceFlags {
    std::vector<std::string> include_folders, macros;
    std::string standard = "metal3.2";
    double time_limit_seconds = 60;
    bool strict = false;
    bool watch_locals = false;  // no flag: where checkers look at variables
};

void add_source_flags(CLI::App& app, SourceFlags& flags);

// FILE.metal, or any name that ends so.
bool is_source_file(std::string_view path);
Result<metal::msl::SourceLibrary> open_source(const std::string& path, const SourceFlags& flags);

// For files that aren't source: an error if a flag was given that would do nothing.
Result<void> require_no_source_flags(const std::string& path, const SourceFlags& flags);

struct KernelModule {
    std::vector<std::byte> compiled;  // of a source
    std::optional<metal::msl::SourceLibrary> source;
    metal::LibraryFile library;  // of a compiled library
    std::span<const std::byte> bitcode;
    std::string name;
};

// The AIR module of one kernel. `name` may be empty if the file holds only one.
Result<KernelModule> load_kernel(const std::string& path, const std::string& name, const SourceFlags& flags);

}  // namespace ingot::cli
