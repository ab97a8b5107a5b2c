// From Metal source to C++: what MSL adds to C++ is erased or spelled in terms of the library's headers
// (include/ingot_msl/), and one generated function binds the arguments of the requested entry. Address spaces
// vanish here; the entry's parameters have them, and LLVM carries them inward. Text in, text out: knows no
// files and runs nothing (source_library.h does).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "metal/msl/edits.h"
#include "metal/msl/lexer.h"
#include "metal/msl/outline.h"

namespace ingot::metal::msl {

enum class AddressSpace : uint8_t { kDevice = 1, kConstant = 2, kThreadgroup = 3 };

// The kind of a parameter that no argument stands for: it is zero.
constexpr const char* kGridOrigin = "grid_origin";

struct KernelParameter {
    Range range;
    std::string name;
    std::string kind;  // "buffer", "threadgroup", kGridOrigin or an index kind of kernel_info.h
    AddressSpace space = AddressSpace::kDevice;
    Range slot;         // its expression; empty: the one after the parameter before
    std::string guard;  // the function constant of [[function_constant(name)]]
    bool is_restrict = false;
    size_t place = 0;
    std::string unsupported;  // why no entry can have it
};

struct Kernel {
    size_t declaration = kNone;
    std::string name;
    std::string scope;
    std::string host_name;  // of a kernel that is no template; else empty
    Range max_threads;      // expression of [[max_total_threads_per_threadgroup(...)]]
    std::vector<KernelParameter> parameters;
};

// What a host can ask for by name.
struct EntryPoint {
    std::string name;
    size_t kernel = kNone;   // index into the kernels
    std::string scope;       // where it can be named as the source does
    std::string definition;  // a struct `ingot_entry` that names the function, to be put before...
    size_t place = kNone;    // ...this token
    std::string refusal;     // why this device can't run it; then there is nothing else
};

struct FunctionConstantDeclaration {
    size_t declaration = kNone;
    std::string name;
    std::string scope;
};

// A function that tables can hold (visible_function_table), by its position from 1.
struct VisibleFunction {
    std::string name;     // as a host asks for it
    std::string pointer;  // what the rewritten source calls its address: "::ns::ingot_visible_0::function"
};

// A source with all rewriting done, short of an entry.
class Program {
  public:
    // `text` is preprocessed; `file` names it. What this device doesn't serve (functions of other shader
    // stages, kernels with textures) is left out if a kernel remains; such kernels are entries with a
    // refusal. In a strict program address spaces are stated everywhere, and what is stated is noted for the
    // AIR form to check. Errors: kCorrupt and kUnsupported with file and line.
    static Result<Program> rewrite(std::string text, std::string_view file, bool strict = false);

    const std::vector<EntryPoint>& entries() const { return entries_; }
    const EntryPoint* find(std::string_view name) const;
    const std::vector<VisibleFunction>& visible_functions() const { return visible_functions_; }
    // The C++ text that defines `ingot_entry_function` for one entry, or for none (to check the source
    // alone).
    Result<std::string> translation_unit(const EntryPoint* entry) const;

  private:
    std::unique_ptr<const Tokens> tokens_;
    std::unique_ptr<const Outline> outline_;
    std::unique_ptr<const Edits> edits_;
    std::vector<Kernel> kernels_;
    std::vector<EntryPoint> entries_;
    std::vector<FunctionConstantDeclaration> constants_;
    std::vector<VisibleFunction> visible_functions_;
};

}  // namespace ingot::metal::msl
