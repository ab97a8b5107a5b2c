#include "llm/model/model.h"

#include "llm/graph/builder.h"

namespace ingot::model {

Result<Model> Model::load(const gguf::File& file, const LoadOptions& options) {
    INGOT_ASSIGN(const std::string_view name, file.get_string("general.architecture"));
    const Result<const Architecture*> architecture = find_architecture(name);
    if (!architecture) return Failure(with_context(architecture.error(), file.path()));
    const Architecture& row = **architecture;
    const Keys keys(file, row.name);
    INGOT_ASSIGN(HyperParams hyper, read_hyper_params(keys, row.rope_style));
    if (row.read) INGOT_TRY(row.read(keys, hyper));
    INGOT_ASSIGN(auto weights, load_weights(file, row, hyper, options));
    return Model(row, std::move(hyper), std::move(weights));
}

Result<graph::Graph> Model::build(const graph::GraphParams& params) const {
    graph::GraphBuilder b(params, weights_);
    architecture_->build(b, hyper_);
    return std::move(b).finish();
}

}  // namespace ingot::model
