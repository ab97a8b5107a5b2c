#include "llm/graph/pipeline.h"

#include "llm/graph/verify.h"

namespace ingot::graph {

Result<Module> compile(Graph graph, const PassContext& context,
                       const std::function<void(std::string_view pass, const Module&)>& after) {
    Module module{std::move(graph), {}, {}};
    const auto check = [&](std::string_view name) -> Result<void> {
        if (auto valid = verify(module); !valid) {
            return Failure(with_context(valid.error(), fmt::format("graph after {}", name)));
        }
        if (after) after(name, module);
        return {};
    };
    INGOT_TRY(check("build"));
    for (const Pass& pass : kPipeline) {
        INGOT_ASSIGN(module, pass.run(module, context));
        INGOT_TRY(check(pass.name));
    }
    return module;
}

}  // namespace ingot::graph
