"""Kernels in TileLang's public language, what each computes, and what an independent run on a CPU with checkers found in the
Metal source that TileLang 0.1.15 makes of them. Read by tools/metal_tilelang.py; needs tilelang."""
import dataclasses

import tilelang.language as T
from tilelang.layout import make_swizzled_layout


@dataclasses.dataclass(frozen=True)
class Gemm:
    """C[M, N] = op(A)[M, K] @ op(B)[K, N], staged through shared tiles or direct from global."""
    name: str
    M: int = 128
    N: int = 128
    K: int = 128
    tile: tuple = (64, 64, 32)
    threads: int = 128
    dtype: str = "float16"
    accumulator: str = "float32"
    out_dtype: str = "float32"
    c: str = "fragment"          # where the accumulator lives: fragment, shared or global
    metal4: bool = False
    trans_a: bool = False
    trans_b: bool = False
    stages: int = 0
    epilogue: str = "none"       # none, relu or bias_relu
    policy: str = "Square"
    swizzle: str = ""            # "", row, column or mlx
    scope: str = "shared.dyn"    # of shared tiles: shared.dyn (TileLang's default) or shared
    via_shared: bool = False     # fragment -> shared tile -> epilogue there -> global
    swizzle_a: bool = False      # annotate A's shared tile with make_swizzled_layout
    sync: bool = False           # with via_shared: T.sync_threads() before and after the store
    vectorize: bool = True

    def build(self):
        return _gemm_direct(self) if self.c == "global" else _gemm_staged(self)

    def facts(self):
        a = "A.T" if self.trans_a else "A"
        b = "B.T" if self.trans_b else "B"
        reference = f"{a} @ {b}"
        if self.epilogue == "bias_relu":
            reference = f"maximum({reference} + bias, 0)"
        elif self.epilogue == "relu":
            reference = f"maximum({reference}, 0)"
        narrow = {"float16": 2e-2, "bfloat16": 1.5e-1}.get(self.out_dtype, 0)
        narrow_sum = {"float16": 1e-3, "bfloat16": 1e-2}.get(self.accumulator, 1e-5)
        return dict(sizes=dict(M=self.M, N=self.N, K=self.K), tile=list(self.tile),
                    options=_options(self), reference=reference,
                    tolerance=round(narrow + narrow_sum * max(self.K, 16), 6), outputs=["C"])


def _options(spec):
    skip = {"name", "M", "N", "K", "tile"}
    return {f.name: getattr(spec, f.name) for f in dataclasses.fields(spec) if f.name not in skip}


def _gemm_staged(g):
    bm, bn, bk = g.tile
    a_shape = (g.K, g.M) if g.trans_a else (g.M, g.K)
    b_shape = (g.N, g.K) if g.trans_b else (g.K, g.N)
    a_tile = (bk, bm) if g.trans_a else (bm, bk)
    b_tile = (bn, bk) if g.trans_b else (bk, bn)
    scope = g.scope

    def alloc_c(shape, kind):
        return T.alloc_shared(shape, kind, scope=scope) if g.c == "shared" else T.alloc_fragment(shape, kind)

    policy = getattr(T.GemmWarpPolicy, g.policy)
    M, N, K, dtype, acc, out = g.M, g.N, g.K, g.dtype, g.accumulator, g.out_dtype
    trans_a, trans_b, stages, threads, epilogue = g.trans_a, g.trans_b, g.stages, g.threads, g.epilogue
    via_shared, sync, swizzle_a = g.via_shared, g.sync, g.swizzle_a

    @T.macro
    def multiply(A, B, C_tile, A_tile, B_tile, bx, by):
        T.clear(C_tile)
        for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
            if trans_a:
                T.copy(A[k * bk, by * bm], A_tile)
            else:
                T.copy(A[by * bm, k * bk], A_tile)
            if trans_b:
                T.copy(B[bx * bn, k * bk], B_tile)
            else:
                T.copy(B[k * bk, bx * bn], B_tile)
            T.gemm(A_tile, B_tile, C_tile, transpose_A=trans_a, transpose_B=trans_b, policy=policy)

    with_bias, with_relu = epilogue == "bias_relu", epilogue != "none"

    @T.macro
    def finish(tile, bias, bx):
        if with_relu:
            for i, j in T.Parallel(bm, bn):
                value = tile[i, j] + bias[bx * bn + j] if with_bias else tile[i, j]
                tile[i, j] = T.max(value, T.cast(0, acc))

    @T.prim_func
    def main(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype),
             bias: T.Tensor((N,), acc), C: T.Tensor((M, N), out)):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=threads) as (bx, by):
            A_tile = T.alloc_shared(a_tile, dtype, scope=scope)
            B_tile = T.alloc_shared(b_tile, dtype, scope=scope)
            C_tile = alloc_c((bm, bn), acc)
            if swizzle_a:
                T.annotate_layout({A_tile: make_swizzled_layout(A_tile)})
            multiply(A, B, C_tile, A_tile, B_tile, bx, by)
            if via_shared:
                C_out = T.alloc_shared((bm, bn), acc, scope=scope)
                if sync:
                    T.sync_threads()
                T.copy(C_tile, C_out)
                if sync:
                    T.sync_threads()
                finish(C_out, bias, bx)
                T.copy(C_out, C[by * bm, bx * bn])
            else:
                finish(C_tile, bias, bx)
                T.copy(C_tile, C[by * bm, bx * bn])
    return main


def _gemm_direct(g):
    """One T.gemm over global regions: TileLang's recommended form for metal4."""
    bm, bn, _ = g.tile
    a_shape = (g.K, g.M) if g.trans_a else (g.M, g.K)
    b_shape = (g.N, g.K) if g.trans_b else (g.K, g.N)
    M, N, K, dtype, out = g.M, g.N, g.K, g.dtype, g.out_dtype
    trans_a, trans_b, threads, order = g.trans_a, g.trans_b, g.threads, g.swizzle

    def region(tensor, lead, extent, across):
        """Rows [lead, lead + extent) of a row-major operand, or columns if `across`."""
        return tensor[0:K, lead:lead + extent] if across else tensor[lead:lead + extent, 0:K]

    if order:
        panel = 4
        swizzled = (T.ceildiv(N, bn) * panel, T.ceildiv(T.ceildiv(M, bm), panel)) if order == "mlx" \
            else (T.ceildiv(N, bn), T.ceildiv(M, bm))
        mlx = order == "mlx"

        @T.prim_func
        def main(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), out)):
            with T.Kernel(*swizzled, threads=threads) as (px, py):
                T.use_swizzle(panel, order=order)
                bx = px // panel if mlx else px
                by = py * panel + px % panel if mlx else py
                T.gemm(A[by * bm:(by + 1) * bm, 0:K], B[0:K, bx * bn:(bx + 1) * bn],
                       C[by * bm:(by + 1) * bm, bx * bn:(bx + 1) * bn], clear_accum=True)
        return main

    @T.prim_func
    def main(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), out)):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=threads) as (bx, by):
            T.gemm(region(A, by * bm, bm, trans_a), region(B, bx * bn, bn, not trans_b),
                   C[by * bm:(by + 1) * bm, bx * bn:(bx + 1) * bn],
                   transpose_A=trans_a, transpose_B=trans_b, clear_accum=True)
    return main


@dataclasses.dataclass(frozen=True)
class Other:
    """A kernel that isn't a plain GEMM: `make` returns (prim_func, facts)."""
    name: str
    make: object
    metal4: bool = False
    vectorize: bool = True

    def build(self):
        return self.make()[0]

    def facts(self):
        return self.make()[1]


def _facts(sizes, reference, tolerance, outputs, tile=(), **options):
    return dict(sizes=sizes, reference=reference, tolerance=tolerance, outputs=outputs,
                tile=list(tile), options=options)


def add(M=100, N=72, bm=32, bn=32):
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
            for i, j in T.Parallel(bm, bn):
                C[by * bm + i, bx * bn + j] = A[by * bm + i, bx * bn + j] + B[by * bm + i, bx * bn + j]
    return main, _facts(dict(M=M, N=N), "A + B", 1e-6, ["C"], (bm, bn))


def rms_norm(M=64, N=256, rows=4, eps=1e-5):
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
            x = T.alloc_fragment((rows, N), "float32")
            squares = T.alloc_fragment((rows, N), "float32")
            s = T.alloc_fragment((rows,), "float32")
            T.copy(A[bx * rows, 0], x)
            for i, j in T.Parallel(rows, N):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, s, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] * T.rsqrt(s[i] / N + eps)
            T.copy(x, Y[bx * rows, 0])
    return main, _facts(dict(M=M, N=N), f"A / sqrt((A * A).mean(1) + {eps})", 1e-4, ["Y"], (rows,))


def softmax_serial(M=128, N=72):
    """One row a thread with T.serial loops: no cross-lane operation."""
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, 32), threads=32) as bx:
            m = T.alloc_local((1,), "float32")
            s = T.alloc_local((1,), "float32")
            row = bx * 32 + T.get_thread_binding()
            m[0] = -T.infinity("float32")
            s[0] = T.float32(0)
            for j in T.serial(N):
                m[0] = T.max(m[0], A[row, j])
            for j in T.serial(N):
                s[0] = s[0] + T.exp(A[row, j] - m[0])
            for j in T.serial(N):
                Y[row, j] = T.exp(A[row, j] - m[0]) / s[0]
    return main, _facts(dict(M=M, N=N), "softmax(A, 1)", 1e-5, ["Y"])


def gemm_int4(M=64, N=64, K=128, bm=32, bn=32, bk=32):
    """Weights packed two 4-bit values a byte along K, low nibble first, offset 8, scale 1/8."""
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), Q: T.Tensor((N, K // 2), "uint8"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=64) as (bx, by):
            A_tile = T.alloc_shared((bm, bk), "float16")
            Q_tile = T.alloc_shared((bn, bk // 2), "uint8")
            B_tile = T.alloc_shared((bn, bk), "float16")
            C_tile = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_tile)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=0):
                T.copy(A[by * bm, k * bk], A_tile)
                T.copy(Q[bx * bn, k * bk // 2], Q_tile)
                for i, j in T.Parallel(bn, bk):
                    B_tile[i, j] = T.cast(
                        T.cast((Q_tile[i, j // 2] >> T.cast((j % 2) * 4, "uint8")) & T.uint8(15), "int32") - 8,
                        "float16") * T.float16(0.125)
                T.gemm(A_tile, B_tile, C_tile, transpose_B=True)
            T.copy(C_tile, C[by * bm, bx * bn])
    return main, _facts(dict(M=M, N=N, K=K), "A @ int4(Q).T", 1e-2, ["C"], (bm, bn, bk))


def gemm_scalar(M=64, N=64, K=64, dtype="float32"):
    """No T.gemm: one output a thread, a T.serial loop over K."""
    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, 16), T.ceildiv(M, 16), threads=256) as (bx, by):
            sums = T.alloc_fragment((16, 16), "float32")
            T.clear(sums)
            for k in T.serial(K):
                for i, j in T.Parallel(16, 16):
                    sums[i, j] += T.cast(A[by * 16 + i, k], "float32") * T.cast(B[k, bx * 16 + j], "float32")
            T.copy(sums, C[by * 16, bx * 16])
    return main, _facts(dict(M=M, N=N, K=K), "A @ B", 1e-3, ["C"], (16, 16))


def gemm_dynamic(N=128, K=128, bm=64, bn=64, bk=32, M=100):
    m = T.dynamic("m")
    @T.prim_func
    def main(A: T.Tensor((m, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((m, N), "float32")):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            A_tile = T.alloc_shared((bm, bk), "float16")
            B_tile = T.alloc_shared((bk, bn), "float16")
            C_tile = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_tile)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=0):
                T.copy(A[by * bm, k * bk], A_tile)
                T.copy(B[k * bk, bx * bn], B_tile)
                T.gemm(A_tile, B_tile, C_tile)
            T.copy(C_tile, C[by * bm, bx * bn])
    return main, _facts(dict(M=M, N=N, K=K), "A @ B", 1e-2, ["C"], (bm, bn, bk), scalars=dict(m=M))


def flash_attention(heads=2, length=64, dim=32, bm=32, bn=32):
    """Forward attention in TileLang's usual form: two T.gemm, reductions over fragments."""
    scale = (1.0 / dim) ** 0.5 * 1.44269504
    shape = (heads, length, dim)
    @T.prim_func
    def main(Q: T.Tensor(shape, "float16"), K: T.Tensor(shape, "float16"),
             V: T.Tensor(shape, "float16"), O: T.Tensor(shape, "float32")):
        with T.Kernel(T.ceildiv(length, bm), heads, threads=128) as (bx, by):
            q = T.alloc_shared((bm, dim), "float16")
            k_tile = T.alloc_shared((bn, dim), "float16")
            v_tile = T.alloc_shared((bn, dim), "float16")
            p = T.alloc_shared((bm, bn), "float16")
            s = T.alloc_fragment((bm, bn), "float32")
            o = T.alloc_fragment((bm, dim), "float32")
            m = T.alloc_fragment((bm,), "float32")
            m_old = T.alloc_fragment((bm,), "float32")
            total = T.alloc_fragment((bm,), "float32")
            part = T.alloc_fragment((bm,), "float32")
            T.copy(Q[by, bx * bm:(bx + 1) * bm, :], q)
            T.clear(o)
            T.clear(total)
            T.fill(m, -T.infinity("float32"))
            for kb in T.Pipelined(T.ceildiv(length, bn), num_stages=0):
                T.copy(K[by, kb * bn:(kb + 1) * bn, :], k_tile)
                T.clear(s)
                T.gemm(q, k_tile, s, transpose_B=True)
                T.copy(m, m_old)
                T.reduce_max(s, m, dim=1, clear=False)
                for i, j in T.Parallel(bm, bn):
                    s[i, j] = T.exp2(s[i, j] * scale - m[i] * scale)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(bm):
                    total[i] = total[i] * T.exp2(m_old[i] * scale - m[i] * scale) + part[i]
                for i, j in T.Parallel(bm, dim):
                    o[i, j] *= T.exp2(m_old[i] * scale - m[i] * scale)
                T.copy(s, p)
                T.copy(V[by, kb * bn:(kb + 1) * bn, :], v_tile)
                T.gemm(p, v_tile, o)
            for i, j in T.Parallel(bm, dim):
                o[i, j] /= total[i]
            T.copy(o, O[by, bx * bm:(bx + 1) * bm, :])
    return main, _facts(dict(heads=heads, length=length, dim=dim),
                        "softmax(Q @ K.swapaxes(1, 2) / sqrt(dim), 2) @ V", 5e-3, ["O"], (bm, bn))


def attention_shared(heads=2, length=64, dim=32, bm=32, bn=32, scope="shared.dyn", threads=128):
    """Attention without T.reduce: scores and output in shared tiles, one thread a row for softmax."""
    scale = (1.0 / dim) ** 0.5 * 1.44269504
    shape = (heads, length, dim)
    @T.prim_func
    def main(Q: T.Tensor(shape, "float16"), K: T.Tensor(shape, "float16"),
             V: T.Tensor(shape, "float16"), O: T.Tensor(shape, "float32")):
        with T.Kernel(T.ceildiv(length, bm), heads, threads=threads) as (bx, by):
            q = T.alloc_shared((bm, dim), "float16", scope=scope)
            k_tile = T.alloc_shared((bn, dim), "float16", scope=scope)
            v_tile = T.alloc_shared((bn, dim), "float16", scope=scope)
            p = T.alloc_shared((bm, bn), "float16", scope=scope)
            s = T.alloc_shared((bm, bn), "float32", scope=scope)
            o = T.alloc_shared((bm, dim), "float32", scope=scope)
            m = T.alloc_shared((bm,), "float32", scope=scope)
            total = T.alloc_shared((bm,), "float32", scope=scope)
            rescale = T.alloc_shared((bm,), "float32", scope=scope)
            T.copy(Q[by, bx * bm:(bx + 1) * bm, :], q)
            T.clear(o)
            T.clear(total)
            T.fill(m, -1e30)
            for kb in T.serial(T.ceildiv(length, bn)):
                T.copy(K[by, kb * bn:(kb + 1) * bn, :], k_tile)
                T.copy(V[by, kb * bn:(kb + 1) * bn, :], v_tile)
                T.gemm(q, k_tile, s, transpose_B=True, clear_accum=True)
                for i in T.Parallel(bm):
                    rescale[i] = m[i]
                    for j in T.serial(bn):
                        m[i] = T.max(m[i], s[i, j])
                    rescale[i] = T.exp2((rescale[i] - m[i]) * scale)
                    total[i] = total[i] * rescale[i]
                    for j in T.serial(bn):
                        s[i, j] = T.exp2((s[i, j] - m[i]) * scale)
                        total[i] = total[i] + s[i, j]
                T.copy(s, p)
                for i, j in T.Parallel(bm, dim):
                    o[i, j] = o[i, j] * rescale[i]
                T.gemm(p, v_tile, o)
            for i, j in T.Parallel(bm, dim):
                o[i, j] = o[i, j] / total[i]
            T.copy(o, O[by, bx * bm:(bx + 1) * bm, :])
    return main, _facts(dict(heads=heads, length=length, dim=dim),
                        "softmax(Q @ K.swapaxes(1, 2) / sqrt(dim), 2) @ V", 5e-3, ["O"], (bm, bn))


def histogram(N=1024, bins=32):
    @T.prim_func
    def main(A: T.Tensor((N,), "int32"), H: T.Tensor((bins,), "int32")):
        with T.Kernel(T.ceildiv(N, 128), threads=128) as bx:
            for i in T.Parallel(128):
                T.atomic_add(H[A[bx * 128 + i]], 1)
    return main, _facts(dict(N=N, bins=bins), f"bincount(A, minlength={bins})", 0, ["H"])


def transpose(M=96, N=64, tile=32):
    @T.prim_func
    def main(A: T.Tensor((M, N), "float16"), Y: T.Tensor((N, M), "float16")):
        with T.Kernel(T.ceildiv(N, tile), T.ceildiv(M, tile), threads=128) as (bx, by):
            x = T.alloc_shared((tile, tile), "float16")
            y = T.alloc_shared((tile, tile), "float16")
            T.copy(A[by * tile, bx * tile], x)
            T.transpose(x, y)
            T.copy(y, Y[bx * tile, by * tile])
    return main, _facts(dict(M=M, N=N), "A.T", 0, ["Y"], (tile, tile))


# What running the emitted source showed. A name that isn't listed was right.
FINDINGS = {
    "gemm_f16_fullrow_64x64x32_t128": ("wrong", "the store partitions C as Square, the MMA as FullRow"),
    "gemm_f16_fullcol_64x64x32_t128": ("wrong", "the store partitions C as Square, the MMA as FullCol"),
    "gemm_f16_kstep12_64x64x48": ("wrong", "a K tile that isn't a multiple of 8 loses its last columns"),
    "gemm_f16_swizzled_a_64x64x32_t128": ("wrong", "the copy obeys annotate_layout, simdgroup_load doesn't"),
    "gemm_f16_edge_100x72x40": ("out_of_bounds", "the fragment store has no guard in M and N"),
    "gemm_dynamic_m": ("out_of_bounds", "the fragment store has no guard in M"),
    "mpp_direct_f16_edge_100x72x48": ("out_of_bounds", "neither loads nor stores have guards"),
    "gemm_f16_viashared_64x64x32_t128": ("race", "no barrier around the fragment's store to a shared tile"),
    "gemm_f16_viashared_biasrelu_64x64x32_t128": ("race", "no barrier before the fragment's store"),
    "gemm_f16_edge_viashared_100x72x40": ("race", "no barrier before the fragment's store"),
    "gemm_f16_edge_odd_33x35x37": ("race", "no barrier around the fragment's store to a shared tile"),
    "attention_shared": ("barrier_divergence", "a barrier inside if (threadIdx.x < 32) of 128 threads"),
    "attention_shared_metal4": ("barrier_divergence", "a barrier inside if (threadIdx.x < 32) of 128 threads"),
    "mpp_direct_f32_64x128_t128": ("does_not_compile", "__pct_desc is declared once for A, B and C each"),
    "mpp_direct_f16_nt_64x128_t128": ("wrong", "loads of a transposed operand ignore the transposition"),
    "mpp_direct_f16_nt_square_64x64_t128": ("wrong", "loads of a transposed operand ignore the transposition"),
    "mpp_cshared_static_f16_nt_64x64x32_t128": ("wrong", "as above; also reads unwritten threadgroup memory"),
}

KERNELS = [
    # the simdgroup-matrix path: staged operands, C in a fragment
    Gemm("gemm_f16_64x64x32_t128"),
    Gemm("gemm_f16_128x64x32_t128", tile=(128, 64, 32)),
    Gemm("gemm_f16_32x32x32_t64", tile=(32, 32, 32), threads=64),
    Gemm("gemm_f16_64x128x64_t256", tile=(64, 128, 64), threads=256),
    Gemm("gemm_bf16_64x64x32_t128", dtype="bfloat16"),
    Gemm("gemm_f32_64x64x32_t128", dtype="float32"),
    Gemm("gemm_f16_outf16_64x64x32_t128", out_dtype="float16"),
    Gemm("gemm_f16_accf16_64x64x32_t128", accumulator="float16", out_dtype="float16"),
    Gemm("gemm_f16_nt_64x64x32_t128", trans_b=True),
    Gemm("gemm_f16_tn_64x64x32_t128", trans_a=True),
    Gemm("gemm_f16_stages2_64x64x32_t128", stages=2),
    Gemm("gemm_f16_stages3_64x64x32_t128", K=256, stages=3),
    Gemm("gemm_f16_relu_64x64x32_t128", epilogue="relu"),
    Gemm("gemm_f16_biasrelu_64x64x32_t128", epilogue="bias_relu"),
    Gemm("gemm_f16_cshared_biasrelu_64x64x32_t128", epilogue="bias_relu", c="shared"),
    Gemm("gemm_f16_cshared_64x64x32_t128", c="shared"),
    Gemm("gemm_f16_cshared_outf16_64x64x32_t128", c="shared", out_dtype="float16"),
    Gemm("gemm_f16_fullrow_64x64x32_t128", policy="FullRow"),
    Gemm("gemm_f16_fullcol_64x64x32_t128", policy="FullCol"),
    Gemm("gemm_f16_edge_100x72x40", M=100, N=72, K=40, tile=(32, 32, 32), threads=64),
    Gemm("gemm_f16_edge_cshared_100x72x40", M=100, N=72, K=40, tile=(32, 32, 32), threads=64, c="shared"),
    Gemm("gemm_f16_edge_k_128x128x40", K=40),
    Gemm("gemm_f16_viashared_64x64x32_t128", via_shared=True),
    Gemm("gemm_f16_viashared_biasrelu_64x64x32_t128", via_shared=True, epilogue="bias_relu"),
    Gemm("gemm_f16_edge_viashared_100x72x40", M=100, N=72, K=40, tile=(32, 32, 32), threads=64, via_shared=True,
         epilogue="bias_relu"),
    Gemm("gemm_f16_viashared_sync_biasrelu_64x64x32_t128", via_shared=True, sync=True, epilogue="bias_relu"),
    Gemm("gemm_f16_edge_viashared_sync_100x72x40", M=100, N=72, K=40, tile=(32, 32, 32), threads=64,
         via_shared=True, sync=True, epilogue="bias_relu"),
    Gemm("gemm_f16_edge_odd_sync_33x35x37", M=33, N=35, K=37, tile=(32, 32, 32), threads=64, via_shared=True,
         sync=True),
    Gemm("gemm_f16_kstep12_64x64x48", M=64, N=64, K=48, tile=(32, 32, 12), threads=32),
    Gemm("gemm_f16_swizzled_a_64x64x32_t128", swizzle_a=True),
    Gemm("gemm_f16_edge_odd_33x35x37", M=33, N=35, K=37, tile=(32, 32, 32), threads=64, via_shared=True),
    Gemm("gemm_f16_t64_of_16x16x16", tile=(16, 16, 16), threads=64),
    Gemm("gemm_f16_40x40x24_t128", M=120, N=120, K=120, tile=(40, 40, 24)),
    Gemm("gemm_i8_64x64x32_novector", dtype="int8", accumulator="int32", out_dtype="int32", vectorize=False),
    Gemm("gemm_i8_64x64x32_t128", dtype="int8", accumulator="int32", out_dtype="int32"),
    Gemm("gemm_fp8_64x64x32_t128", dtype="float8_e4m3"),
    # metal4: cooperative tensors
    Gemm("mpp_direct_f16_64x128_t128", N=256, tile=(64, 128, 0), c="global", metal4=True),
    Gemm("mpp_direct_f16_outf16_64x128_t128", N=256, tile=(64, 128, 0), c="global", metal4=True,
         out_dtype="float16"),
    Gemm("mpp_direct_bf16_64x128_t128", N=256, tile=(64, 128, 0), c="global", metal4=True, dtype="bfloat16"),
    Gemm("mpp_direct_f32_64x128_t128", N=256, tile=(64, 128, 0), c="global", metal4=True, dtype="float32"),
    Gemm("mpp_direct_f16_64x128_t256", N=256, tile=(64, 128, 0), c="global", metal4=True, threads=256),
    Gemm("mpp_direct_f16_nt_64x128_t128", N=256, tile=(64, 128, 0), c="global", metal4=True, trans_b=True),
    Gemm("mpp_direct_f16_nt_square_64x64_t128", tile=(64, 64, 0), c="global", metal4=True, trans_b=True),
    Gemm("mpp_direct_f16_mlx_64x128_t128", M=256, N=256, tile=(64, 128, 0), c="global", metal4=True,
         swizzle="mlx"),
    Gemm("mpp_direct_f16_row_64x128_t128", M=256, N=256, tile=(64, 128, 0), c="global", metal4=True,
         swizzle="row"),
    Gemm("mpp_direct_f16_edge_100x72x48", M=100, N=72, K=48, tile=(32, 64, 0), c="global", metal4=True),
    Gemm("mpp_direct_f16_edge_k_128x128x40", K=40, tile=(64, 64, 0), c="global", metal4=True),
    Gemm("mpp_cshared_f16_64x64x32_t128", c="shared", metal4=True),
    Gemm("mpp_cshared_f16_nt_64x64x32_t128", c="shared", metal4=True, trans_b=True),
    Gemm("mpp_cshared_bf16_64x64x32_t128", c="shared", metal4=True, dtype="bfloat16"),
    Gemm("mpp_cshared_f16_edge_100x72x40", M=100, N=72, K=40, tile=(32, 32, 32), threads=64, c="shared",
         metal4=True),
    Gemm("mpp_cshared_static_f16_64x64x32_t128", c="shared", metal4=True, scope="shared"),
    Gemm("mpp_cshared_static_f16_64x64x64_t128", c="shared", metal4=True, scope="shared", tile=(64, 64, 64)),
    Gemm("mpp_cshared_static_f16_nt_64x64x32_t128", c="shared", metal4=True, scope="shared", trans_b=True),
    Gemm("mpp_cshared_static_bf16_64x64x32_t128", c="shared", metal4=True, scope="shared", dtype="bfloat16"),
    Gemm("mpp_cshared_static_biasrelu_64x64x32_t128", c="shared", metal4=True, scope="shared",
         epilogue="bias_relu"),
    Gemm("mpp_cshared_static_edge_100x72x40", M=100, N=72, K=40, tile=(32, 32, 32), threads=64, c="shared",
         metal4=True, scope="shared"),
    Gemm("mpp_direct_f16_32x32_t32", tile=(32, 32, 0), c="global", metal4=True, threads=32),
    Gemm("mpp_direct_f16_128x128_t128", tile=(128, 128, 0), c="global", metal4=True),
    Gemm("metal4_cfragment_f16_64x64x32_t128", metal4=True),
    Gemm("direct_f16_64x128_t128_without_metal4", N=256, tile=(64, 128, 0), c="global"),
    # everything else
    Other("add_100x72", add),
    Other("rms_norm", rms_norm),
    Other("softmax_serial", softmax_serial),
    Other("gemm_int4", gemm_int4),
    Other("gemm_int4_novector", gemm_int4, vectorize=False),
    Other("gemm_scalar_f32", gemm_scalar),
    Other("gemm_dynamic_m", gemm_dynamic),
    Other("flash_attention", flash_attention),
    Other("attention_shared", attention_shared),
    Other("attention_shared_t32", lambda: attention_shared(threads=32)),
    Other("attention_shared_metal4", lambda: attention_shared(scope="shared"), metal4=True),
    Other("histogram_int32", histogram),
    Other("transpose_f16", transpose),
]
