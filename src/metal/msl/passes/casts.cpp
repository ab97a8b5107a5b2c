#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {

void rewrite_casts(const Source& source, Edits& edits) {
    for (size_t i = 0; i < source.tokens.size(); ++i) {
        if (source.tokens[i].is("static_cast")) edits.replace(i, "::metal::ingot_cast");
    }
}

}  // namespace ingot::metal::msl
