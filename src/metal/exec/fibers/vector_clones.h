// Marks a function that is compiled for several instruction sets, the machine's best being chosen when the
// program starts. Its loops are meant for the vectoriser.
#pragma once

#if defined(__x86_64__) && !defined(__clang__)
#define INGOT_METAL_VECTOR_CLONES \
    __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define INGOT_METAL_VECTOR_CLONES
#endif
