#include "tile_device/device.h"

#include <cstring>

#include "metal/check/report.h"
#include "metal/check/session.h"
#include "metal/exec/compiler.h"
#include "metal/msl/source_library.h"

namespace ingot::tile::testing {
namespace {

constexpr size_t kGuardBytes = 256;
constexpr std::byte kGuard{0xA5};

struct Memory {
    std::string name;
    DType type;
    size_t bytes;
    std::vector<std::byte> data;  // guard, elements, guard
    std::byte* begin() { return data.data() + kGuardBytes; }
};

Memory fill(const TensorArgument& t, const Arguments& x, size_t elements) {
    Memory m{t.name, t.type, elements * size_bytes(t.type), {}};
    m.data.assign(m.bytes + 2 * kGuardBytes, kGuard);
    std::fill(m.begin(), m.begin() + m.bytes, std::byte{0});
    const auto it = x.tensors.find(t.name);
    for (size_t i = 0; it != x.tensors.end() && i < it->second.size() && i < elements; ++i) {
        const uint32_t bits = to_bits(t.type, it->second[i]);
        std::memcpy(m.begin() + i * size_bytes(t.type), &bits, size_bytes(t.type));
    }
    return m;
}

Result<void> check_guards(Memory& m) {
    for (size_t i = 0; i < kGuardBytes; ++i) {
        if (m.data[i] != kGuard || m.data[kGuardBytes + m.bytes + i] != kGuard)
            return fail(ErrorKind::kCorrupt, "{}: something was written outside of it", m.name);
    }
    return {};
}

std::vector<double> numbers_in(Memory& m) {
    std::vector<double> out;
    for (size_t at = 0; at < m.bytes; at += size_bytes(m.type)) {
        uint32_t bits = 0;
        std::memcpy(&bits, m.begin() + at, size_bytes(m.type));
        out.push_back(from_bits(m.type, bits));
    }
    return out;
}

// A launch and what it points to.
struct Ready {
    std::shared_ptr<const metal::Kernel> kernel;
    std::vector<Memory> memory;
    std::vector<std::byte> packed;
    metal::Launch launch;
};

Result<std::shared_ptr<const metal::Kernel>> device_kernel(const CompiledKernel& c,
                                                           metal::CooperativeLayout layout) {
    metal::msl::SourceOptions source;
    source.file = c.entry + ".metal";
    source.strict = true;
    // The device's oldest language reads what is written for older ones.
    source.standard = to_string(std::max(c.language, Language::kMetal3_0));
    INGOT_ASSIGN(const auto library, metal::msl::SourceLibrary::open(c.source, source));
    INGOT_ASSIGN(const auto module, library.compile(c.entry));
    INGOT_ASSIGN(metal::Compiler * compiler, metal::compiler());
    metal::CompileOptions options;
    options.layout = layout;
    options.reconverge = false;  // what we emit doesn't rely on lockstep
    options.instrument = true;
    return compiler->compile(module, c.entry, options);
}

Result<Ready> ready(const CompiledKernel& c, const Arguments& x, metal::CooperativeLayout layout) {
    Ready out;
    INGOT_ASSIGN(out.kernel, device_kernel(c, layout));
    for (const TensorArgument& t : c.tensors) {
        INGOT_ASSIGN(const size_t elements, tensor_elements(c.kernel, c.kernel.tensors()[t.index], x.dims));
        out.memory.push_back(fill(t, x, elements));
    }
    INGOT_ASSIGN(out.packed, c.pack(x.dims, x.scalars));
    INGOT_ASSIGN(const Launch launch, c.launch(x.dims));
    metal::Launch& l = out.launch;
    l.group_threads = {launch.threads[0], launch.threads[1], launch.threads[2]};
    l.grid_threads = {launch.groups[0] * launch.threads[0], launch.groups[1], launch.groups[2]};
    for (size_t i = 0; i < out.memory.size(); ++i)
        l.buffers[i] = {out.memory[i].begin(), out.memory[i].bytes};
    if (c.fields_index) l.buffers[*c.fields_index] = {out.packed.data(), out.packed.size()};
    l.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    return out;
}

// Under the checkers that are on by default; what an output holds before is nobody's to read.
Result<void> run_watched(const metal::Kernel& kernel, const metal::Launch& launch, const CompiledKernel& c,
                         metal::count::Counts* counts) {
    metal::count::Counter counter;
    metal::check::Request request;
    if (counts != nullptr) request.others.push_back(&counter);
    INGOT_ASSIGN(request.checkers, metal::check::parse_checkers("default"));
    for (const TensorArgument& t : c.tensors) request.buffers[t.index].initialised = t.role != Role::kOut;
    const auto executor = metal::make_fiber_executor();
    INGOT_ASSIGN(const auto outcome, metal::check::run_checked(*executor, kernel, launch, request));
    if (outcome.report.status != metal::LaunchStatus::kDone)
        return fail(ErrorKind::kInvalidArgument, "{}", outcome.report.message);
    if (!outcome.findings.empty())
        return fail(ErrorKind::kInvalidArgument, "{}",
                    metal::check::to_text(outcome.findings, metal::check::lines_of_files()));
    if (!outcome.report.findings.empty())
        return fail(ErrorKind::kInvalidArgument, "{}", outcome.report.findings.front());
    if (counts != nullptr) *counts = counter.counts();
    return {};
}

}  // namespace

Result<Results> run_on_device(const CompiledKernel& c, const Arguments& x, metal::CooperativeLayout layout,
                              metal::count::Counts* counts) {
    INGOT_ASSIGN(Ready r, ready(c, x, layout));
    if (r.launch.grid_threads.count() != 0) {
        INGOT_TRY(run_watched(*r.kernel, r.launch, c, counts));
    }
    Results results;
    for (size_t i = 0; i < r.memory.size(); ++i) {
        INGOT_TRY(check_guards(r.memory[i]));
        if (c.tensors[i].role != Role::kIn) results[r.memory[i].name] = numbers_in(r.memory[i]);
    }
    return results;
}

std::vector<metal::CooperativeLayout> layouts_of(const CompiledKernel& c) {
    using enum metal::CooperativeLayout;
    if (c.source.find("mpp::") == std::string::npos) return {kNax};
    return {kNax, kRowMajor, kScrambled};
}

Result<metal::count::Counts> count_on_device(const CompiledKernel& c, const Arguments& x) {
    INGOT_ASSIGN(Ready r, ready(c, x, metal::CooperativeLayout::kNax));
    return metal::count::run_counted(*metal::make_fiber_executor(), *r.kernel, r.launch);
}

}  // namespace ingot::tile::testing
