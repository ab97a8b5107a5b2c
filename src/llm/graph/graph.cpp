#include "llm/graph/graph.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/check.h"

namespace ingot::graph {

Shape::Shape(std::initializer_list<uint32_t> list) : rank(uint8_t(list.size())) {
    INGOT_CHECK(list.size() <= dims.size(), "{} dimensions", list.size());
    std::copy(list.begin(), list.end(), dims.begin());
}

uint64_t Shape::count() const {
    if (rank == 0) return 0;
    uint64_t product = 1;
    for (size_t i = 0; i < rank; ++i) product *= dims[i];
    return product;
}

std::string to_string(const Shape& shape) {
    return fmt::format("[{}]", fmt::join(shape.dims.begin(), shape.dims.begin() + shape.rank, ", "));
}

bool Graph::is_output(NodeId id) const {
    return std::ranges::find(outputs_, id) != outputs_.end();
}

std::string Graph::label(NodeId id) const {
    const Node& node = (*this)[id];
    std::string text = fmt::format("%{} {}", id.index(), to_string(node.op));
    if (node.op == Op::kInput) return fmt::format("{} '{}'", text, node.as<InputAttrs>().name);
    if (!node.weights.empty() && node.weights[0].valid()) {
        return fmt::format("{} '{}'", text, weights()[node.weights[0]].name);
    }
    return text;
}

}  // namespace ingot::graph
