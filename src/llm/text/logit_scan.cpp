#include "llm/text/logit_scan.h"

#include <algorithm>
#include <bit>
#include <cstdint>
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

// e^x for a block of x <= 0, 0 below -87: 2^n e^r with n = round(x / ln 2), and e^r by its Taylor series to
// degree 6.
void exponentials(const float (&x)[kBlock], float (&result)[kBlock]) {
    constexpr float kRound = 0x1.8p23f;  // added and taken away again, it leaves a whole number
    constexpr int32_t kLeast = std::bit_cast<int32_t>(kRound) - 126;
    for (size_t i = 0; i < kBlock; ++i) {
        const float shifted = x[i] * 1.44269504089f + kRound;
        const float n = shifted - kRound;
        const float r = x[i] - n * 0.693359375f + n * 2.12194440e-4f;  // ln 2 in two parts, the first exact
        const float e =
            1 +
            r * (1 + r * (1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720))))));
        // The low bits of `shifted` are n: into the exponent. Without a branch, so that compilers make
        // vectors of it.
        const int32_t bits = std::bit_cast<int32_t>(shifted);
        const uint32_t scaled = std::bit_cast<uint32_t>(e) + (uint32_t(bits) << 23);
        result[i] = std::bit_cast<float>(scaled & (bits < kLeast ? 0 : ~0u));
    }
}

double sum_of(const float (&lanes)[8]) {
    double sum = 0;
    for (const float lane : lanes) sum += double(lane);
    return sum;
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

std::vector<size_t> indices_at_least(std::span<const float> logits, float least) {
    std::vector<size_t> indices;
    for (size_t first = 0; first < logits.size(); first += kBlock) {
        const std::span<const float> block = block_at(logits, first);
        if (!(largest_of_block(block) >= least)) continue;
        for (size_t i = 0; i < block.size(); ++i) {
            if (block[i] >= least) indices.push_back(first + i);
        }
    }
    return indices;
}

double weights_below(std::span<const float> logits, float top, std::span<float> weights) {
    double sum = 0;
    for (size_t first = 0; first < logits.size(); first += kBlock) {
        const std::span<const float> block = block_at(logits, first);
        float x[kBlock], e[kBlock], lanes[8] = {};
        std::fill(std::copy(block.begin(), block.end(), x), x + kBlock, -kLargest);
        for (float& each : x) each -= top;
        exponentials(x, e);
        for (size_t i = 0; i < kBlock; i += 8) {
            for (size_t lane = 0; lane < 8; ++lane) lanes[lane] += e[i + lane];
        }
        std::copy(e, e + block.size(), &weights[first]);
        sum += sum_of(lanes);
    }
    return sum;
}

double sum_at_least(std::span<const float> weights, float least) {
    double sum = 0;
    for (size_t first = 0; first < weights.size(); first += kBlock) {
        const std::span<const float> block = block_at(weights, first);
        float lanes[8] = {};
        size_t i = 0;
        for (; i + 8 <= block.size(); i += 8) {
            for (size_t lane = 0; lane < 8; ++lane) {
                const float weight = block[i + lane];
                lanes[lane] += weight >= least ? weight : 0;
            }
        }
        for (; i < block.size(); ++i) lanes[0] += block[i] >= least ? block[i] : 0;
        sum += sum_of(lanes);
    }
    return sum;
}

}  // namespace ingot
