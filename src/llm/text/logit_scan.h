// Passes over the logits of a whole vocabulary, a step of every token that is sampled: written so that a
// block of logits costs a few vector instructions. What is done with the few that they find is sampler.h's.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ingot {

// Index of the first logit that is NaN or +infinity; size() if there is none.
size_t first_unusable(std::span<const float> logits);

// Index of the largest logit, the first of equal ones. Needs at least one logit, and no NaN.
size_t index_of_largest(std::span<const float> logits);

// Indices of the `count` largest logits, largest first, of equal ones the first first. No NaN.
std::vector<size_t> indices_of_largest(std::span<const float> logits, size_t count);

// Indices of the logits that are `least` or more, upwards.
std::vector<size_t> indices_at_least(std::span<const float> logits, float least);

// weights[i] = e^(logits[i] - top) for logits of at most `top`, to 4e-7 of itself and below 2e-38 where the
// logit is further away than 87. Returns their sum.
double weights_below(std::span<const float> logits, float top, std::span<float> weights);

// Sum of the weights that are `least` or more.
double sum_at_least(std::span<const float> weights, float least);

}  // namespace ingot
