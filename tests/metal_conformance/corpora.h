// The corpora that the cases run on: compiled libraries and sources in the cache folder that tools/fetch.py
// fills.
#pragma once

#include <memory>

#include "metal_conformance/session.h"

namespace ingot::metal::conformance {

// `path` below the cache folder, e.g. "metal/mlx-26.0/mlx.metallib". Opened by the first kernel() call.
std::unique_ptr<Corpus> library_corpus(std::string name, const std::string& path);
// ggml's sources, compiled by our front end; kernels are named FILE/KERNEL.
std::unique_ptr<Corpus> ggml_corpus();
// MLX's headers, compiled by our front end; kernels are named as in its compiled library.
std::unique_ptr<Corpus> mlx_source_corpus();
// Where tools/fetch.py stores things: ${XDG_CACHE_HOME:-~/.cache}/ingot.
std::string cache_folder();

}  // namespace ingot::metal::conformance
