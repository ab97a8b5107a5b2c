// The meaning of a kernel: an interpreter in double precision (floats aren't rounded) and exact integers. It
// checks every bound of an allocation, reads of memory nothing was written to, iterations of `parallel` that
// touch each other's elements, and groups that write the same element of a tensor; each is an Error with file
// and line. Passes, plans and emitted code are tested against it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "tile/ir/ir.h"

namespace ingot::tile {

struct Arguments {
    std::map<std::string, int64_t> dims;
    std::map<std::string, double> scalars;
    std::map<std::string, std::vector<double>> tensors;  // memory as it lies, gaps of strides included
};

// Memory of the outputs (`out` and `inout`) after the run; elements of an `out` that nothing wrote are 0.
// `log`, if given, collects what `print` says. Dims that no argument names are taken from nothing: that is an
// Error.
Result<std::map<std::string, std::vector<double>>> interpret(const Kernel& k, const Arguments& arguments,
                                                             std::vector<std::string>* log = nullptr);

// What a dim may be: 0 to 2^31 - 1, and a multiple of what the program promises.
Result<void> check_dim(const Dim& dim, int64_t value);
// Elements a tensor's memory takes, with these dims.
Result<size_t> tensor_elements(const Kernel& k, BufferId tensor, const std::map<std::string, int64_t>& dims);
// A launch-time expression (sizes, strides, grid extents): constants, dims, whole-number operators. Error
// kLimit: a value that its type can't hold.
Result<int64_t> evaluate_at_launch(const Kernel& k, ExprId e, const std::map<std::string, int64_t>& dims);

}  // namespace ingot::tile
