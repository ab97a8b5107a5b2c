#include "llm/backend/index_check.h"

namespace ingot {

Result<void> check_indices(std::span<const int32_t> values, uint32_t limit, std::string_view label,
                           std::string_view what) {
    for (int32_t value : values) {
        if (value < 0 || uint32_t(value) >= limit) {
            return fail(ErrorKind::kInvalidArgument, "{}: {} {}; 0 to {} are accepted", label, what, value,
                        limit - 1);
        }
    }
    return {};
}

}  // namespace ingot
