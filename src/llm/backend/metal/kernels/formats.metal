// How the rows of a weight are stored: one struct a type, with GGUF's layouts. A row is read in units of kVectors
// vectors of four elements, a whole number of them in a block. load() decodes a unit, x() yields the activations that
// its vector v meets, put() writes such a vector to a row. Units are cut so that neighbouring lanes read neighbouring
// bytes and no byte of codes is read twice.

// Blocks start at even addresses only.
inline uint load_u32(device const uchar* at) {
    return as_type<uint>(ushort2(*(device const packed_ushort2*)at));
}
inline float load_half(device const uchar* at) {
    return float(*(device const half*)at);
}

// Scale and minimum of a block.
inline float2 load_half2(device const uchar* at) {
    return float2(as_type<half2>(load_u32(at)));
}

// Elements in order, a vector a unit.
struct InOrder {
    enum { kVectors = 1 };
    static float4 x(device const float4* row, uint unit, uint) { return row[unit]; }
    static void put(device float4* row, uint unit, uint, float4 values) { row[unit] = values; }
};

struct F32 : InOrder {
    enum { kBlock = 4 };
    static void load(device const uchar* row, uint unit, thread float4 (&w)[kVectors]) {
        w[0] = ((device const float4*)row)[unit];
    }
};

struct F16 : InOrder {
    enum { kBlock = 4 };
    static void load(device const uchar* row, uint unit, thread float4 (&w)[kVectors]) {
        w[0] = float4(((device const half4*)row)[unit]);
    }
};

struct BF16 : InOrder {
    enum { kBlock = 4 };
    static void load(device const uchar* row, uint unit, thread float4 (&w)[kVectors]) {
        w[0] = as_type<float4>(uint4(((device const ushort4*)row)[unit]) << 16);
    }
};

// Blocks of 32 with 16 bytes of nibbles, element j low and element j + 16 high in byte j: a unit is 2 bytes.
struct Nibbles {
    enum { kVectors = 1, kBlock = 32 };
    static uint pair(uint unit) { return unit / 8 * 16 + unit % 8; }
    static float4 x(device const float4* row, uint unit, uint) {
        device const float2* pairs = (device const float2*)row + pair(unit);
        return float4(pairs[0], pairs[8]);
    }
    static void put(device float4* row, uint unit, uint, float4 values) {
        device float2* pairs = (device float2*)row + pair(unit);
        pairs[0] = values.xy;
        pairs[8] = values.zw;
    }
    static uint4 codes(device const uchar* nibbles, uint unit) {
        const uint bits = ((device const ushort*)nibbles)[unit % 8];
        return (uint4(bits) >> uint4(0, 8, 4, 12)) & 15u;
    }
    // Bit j of `high` belongs to element j of the block; moved to bit 4.
    static uint4 fifth_bits(uint high, uint unit) {
        return ((uint4(high >> (unit % 8 * 2)) >> uint4(0, 1, 16, 17)) & 1u) << 4;
    }
};

struct Q4_0 : Nibbles {
    static void load(device const uchar* row, uint unit, thread float4 (&w)[kVectors]) {
        device const uchar* block = row + unit / 8 * 18;
        w[0] = load_half(block) * (float4(codes(block + 2, unit)) - 8.0f);
    }
};

struct Q4_1 : Nibbles {
    static void load(device const uchar* row, uint unit, thread float4 (&w)[kVectors]) {
        device const uchar* block = row + unit / 8 * 20;
        const float2 dm = load_half2(block);
        w[0] = dm.x * float4(codes(block + 4, unit)) + dm.y;
    }
};

struct Q5_0 : Nibbles {
    static void load(device const uchar* row, uint unit, thread float4 (&w)[kVectors]) {
        device const uchar* block = row + unit / 8 * 22;
        const uint4 q = codes(block + 6, unit) | fifth_bits(load_u32(block + 2), unit);
        w[0] = load_half(block) * (float4(q) - 16.0f);
    }
};

struct Q5_1 : Nibbles {
    static void load(device const uchar* row, uint unit, thread float4 (&w)[kVectors]) {
        device const uchar* block = row + unit / 8 * 24;
        const uint4 q = codes(block + 8, unit) | fifth_bits(load_u32(block + 4), unit);
        const float2 dm = load_half2(block);
        w[0] = dm.x * float4(q) + dm.y;
    }
};

struct Q8_0 : InOrder {
    enum { kBlock = 32 };
    static void load(device const uchar* row, uint unit, thread float4 (&w)[kVectors]) {
        device const uchar* block = row + unit / 8 * 34;
        w[0] = load_half(block) * float4(as_type<char4>(load_u32(block + 2 + unit % 8 * 4)));
    }
};

// Number j of eight six-bit scales (x) and minima (y) in twelve bytes: the first four are the low six bits of bytes
// j and j + 4; the others have four bits in byte j + 4 and two at the top of bytes j - 4 and j.
inline float2 scale_and_min(device const uchar* packed, uint j) {
    if (j < 4) return float2(packed[j] & 63, packed[j + 4] & 63);
    return float2((packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4, (packed[j + 4] >> 4) | (packed[j] >> 6) << 4);
}
// Four codes of `mask`'s width, one in each byte of `bits`, `shift` bits up.
inline uint4 codes(uint bits, uint shift, uint mask) {
    return (uint4(bits >> shift) >> uint4(0, 8, 16, 24)) & mask;
}
// Eight bytes of nibbles: low ones, then high ones.
inline void nibble_codes(device const uchar* bytes, thread uint4 (&q)[4]) {
    const uint first = load_u32(bytes), second = load_u32(bytes + 4);
    q[0] = codes(first, 0, 15);
    q[1] = codes(second, 0, 15);
    q[2] = codes(first, 4, 15);
    q[3] = codes(second, 4, 15);
}

// Super-blocks of 256 in four runs of 64: 32 bytes hold the first 32 elements low, the others high. A unit is 8
// bytes of a run.
struct Runs {
    enum { kVectors = 4, kBlock = 256 };
    static uint index(uint unit, uint v) { return unit / 4 * 16 + v / 2 * 8 + unit % 4 * 2 + v % 2; }
    static float4 x(device const float4* row, uint unit, uint v) { return row[index(unit, v)]; }
    static void put(device float4* row, uint unit, uint v, float4 values) { row[index(unit, v)] = values; }
};

struct Q4_K : Runs {
    static void load(device const uchar* row, uint unit, thread float4 (&w)[kVectors]) {
        device const uchar* block = row + unit / 16 * 144;
        const uint run = unit % 16 / 4;
        uint4 q[4];
        nibble_codes(block + 16 + unit % 16 * 8, q);
        const float d = load_half(block), dmin = load_half(block + 2);
        const float2 low = scale_and_min(block + 4, 2 * run), high = scale_and_min(block + 4, 2 * run + 1);
        for (uint v = 0; v < 2; ++v) w[v] = d * low.x * float4(q[v]) - dmin * low.y;
        for (uint v = 2; v < 4; ++v) w[v] = d * high.x * float4(q[v]) - dmin * high.y;
    }
};

struct Q5_K : Runs {
    static void load(device const uchar* row, uint unit, thread float4 (&w)[kVectors]) {
        device const uchar* block = row + unit / 16 * 176;
        const uint run = unit % 16 / 4;
        uint4 q[4];
        nibble_codes(block + 48 + unit % 16 * 8, q);
        // Bit k of byte l belongs to element 32 k + l.
        device const uchar* high_bits = block + 16 + unit % 4 * 8;
        const uint first = load_u32(high_bits), second = load_u32(high_bits + 4);
        q[0] |= codes(first, 2 * run, 1) << 4;
        q[1] |= codes(second, 2 * run, 1) << 4;
        q[2] |= codes(first, 2 * run + 1, 1) << 4;
        q[3] |= codes(second, 2 * run + 1, 1) << 4;
        const float d = load_half(block), dmin = load_half(block + 2);
        const float2 low = scale_and_min(block + 4, 2 * run), high = scale_and_min(block + 4, 2 * run + 1);
        for (uint v = 0; v < 2; ++v) w[v] = d * low.x * float4(q[v]) - dmin * low.y;
        for (uint v = 2; v < 4; ++v) w[v] = d * high.x * float4(q[v]) - dmin * high.y;
    }
};

// Two halves of 128 elements, each with 64 bytes of nibbles and 32 of upper bits: nibble byte l < 32 holds elements
// l (low) and l + 64 (high), byte l + 32 elements l + 32 and l + 96; byte l of the upper bits holds two bits for
// each of the four. A scale serves 16 elements.
struct Q6_K {
    enum { kVectors = 4, kBlock = 256 };
    static uint index(uint unit, uint v) { return unit / 8 * 32 + v / 2 * 16 + unit % 8 * 2 + v % 2; }
    static float4 x(device const float4* row, uint unit, uint v) { return row[index(unit, v)]; }
    static void put(device float4* row, uint unit, uint v, float4 values) { row[index(unit, v)] = values; }
    static void load(device const uchar* row, uint unit, thread float4 (&w)[kVectors]) {
        device const uchar* block = row + unit / 16 * 210;
        const uint side = unit % 16 / 8, group = unit % 8 / 4, part = unit % 4;
        uint4 q[4];
        nibble_codes(block + unit % 16 * 8, q);
        device const uchar* high_bits = block + 128 + side * 32 + part * 8;
        const uint first = load_u32(high_bits), second = load_u32(high_bits + 4);
        q[0] |= codes(first, 2 * group, 3) << 4;
        q[1] |= codes(second, 2 * group, 3) << 4;
        q[2] |= codes(first, 2 * group + 4, 3) << 4;
        q[3] |= codes(second, 2 * group + 4, 3) << 4;
        device const char* scales = (device const char*)(block + 192) + side * 8 + group * 2 + part / 2;
        const float d = load_half(block + 208);
        const float low = d * float(scales[0]), high = d * float(scales[4]);
        for (uint v = 0; v < 2; ++v) w[v] = low * (float4(q[v]) - 32.0f);
        for (uint v = 2; v < 4; ++v) w[v] = high * (float4(q[v]) - 32.0f);
    }
};

// X(name in function names, format)
#define FOR_EACH_QUANTIZED_FORMAT(X) \
    X("q4_0", Q4_0)                  \
    X("q4_1", Q4_1)                  \
    X("q5_0", Q5_0)                  \
    X("q5_1", Q5_1)                  \
    X("q8_0", Q8_0)                  \
    X("q4_k", Q4_K)                  \
    X("q5_k", Q5_K)                  \
    X("q6_k", Q6_K)
#define FOR_EACH_FORMAT(X) \
    X("f32", F32)          \
    X("f16", F16)          \
    X("bf16", BF16)        \
    FOR_EACH_QUANTIZED_FORMAT(X)
