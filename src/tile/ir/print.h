// The text form of kernels (.tile), which parse.h reads back: parse(print(k)) is the same program as k.
// docs/tile-language.md describes it.
#pragma once

#include <string>

#include "tile/ir/ir.h"

namespace ingot::tile {

std::string print(const Kernel& k);
std::string print(const Kernel& k, ExprId e);
std::string print(const Kernel& k, const Region& r);
// The first line of a statement, without its blocks.
std::string print_head(const Kernel& k, StmtId s);

}  // namespace ingot::tile
