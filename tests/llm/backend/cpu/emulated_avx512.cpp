// The AVX-512 kernels compiled over emulated_avx512/immintrin.h, as a table of their own. Their source files
// are included here under other names, since the library has the real ones.
#define avx512_vnni_table emulated_avx512_table
#define avx512_nibble_kernel emulated_avx512_nibble_kernel
#define avx512_byte_kernel emulated_avx512_byte_kernel
#define avx512_super_block_kernel emulated_avx512_super_block_kernel
#define avx512_float_kernel emulated_avx512_float_kernel

#include "llm/backend/cpu/kernels/avx512/byte_types.cpp"
#include "llm/backend/cpu/kernels/avx512/float_types.cpp"
#include "llm/backend/cpu/kernels/avx512/nibble_types.cpp"
#include "llm/backend/cpu/kernels/avx512/super_block_types.cpp"
#include "llm/backend/cpu/kernels/avx512/table.cpp"
