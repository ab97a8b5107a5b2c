// Which names of a program can't stand in MSL as they are.
#pragma once

#include <string>
#include <string_view>

namespace ingot::tile {

// `name`, or name_ where it is a word of MSL or a name the emitter uses itself.
std::string msl_name(std::string_view name);

}  // namespace ingot::tile
