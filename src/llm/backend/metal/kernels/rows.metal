// Reductions over rows: norms and softmax. A threadgroup takes a row; the output may be the input.

struct RowArgs {
    uint width;
    float epsilon;
};

// The sum (or maximum) over the threadgroup, in every thread. `partial` is free for reuse afterwards.
template <uint kThreads, bool kMax>
inline float over_threads(float value, threadgroup float* partial, uint simdgroup, uint lane) {
    value = kMax ? simd_max(value) : simd_sum(value);
    if (kThreads == kSimdWidth) return value;
    if (lane == 0) partial[simdgroup] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    value = partial[lane % (kThreads / kSimdWidth)];
    // Each value is there as often as there are lanes for it.
    value = kMax ? simd_max(value) : simd_sum(value) * (float(kThreads / kSimdWidth) / float(kSimdWidth));
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return value;
}

template <uint kThreads>
kernel void rms_norm(device const float* x [[buffer(0)]], device const float* gain [[buffer(1)]],
                     device float* y [[buffer(2)]], constant RowArgs& args [[buffer(3)]],
                     uint row [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float partial[kThreads / kSimdWidth];
    device const float* from = x + size_t(row) * args.width;
    device float* to = y + size_t(row) * args.width;
    float squares = 0.0f;
    for (uint i = thread_index; i < args.width; i += kThreads) squares += from[i] * from[i];
    squares = over_threads<kThreads, false>(squares, partial, simdgroup, lane);
    const float factor = precise::rsqrt(squares / float(args.width) + args.epsilon);
    for (uint i = thread_index; i < args.width; i += kThreads) to[i] = from[i] * factor * gain[i];
}

template <uint kThreads>
kernel void softmax(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                    constant RowArgs& args [[buffer(2)]], uint row [[threadgroup_position_in_grid]],
                    uint thread_index [[thread_index_in_threadgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float partial[kThreads / kSimdWidth];
    device const float* from = x + size_t(row) * args.width;
    device float* to = y + size_t(row) * args.width;
    float largest = -MAXFLOAT;
    for (uint i = thread_index; i < args.width; i += kThreads) largest = max(largest, from[i]);
    largest = over_threads<kThreads, true>(largest, partial, simdgroup, lane);
    float sum = 0.0f;
    for (uint i = thread_index; i < args.width; i += kThreads) sum += to[i] = precise::exp(from[i] - largest);
    const float inverse = 1.0f / over_threads<kThreads, false>(sum, partial, simdgroup, lane);
    for (uint i = thread_index; i < args.width; i += kThreads) to[i] *= inverse;
}

typedef decltype(rms_norm<32>) rms_norm_t;
template [[host_name("rms_norm")]] kernel rms_norm_t rms_norm<32>;
template [[host_name("rms_norm_wide")]] kernel rms_norm_t rms_norm<256>;
typedef decltype(softmax<32>) softmax_t;
template [[host_name("softmax")]] kernel softmax_t softmax<256>;
