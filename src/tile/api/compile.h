// The call that hosts make: a kernel goes in, MSL text and everything needed to launch it come out. A host
// that binds what `arguments` lists and dispatches what launch() says can't launch it wrong.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tile/api/source.h"
#include "tile/api/target.h"
#include "tile/ir/ir.h"
#include "tile/passes/plan.h"
#include "tile/plan/planner.h"
#include "tile/plan/shortlist.h"

namespace ingot::tile {

struct CompileOptions {
    std::string_view target = "metal-m4";
    std::map<std::string, int64_t> dims;       // known now; the rest is bound at launch
    std::map<std::string, int64_t> multiples;  // promises about dims, checked at launch
    std::string entry_suffix;                  // of the entry's name
    std::optional<Path> path;                  // refuse every other path for products
    PlannerOptions planner;
    std::function<void(std::string_view pass, const Kernel& k)> after_pass;
};

// One [[buffer(index)]] of the entry.
struct TensorArgument {
    uint32_t index;
    std::string name;
    DType type;
    Role role;
    uint32_t alignment_bytes;  // the bound address must be a multiple
};

// The scalars and unbound dims, packed in one constant buffer.
struct PackedField {
    std::string name;
    DType type;
    uint32_t offset_bytes;
};

struct Launch {
    std::array<uint32_t, 3> groups;  // 0 in any: there is nothing to do, don't dispatch
    std::array<uint32_t, 3> threads;
};

struct CompiledKernel {
    std::string source, entry;
    SourceParts parts;  // of the source
    Language language = Language::kMetal2_3;
    std::string target;
    std::vector<TensorArgument> tensors;
    std::optional<uint32_t> fields_index;  // of the packed buffer; none if there are no fields
    std::vector<PackedField> fields;
    uint32_t fields_bytes = 0;
    uint32_t threads = 0;
    int64_t threadgroup_bytes = 0;  // declared inside of the kernel
    std::map<std::string, int64_t> specialised;
    Plan plan;
    GroupPlan group_plan;
    Kernel kernel;  // after all passes

    // Values for all dims that weren't given to compile().
    Result<Launch> launch(const std::map<std::string, int64_t>& dims) const;
    // The bytes of the packed buffer.
    Result<std::vector<std::byte>> pack(const std::map<std::string, int64_t>& dims,
                                        const std::map<std::string, double>& scalars) const;
    // What was decided and why, a line each.
    std::string explain() const;
};

Result<CompiledKernel> compile(const Kernel& k, const CompileOptions& options = {});
// Of a .tile text; `file` is what its errors name.
Result<CompiledKernel> compile_text(std::string_view text, std::string_view file,
                                    const CompileOptions& options = {});
// The plans that are worth trying for what compile() would be given: `size` beside its own choice.
Result<Shortlist> shortlist(const Kernel& k, const CompileOptions& options, size_t size);

// The device a host runs on.
struct Device {
    int apple_family = 7;                     // MTLGPUFamilyApple<N>
    bool metal4 = false;                      // MTLGPUFamilyMetal4
    Language language = Language::kMetal3_0;  // the newest that its system compiles
};

// One source with several forms of one kernel, for hosts that don't know the device or the sizes before they
// run.
struct CompiledModule {
    std::string source;
    std::vector<CompiledKernel> variants;  // their own `source` is each alone

    // The first variant that the device runs and whose promises these dims keep. The error says of each why
    // not.
    Result<const CompiledKernel*> select(const Device& device,
                                         const std::map<std::string, int64_t>& dims) const;
};

// Each variant's entry is named NAME_SUFFIX; the options come in the order in which select() tries them.
Result<CompiledModule> compile_module(const Kernel& k, std::span<const CompileOptions> variants);

}  // namespace ingot::tile
