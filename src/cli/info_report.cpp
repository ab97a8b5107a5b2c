#include "cli/info_report.h"

#include <algorithm>

#include "llm/backend/cpu/cpu_backend.h"
#include "llm/engine/engine.h"
#include "llm/graph/pipeline.h"
#include "llm/model/memory.h"
#include "llm/model/model.h"

namespace ingot::cli {
namespace {

std::vector<TypeTotal> total_by_type(const gguf::File& file) {
    std::vector<TypeTotal> totals;
    for (const gguf::TensorInfo& tensor : file.tensors()) {
        auto total = std::ranges::find(totals, tensor.type, &TypeTotal::type);
        if (total == totals.end()) total = totals.insert(totals.end(), TypeTotal{.type = tensor.type});
        ++total->num_tensors;
        total->num_elements += tensor.num_elements();
        total->size_bytes += tensor.data.size();
    }
    std::ranges::stable_sort(totals, std::greater(), &TypeTotal::size_bytes);
    return totals;
}

// Where the operations of one decode step are placed.
Result<std::vector<RunPlan::Device>> place(const model::Model& model, const Backend& backend,
                                           kv::Format format) {
    graph::GraphParams params;
    params.tokens = 1;
    params.outputs = 1;
    params.kv_format = format;
    INGOT_ASSIGN(graph::Graph graph, model.build(params));
    const Backend* const backends[] = {&backend};
    INGOT_ASSIGN(const graph::Module module, graph::compile(std::move(graph), {backends}));
    std::vector<RunPlan::Device> devices;
    for (const Backend* device : backends) devices.push_back({device->description(), 0});
    for (const graph::Split& split : *module.splits) {
        devices[split.backend.index()].num_operations += split.end - split.first;
    }
    return devices;
}

Result<RunPlan> plan_run(const gguf::File& file, uint32_t context) {
    if (file.tensors().empty())
        return fail(ErrorKind::kUnsupported, "the file holds a vocabulary, but no weights");
    INGOT_ASSIGN(const model::Model model, model::Model::load(file, {.look_for_nans = false}));
    INGOT_ASSIGN(const auto backend, cpu::CpuBackend::create({.threads = 1}));
    RunPlan plan;
    const kv::Format format = model::default_kv_format(model.hyper());
    plan.kv_format = kv::traits(format).name;
    plan.context = context != 0 ? context : model::default_context(model.hyper());
    INGOT_ASSIGN(plan.devices, place(model, *backend, format));
    INGOT_ASSIGN(const model::MemoryUse memory,
                 model::estimate_memory(model, *backend, format, plan.context, EngineOptions().batch));
    plan.weight_bytes = memory.weight_bytes;
    plan.kv_bytes = memory.kv_bytes;
    plan.compute_bytes = memory.compute_bytes;
    return plan;
}

}  // namespace

InfoReport make_info_report(const gguf::File& file, uint32_t context) {
    return {file, model_facts(file), total_by_type(file), plan_run(file, context)};
}

}  // namespace ingot::cli
