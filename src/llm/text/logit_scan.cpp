#include "llm/text/logit_scan.h"

#include <algorithm>
#include <limits>

namespace ingot {
namespace {

constexpr float kLargest = std::numeric_limits<float>::infinity();
constexpr size_t kBlock = 128;

// Independent maxima of every eighth logit: a loop that compilers turn into vectors.
float largest_of_block(std::span<const float> block) {
    constexpr size_t kLanes = 8;
    float lanes[kLanes];
    std::fill(lanes, lanes + kLanes, -kLargest);
    size_t i = 0;
    for (; i + kLanes <= block.size(); i += kLanes) {
        for (size_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane] = block[i + lane] > lanes[lane] ? block[i + lane] : lanes[lane];
        }
    }
    for (; i < block.size(); ++i) lanes[0] = std::max(lanes[0], block[i]);
    return *std::max_element(lanes, lanes + kLanes);
}

std::span<const float> block_at(std::span<const float> logits, size_t first) {
    return logits.subspan(first, std::min(kBlock, logits.size() - first));
}

}  // namespace

size_t first_unusable(std::span<const float> logits) {
    const auto unusable = [](float logit) { return !(logit < kLargest); };
    for (size_t first = 0; first < logits.size(); first += kBlock) {
        const std::span<const float> block = block_at(logits, first);
        unsigned any = 0;
        for (const float logit : block) any |= unsigned(unusable(logit));
        if (any == 0) continue;
        return size_t(std::find_if(block.begin(), block.end(), unusable) - block.begin()) + first;
    }
    return logits.size();
}

size_t index_of_largest(std::span<const float> logits) {
    float largest = -kLargest;
    size_t best_block = 0;
    for (size_t first = 0; first < logits.size(); first += kBlock) {
        const float of_block = largest_of_block(block_at(logits, first));
        if (of_block > largest) {
            largest = of_block;
            best_block = first;
        }
    }
    const std::span<const float> block = block_at(logits, best_block);
    return size_t(std::find(block.begin(), block.end(), largest) - block.begin()) + best_block;
}

std::vector<size_t> indices_of_largest(std::span<const float> logits, size_t count) {
    count = std::min(count, logits.size());
    // A heap of the best so far with the worst of them on top, which most blocks don't reach.
    const auto better = [&](size_t a, size_t b) {
        return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    };
    std::vector<size_t> heap(count);
    for (size_t i = 0; i < count; ++i) heap[i] = i;
    std::make_heap(heap.begin(), heap.end(), better);
    for (size_t first = count; count > 0 && first < logits.size(); first += kBlock) {
        const std::span<const float> block = block_at(logits, first);
        if (!(largest_of_block(block) > logits[heap.front()])) continue;
        for (size_t i = first; i < first + block.size(); ++i) {
            if (!(logits[i] > logits[heap.front()])) continue;
            std::pop_heap(heap.begin(), heap.end(), better);
            heap.back() = i;
            std::push_heap(heap.begin(), heap.end(), better);
        }
    }
    std::sort_heap(heap.begin(), heap.end(), better);
    return heap;
}

}  // namespace ingot
