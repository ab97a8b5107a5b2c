// How keys and values are stored in their cells: one struct a format. `row` is where a cell starts, [kv_heads,
// head_dim]. load() yields an element, load4() elements [4 i, 4 i + 4).

struct KvF32 {
    static float load(device const uchar* row, uint i) { return ((device const float*)row)[i]; }
    static float4 load4(device const uchar* row, uint i) { return ((device const float4*)row)[i]; }
    static void store(device uchar* row, uint i, float value) { ((device float*)row)[i] = value; }
};

struct KvF16 {
    static float load(device const uchar* row, uint i) { return float(((device const half*)row)[i]); }
    static float4 load4(device const uchar* row, uint i) { return float4(((device const half4*)row)[i]); }
    static void store(device uchar* row, uint i, float value) { ((device half*)row)[i] = half(value); }
};

// Blocks of 32: a half, then as many bytes.
struct KvQ8_0 {
    static float load(device const uchar* row, uint i) {
        device const uchar* block = row + i / 32 * 34;
        return load_half(block) * float(((device const char*)(block + 2))[i % 32]);
    }
    static float4 load4(device const uchar* row, uint i) {
        device const uchar* block = row + i / 8 * 34;
        return load_half(block) * float4(as_type<char4>(load_u32(block + 2 + i % 8 * 4)));
    }
    // The lanes of a simdgroup hold the elements of one block. Bit for bit what the host's quantizer makes.
    static void store(device uchar* row, uint i, float value) {
        const float scale = precise::divide(simd_max(fabs(value)), 127.0f);
        const float inverse = scale != 0.0f ? precise::divide(1.0f, scale) : 0.0f;
        device uchar* block = row + i / 32 * 34;
        if (i % 32 == 0) *(device half*)block = half(scale);
        ((device char*)(block + 2))[i % 32] = char(round(value * inverse));
    }
};

// X(name in function names, format)
#define FOR_EACH_KV_FORMAT(X) \
    X("f32", KvF32)           \
    X("f16", KvF16)           \
    X("q8_0", KvQ8_0)
