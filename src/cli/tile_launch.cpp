#include "cli/tile_launch.h"

#include "metal/exec/compiler.h"
#include "metal/msl/source_library.h"

namespace ingot::cli {
namespace {

constexpr size_t kEmptyBytes = 16;  // of a tensor without elements

// What was emitted, as a kernel of the device. Nothing of it relies on lockstep, so nothing makes up for it.
Result<std::shared_ptr<const metal::Kernel>> device_kernel(const tile::CompiledKernel& c,
                                                           metal::CooperativeLayout layout, bool watched) {
    metal::msl::SourceOptions source;
    source.file = c.entry + ".metal";
    source.strict = true;
    // The device's oldest language reads what is written for older ones.
    source.standard = tile::to_string(std::max(c.language, tile::Language::kMetal3_0));
    INGOT_ASSIGN(const auto library, metal::msl::SourceLibrary::open(c.source, source));
    INGOT_ASSIGN(const auto module, library.compile(c.entry));
    INGOT_ASSIGN(metal::Compiler * compiler, metal::compiler());
    metal::CompileOptions options;
    options.layout = layout;
    options.reconverge = false;
    options.instrument = watched;
    return compiler->compile(module, c.entry, options);
}

}  // namespace

Result<std::map<std::string, Array>> tensor_memory(const tile::Kernel& k, TileInputs& inputs) {
    std::map<std::string, Array> memory;
    for (const tile::BufferId id : k.tensors()) {
        INGOT_ASSIGN(auto shape, tile_shape_at_launch(k, id, inputs.dims));
        const auto it = inputs.tensors.find(k[id].name);
        memory[k[id].name] =
            it == inputs.tensors.end() ? zeros(k[id].type, std::move(shape)) : std::move(it->second);
    }
    return memory;
}

Result<PreparedLaunch> prepare_tile(const tile::CompiledKernel& c, const tile::Launch& launch,
                                    const DeviceFlags& device, bool watched,
                                    std::map<std::string, Array>& memory, std::vector<std::byte>& packed) {
    PreparedLaunch out;
    out.name = c.entry;
    INGOT_ASSIGN(const auto layout, parse_cooperative_layout(device.layout));
    INGOT_ASSIGN(out.kernel, device_kernel(c, layout, watched));
    metal::Launch& l = out.launch;
    l.group_threads = {launch.threads[0], launch.threads[1], launch.threads[2]};
    const uint64_t width = uint64_t{launch.groups[0]} * launch.threads[0];
    if (width > UINT32_MAX)
        return fail(ErrorKind::kLimit, "{}: {} groups of {} threads along one axis; {} threads are accepted",
                    c.entry, launch.groups[0], launch.threads[0], UINT32_MAX);
    l.grid_threads = {uint32_t(width), launch.groups[1], launch.groups[2]};
    for (const tile::TensorArgument& t : c.tensors) {
        Bound& bound =
            out.bound.emplace_back(Bound{.slot = t.index, .initialised = t.role != tile::Role::kOut});
        std::vector<std::byte>& data = memory.at(t.name).data;
        // An empty tensor is bound, too: the kernel gets its address and reads nothing there.
        if (data.empty()) bound.array.data.resize(kEmptyBytes);
        std::vector<std::byte>& place = data.empty() ? bound.array.data : data;
        l.buffers[t.index] = {place.data(), place.size()};
    }
    if (c.fields_index) l.buffers[*c.fields_index] = {packed.data(), packed.size()};
    INGOT_ASSIGN(l.executor, chosen_executor(device));
    return out;
}

}  // namespace ingot::cli
