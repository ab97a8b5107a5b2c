// One thread an element (or a few neighbours): sums, products, activations, and moves of rows.

// The output may be the first input.
#define BINARY(name, expression)                                                                   \
    kernel void name(device const float* a_values [[buffer(0)]], device const float* b_values [[buffer(1)]], \
                     device float* y [[buffer(2)]], uint i [[thread_position_in_grid]]) {          \
        const float a = a_values[i], b = b_values[i];                                              \
        y[i] = expression;                                                                         \
    }
BINARY(add, a + b)
BINARY(mul, a * b)
BINARY(swiglu, silu_of(a) * b)
BINARY(geglu, gelu_of(a) * b)
#undef BINARY

#define UNARY(name, expression)                                                                       \
    kernel void name(device const float* x_values [[buffer(0)]], device float* y [[buffer(1)]],       \
                     constant float& parameter [[buffer(2)]], uint i [[thread_position_in_grid]]) {   \
        const float x = x_values[i];                                                                  \
        y[i] = expression;                                                                            \
    }
UNARY(silu, silu_of(x))
UNARY(gelu, gelu_of(x))
UNARY(scale, x* parameter)
#undef UNARY

struct GetRowsArgs {
    uint cols;
    uint row_bytes;
};

// Thread (i, j): unit i of row ids[j], decoded.
template <typename Format>
kernel void get_rows(device const uchar* table [[buffer(0)]], device const int* ids [[buffer(1)]],
                     device float* y [[buffer(2)]], constant GetRowsArgs& args [[buffer(3)]],
                     uint2 at [[thread_position_in_grid]]) {
    float4 w[Format::kVectors];
    Format::load(table + size_t(ids[at.y]) * args.row_bytes, at.x, w);
    device float4* row = (device float4*)(y + size_t(at.y) * args.cols);
    for (uint v = 0; v < Format::kVectors; ++v) Format::put(row, at.x, v, w[v]);
}

typedef decltype(get_rows<F32>) get_rows_t;
#define INSTANTIATE(name, Format) template [[host_name("get_rows_" name)]] kernel get_rows_t get_rows<Format>;
FOR_EACH_FORMAT(INSTANTIATE)
#undef INSTANTIATE

struct PermuteArgs {
    uint rows, cols;  // of the result; cols its last dimension, rows its middle one
    uint strides[3];  // of the source, for each dimension of the result
};

// Thread (c, r, t) writes element [t, r, c].
kernel void permute(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                    constant PermuteArgs& args [[buffer(2)]], uint3 at [[thread_position_in_grid]]) {
    y[(size_t(at.z) * args.rows + at.y) * args.cols + at.x] =
        x[size_t(at.z) * args.strides[0] + size_t(at.y) * args.strides[1] + size_t(at.x) * args.strides[2]];
}
