// Kernels from Metal source, for tests.
#pragma once

#include "metal/msl/source_library.h"
#include "metal/support.h"

namespace ingot::metal::testing {

// A library of `text`; throws, which fails the test, with the diagnostics if it can't be opened.
inline msl::SourceLibrary source_library(const std::string& text, msl::SourceOptions options = {}) {
    auto library = msl::SourceLibrary::open(text, options);
    if (!library) throw std::runtime_error(library.error().describe());
    return *library;
}

// Null, and a failed test with the diagnostics, if the kernel doesn't compile.
inline std::shared_ptr<const Kernel> source_kernel(const msl::SourceLibrary& library, const std::string& name,
                                                   CompileOptions options = {}) {
    const auto bitcode = library.compile(name);
    if (!bitcode) {
        ADD_FAILURE() << name << ": " << bitcode.error().describe();
        return nullptr;
    }
    auto kernel = the_compiler().compile(*bitcode, name, options);
    if (!kernel) {
        ADD_FAILURE() << name << ": " << kernel.error().describe();
        return nullptr;
    }
    return *kernel;
}

}  // namespace ingot::metal::testing
