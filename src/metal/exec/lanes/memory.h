// Loads and stores of many elements a lane, and of single ones in kernels so large that the code for each
// would take seconds to generate. `pointers` has every lane's address, or lane l's is base + l * stride;
// `mask` are the lanes that take part, and `count` elements lie behind each address. Element i of lane l is
// number 32 * i + l of `table`; what belongs to other lanes is left alone.
#pragma once

#include <cstdint>

#define INGOT_LANES_MEMORY(X) X(8) X(16) X(32) X(64)

extern "C" {
#define X(bits)                                                                                         \
    void ingot_lanes_load##bits(void* table, const uint64_t* pointers, uint32_t mask, uint32_t count);  \
    void ingot_lanes_store##bits(const void* table, const uint64_t* pointers, uint32_t mask,            \
                                 uint32_t count);                                                       \
    void ingot_lanes_strided_load##bits(void* table, const void* base, uint64_t stride, uint32_t mask,  \
                                        uint32_t count);                                                \
    void ingot_lanes_strided_store##bits(const void* table, void* base, uint64_t stride, uint32_t mask, \
                                         uint32_t count);
INGOT_LANES_MEMORY(X)
#undef X
}
