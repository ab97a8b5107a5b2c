# 1 "kernel.metal"
using namespace metal;
constant bool flag [[function_constant(BASE + 1)]];
struct S { float2 xy; S(int a) constant : xy(a) {} int get() const device { return 1; } };
template <typename T, int N = (3 > 2)>
[[kernel, max_total_threads_per_threadgroup(N * 2)]] void f(device T* a [[buffer(N), function_constant(flag)]],
    constant S& s, threadgroup half* t [[threadgroup(0)]], uint3 p [[thread_position_in_grid]]) {
  threadgroup vec<T, 4> x[N][2], y;
#pragma unroll(4)
  for (int i = 0; i < N; ++i) { x[i][0].xyz += static_cast<T>(s.xy.x) >> 1; }
}
typedef decltype(f<float, 2>) f_t;
template [[host_name("f_" "2")]] kernel f_t f<float, 2>;
template [[host_name("f_3")]] kernel void f<half, 3>(device half*, constant S&, threadgroup half*, uint3);
kernel void g(device int* a) { auto l = [&](thread auto& v) { return is_function_constant_defined(flag); }; }
