#include "llm/model/fingerprint.h"

#include <algorithm>
#include <cstring>

#include "base/sha256.h"
#include "llm/graph/text.h"

namespace ingot::model {

uint64_t fingerprint(const gguf::File& file, const graph::Graph& graph) {
    constexpr size_t kSampleBytes = 1024;
    Sha256 hash;
    const std::string text = graph::print(graph);
    hash.add(std::as_bytes(std::span(text)));
    for (const gguf::TensorInfo& tensor : file.tensors()) {
        hash.add(std::as_bytes(std::span(tensor.name)));
        hash.add(std::as_bytes(std::span(&tensor.type, 1)));
        hash.add(std::as_bytes(std::span(tensor.shape)));
        hash.add(tensor.data.first(std::min(tensor.data.size(), kSampleBytes)));
    }
    const Sha256Digest digest = hash.finish();
    uint64_t number;
    std::memcpy(&number, digest.data(), sizeof number);
    return number;
}

}  // namespace ingot::model
