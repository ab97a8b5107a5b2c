// Loads and stores of many elements a lane, and of single ones in kernels so large that the code for each
// would take seconds to generate. `pointers` has every lane's address, `mask` the lanes that take part;
// `count` elements lie behind each address. Element i of lane l is number 32 * i + l of `table`; what belongs
// to other lanes is left alone.
#pragma once

#include <cstdint>

extern "C" {
void ingot_lanes_load8(void* table, const uint64_t* pointers, uint32_t mask, uint32_t count);
void ingot_lanes_load16(void* table, const uint64_t* pointers, uint32_t mask, uint32_t count);
void ingot_lanes_load32(void* table, const uint64_t* pointers, uint32_t mask, uint32_t count);
void ingot_lanes_load64(void* table, const uint64_t* pointers, uint32_t mask, uint32_t count);
void ingot_lanes_store8(const void* table, const uint64_t* pointers, uint32_t mask, uint32_t count);
void ingot_lanes_store16(const void* table, const uint64_t* pointers, uint32_t mask, uint32_t count);
void ingot_lanes_store32(const void* table, const uint64_t* pointers, uint32_t mask, uint32_t count);
void ingot_lanes_store64(const void* table, const uint64_t* pointers, uint32_t mask, uint32_t count);
}
