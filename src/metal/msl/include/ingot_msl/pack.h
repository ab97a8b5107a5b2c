// Pack and unpack functions: normalised integers in one word and vectors of float or half.
#pragma once

#include "air.h"
#include "vec.h"

namespace metal {

namespace ingot::air {

#define INGOT_PACK(air_name, count, word, unpack, pack, ...)                                            \
    INGOT_PURE native<float, count> unpack_##unpack##_to_float(word) __asm__("air.unpack." air_name     \
                                                                             ".v" #count "f32");        \
    INGOT_PURE native<half, count> unpack_##unpack##_to_half(word) __asm__("air.unpack." air_name       \
                                                                           ".v" #count "f16");          \
    INGOT_PURE word pack_float_to_##pack(native<float, count>) __asm__("air.pack." air_name ".v" #count \
                                                                       "f32");                          \
    INGOT_PURE word pack_half_to_##pack(native<half, count>) __asm__("air.pack." air_name ".v" #count   \
                                                                     "f1"                               \
                                                                     "6");
INGOT_PACK_BUILTINS(INGOT_PACK)
#undef INGOT_PACK

}  // namespace ingot::air

#define INGOT_PACK(air_name, count, word, unpack, pack, ...)                               \
    inline vec<float, count> unpack_##unpack##_to_float(word x) {                          \
        return ingot::from_lanes<float, count>(ingot::air::unpack_##unpack##_to_float(x)); \
    }                                                                                      \
    inline vec<half, count> unpack_##unpack##_to_half(word x) {                            \
        return ingot::from_lanes<half, count>(ingot::air::unpack_##unpack##_to_half(x));   \
    }                                                                                      \
    inline word pack_float_to_##pack(vec<float, count> x) {                                \
        return ingot::air::pack_float_to_##pack(x.lanes);                                  \
    }                                                                                      \
    inline word pack_half_to_##pack(vec<half, count> x) {                                  \
        return ingot::air::pack_half_to_##pack(x.lanes);                                   \
    }
INGOT_PACK_BUILTINS(INGOT_PACK)
#undef INGOT_PACK

}  // namespace metal
