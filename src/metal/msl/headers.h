// The built-in library as files: the compiler reads headers from disk, the program carries them. Owns the
// embedded copies and the folder they are written to at first use; what they say is include/.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ingot::metal::msl {

struct EmbeddedHeader {
    std::string_view path;  // "ingot_msl/all.h", "stub/metal_stdlib"
    std::string_view text;
};

// Generated at build time from include/.
std::span<const EmbeddedHeader> embedded_headers();

// Names the set of headers: equal for equal texts.
const std::string& headers_hash();

// A folder that holds all of them, written if it isn't there. Errors: kIo.
Result<std::string> install_headers();

}  // namespace ingot::metal::msl
