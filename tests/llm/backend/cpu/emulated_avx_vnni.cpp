// The AVX-VNNI kernels compiled over emulated_avx_vnni/immintrin.h, as a table of their own. Their source
// files are included here under other names, since the library has the real ones.
#define avx_vnni_table emulated_avx_vnni_table
#define avx_vnni_nibble_kernel emulated_avx_vnni_nibble_kernel
#define avx_vnni_byte_kernel emulated_avx_vnni_byte_kernel
#define avx_vnni_super_block_kernel emulated_avx_vnni_super_block_kernel

#include "llm/backend/cpu/kernels/avx_vnni/byte_types.cpp"
#include "llm/backend/cpu/kernels/avx_vnni/nibble_types.cpp"
#include "llm/backend/cpu/kernels/avx_vnni/super_block_types.cpp"
#include "llm/backend/cpu/kernels/avx_vnni/table.cpp"
