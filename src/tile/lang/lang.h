// The language: kernels written in C++ over tiles. A program says what tiles hold and which memory they need;
// lanes, instructions and barriers are the compiler's. Each construct remembers the line it stands on.
// docs/tile-language.md shows all of them, and the .tile text of the same program.
//
//   auto kernel = lang::kernel("gemm", [](lang::Builder& b) {
//       auto m = b.dim("m"), n = b.dim("n"), k = b.dim("k");
//       auto A = b.input(DType::kF16, "A", {m, k});
//       ...
//       auto [bx, by] = b.grid<2>({ceildiv(n, 128), ceildiv(m, 64)}, {.threads = 128});
//       b.gemm(C.tile({by * 64, bx * 128}, {64, 128}), A.tile({by * 64, 0}, {64, k}),
//              B.tile({0, bx * 128}, {k, 128}), {.clear_accumulator = true});
//   });
#pragma once

#include <array>
#include <functional>
#include <source_location>

#include "base/result.h"
#include "tile/ir/build.h"
#include "tile/ir/ir.h"

namespace ingot::tile::lang {

class Builder;
using Place = std::source_location;

// The element types as C++ types: b.input<half>("A", {m, k}).
struct half {};
struct bfloat {};
template <typename T>
constexpr DType dtype_of();

// An expression of the kernel under construction, or a number that has none yet.
class Value {
  public:
    Value() = default;
    Value(int number) : number_(number) {}
    Value(double number) : number_(number), type_(DType::kF32) {}
    Value(float number) : Value(double(number)) {}
    Value(bool truth) : number_(truth), type_(DType::kBool) {}
    Value(Builder* builder, ExprId id) : builder_(builder), id_(id) {}

    Builder* builder() const { return builder_; }
    ExprId id_in(Builder& b) const;

  private:
    Builder* builder_ = nullptr;
    ExprId id_;
    double number_ = 0;
    DType type_ = DType::kI32;
};

// A part of a tensor or tile.
struct Tile {
    Builder* builder = nullptr;
    Region region;
};

// One element: reads as a Value, and inside of parallel can be assigned to.
class Element {
  public:
    Element(Builder* builder, BufferId buffer, std::vector<ExprId> at, Place place)
        : builder_(builder), buffer_(buffer), at_(std::move(at)), place_(place) {}
    operator Value() const;
    void operator=(const Value& value) const;
    void operator=(const Element& other) const { *this = Value(other); }
    void operator+=(const Value& value) const;
    void operator-=(const Value& value) const;
    void operator*=(const Value& value) const;
    void operator/=(const Value& value) const;
    void atomic_add(const Value& value) const;

  private:
    Builder* builder_;
    BufferId buffer_;
    std::vector<ExprId> at_;
    Place place_;
};

// A tensor (global) or an allocation (shared, fragment, local).
class Tensor {
  public:
    Tensor() = default;
    Tensor(Builder* builder, BufferId id) : builder_(builder), id_(id) {}

    BufferId id() const { return id_; }
    // Sizes of all dimensions; an `index` (below) keeps a dimension out of the tile.
    Tile tile(std::vector<Value> offsets, std::vector<Value> sizes) const;
    Tile tile() const;
    operator Tile() const { return tile(); }
    Element at(std::vector<Value> indices, Place place = Place::current()) const;
    Element operator()(Value i, Place place = Place::current()) const { return at({i}, place); }
    Element operator()(Value i, Value j, Place place = Place::current()) const { return at({i, j}, place); }
    Element operator()(Value i, Value j, Value l, Place place = Place::current()) const {
        return at({i, j, l}, place);
    }
    Element operator()(Value i, Value j, Value l, Value m, Place place = Place::current()) const {
        return at({i, j, l, m}, place);
    }

  private:
    Builder* builder_ = nullptr;
    BufferId id_;
};

// In a tile's sizes: take one index of this dimension and drop it.
inline const Value kIndex = Value(-1);

struct TensorOptions {
    std::vector<Value> strides;  // in elements; empty: row-major without gaps
    Value offset = 0;            // of the first element
};
struct LaunchOptions {
    uint32_t threads = 128;
};
struct GemmOptions {
    bool transpose_a = false, transpose_b = false, clear_accumulator = false;
    Policy policy = Policy::kSquare;
};
struct LoopOptions {
    bool unroll = false;
    uint32_t stages = 0;  // of pipelined
};

class Builder {
  public:
    explicit Builder(std::string name, Place place);

    // --- what is bound at launch
    Value dim(std::string_view name, int64_t multiple_of = 1);
    Value scalar(DType type, std::string_view name);
    Tensor tensor(Role role, DType type, std::string_view name, std::vector<Value> shape,
                  TensorOptions options, Place place);
    Tensor input(DType t, std::string_view n, std::vector<Value> s, TensorOptions o = {},
                 Place p = Place::current()) {
        return tensor(Role::kIn, t, n, std::move(s), std::move(o), p);
    }
    Tensor output(DType t, std::string_view n, std::vector<Value> s, TensorOptions o = {},
                  Place p = Place::current()) {
        return tensor(Role::kOut, t, n, std::move(s), std::move(o), p);
    }
    Tensor inout(DType t, std::string_view n, std::vector<Value> s, TensorOptions o = {},
                 Place p = Place::current()) {
        return tensor(Role::kInOut, t, n, std::move(s), std::move(o), p);
    }
    template <typename T>
    Tensor input(std::string_view n, std::vector<Value> s, TensorOptions o = {}, Place p = Place::current()) {
        return input(dtype_of<T>(), n, std::move(s), std::move(o), p);
    }
    template <typename T>
    Tensor output(std::string_view n, std::vector<Value> s, TensorOptions o = {},
                  Place p = Place::current()) {
        return output(dtype_of<T>(), n, std::move(s), std::move(o), p);
    }
    template <typename T>
    Tensor inout(std::string_view n, std::vector<Value> s, TensorOptions o = {}, Place p = Place::current()) {
        return inout(dtype_of<T>(), n, std::move(s), std::move(o), p);
    }

    // --- launch: the first grid index varies fastest; names are x, y, z after `bx`
    std::vector<Value> grid(std::vector<Value> extents, LaunchOptions options);
    template <size_t N>
    std::array<Value, N> grid(std::vector<Value> extents, LaunchOptions options = {}) {
        const std::vector<Value> all = grid(std::move(extents), options);
        std::array<Value, N> out;
        for (size_t i = 0; i < N && i < all.size(); ++i) out[i] = all[i];
        return out;
    }
    void swizzle(Swizzle s) { kernel_.swizzle = s; }

    // --- memory
    Tensor alloc(Scope scope, DType type, std::string_view name, std::vector<int64_t> shape, Place place);
    Tensor shared(DType t, std::string_view n, std::vector<int64_t> s, Place p = Place::current()) {
        return alloc(Scope::kShared, t, n, std::move(s), p);
    }
    Tensor fragment(DType t, std::string_view n, std::vector<int64_t> s, Place p = Place::current()) {
        return alloc(Scope::kFragment, t, n, std::move(s), p);
    }
    Tensor local(DType t, std::string_view n, std::vector<int64_t> s, Place p = Place::current()) {
        return alloc(Scope::kLocal, t, n, std::move(s), p);
    }

    // --- tile operations
    void copy(Tile dst, Tile src, Place place = Place::current());
    void copy(Tile dst, Tile src, Value fill, Place place = Place::current());
    void fill(Tile dst, Value value, Place place = Place::current());
    void clear(Tile dst, Place place = Place::current()) { fill(dst, 0, place); }
    void gemm(Tile c, Tile a, Tile b, GemmOptions options = {}, Place place = Place::current());
    void reduce(Reduction r, Tile dst, Tile src, uint32_t axis, bool clear = true,
                Place place = Place::current());
    void cumsum(Tile dst, Tile src, uint32_t axis, Place place = Place::current());
    void barrier(Place place = Place::current());

    // --- loops and branches
    using Body1 = std::function<void(Value)>;
    using Body2 = std::function<void(Value, Value)>;
    using Body3 = std::function<void(Value, Value, Value)>;
    using Carry = std::function<std::vector<Value>(Value, std::vector<Value>)>;
    void parallel(Value n, const Body1& body, Place place = Place::current());
    void parallel(std::array<Value, 2> n, const Body2& body, Place place = Place::current());
    void parallel(std::array<Value, 3> n, const Body3& body, Place place = Place::current());
    void serial(Value n, const Body1& body, Place place = Place::current()) { loop(n, {}, body, place); }
    void unroll(Value n, const Body1& body, Place place = Place::current()) {
        loop(n, {.unroll = true, .stages = 0}, body, place);
    }
    void pipelined(Value n, uint32_t stages, const Body1& body, Place place = Place::current()) {
        loop(n, {.unroll = false, .stages = stages}, body, place);
    }
    // Carries values from iteration to iteration; gives those of the last one.
    std::vector<Value> carry(Value n, std::vector<Value> start, const Carry& body,
                             Place place = Place::current());
    void if_then(Value condition, const std::function<void()>& then,
                 const std::function<void()>& otherwise = {}, Place place = Place::current());
    Value let(std::string_view name, Value value, Place place = Place::current());
    void print(std::string_view text, std::vector<Value> values = {}, Place place = Place::current());
    void device_assert(Value condition, std::string_view text, Place place = Place::current());

    // --- for Value, Element and Tensor
    Kernel& kernel() { return kernel_; }
    ExprId id(const Value& v) { return v.id_in(*this); }
    void store(StmtOp op, BufferId buffer, const std::vector<ExprId>& at, const Value& value, Place place);
    SourceLoc locate(Place place);

  private:
    void loop(Value n, LoopOptions options, const Body1& body, Place place);
    void parallel_over(std::vector<Value> n, const std::function<void(std::vector<Value>)>& body,
                       Place place);
    Stmt stmt(StmtOp op, Place place);
    void add(Stmt s) { block_->push_back(kernel_.append(std::move(s))); }
    Block in_block(const std::function<void()>& body);
    Value index(VarKind kind, std::string_view base, DType type = DType::kI32);

    Kernel kernel_;
    Block* block_;
};

// Builds and verifies.
Result<Kernel> kernel(std::string name, const std::function<void(Builder&)>& program,
                      Place place = Place::current());

// --- expressions
Value apply(ExprOp op, std::initializer_list<Value> args);
#define INGOT_TILE_OPERATOR(sign, op)                            \
    inline Value operator sign(const Value& a, const Value& b) { \
        return apply(ExprOp::op, {a, b});                        \
    }
INGOT_TILE_OPERATOR(+, kAdd)
INGOT_TILE_OPERATOR(-, kSub)
INGOT_TILE_OPERATOR(*, kMul)
INGOT_TILE_OPERATOR(/, kDiv)
INGOT_TILE_OPERATOR(%, kMod)
INGOT_TILE_OPERATOR(<, kLt)
INGOT_TILE_OPERATOR(<=, kLe)
INGOT_TILE_OPERATOR(>, kGt)
INGOT_TILE_OPERATOR(>=, kGe)
INGOT_TILE_OPERATOR(==, kEq)
INGOT_TILE_OPERATOR(!=, kNe)
INGOT_TILE_OPERATOR(&&, kAnd)
INGOT_TILE_OPERATOR(||, kOr)
INGOT_TILE_OPERATOR(&, kBitAnd)
INGOT_TILE_OPERATOR(|, kBitOr)
INGOT_TILE_OPERATOR(^, kBitXor)
INGOT_TILE_OPERATOR(<<, kShl)
INGOT_TILE_OPERATOR(>>, kShr)
#undef INGOT_TILE_OPERATOR
inline Value operator-(const Value& a) {
    return apply(ExprOp::kNeg, {a});
}
inline Value operator!(const Value& a) {
    return apply(ExprOp::kNot, {a});
}
inline Value operator~(const Value& a) {
    return apply(ExprOp::kBitNot, {a});
}
#define INGOT_TILE_FUNCTION(name, op)   \
    inline Value name(const Value& a) { \
        return apply(ExprOp::op, {a});  \
    }
INGOT_TILE_FUNCTION(abs, kAbs)
INGOT_TILE_FUNCTION(floor, kFloor)
INGOT_TILE_FUNCTION(ceil, kCeil)
INGOT_TILE_FUNCTION(round, kRound)
INGOT_TILE_FUNCTION(exp, kExp)
INGOT_TILE_FUNCTION(exp2, kExp2)
INGOT_TILE_FUNCTION(log, kLog)
INGOT_TILE_FUNCTION(log2, kLog2)
INGOT_TILE_FUNCTION(sqrt, kSqrt)
INGOT_TILE_FUNCTION(rsqrt, kRsqrt)
INGOT_TILE_FUNCTION(sin, kSin)
INGOT_TILE_FUNCTION(cos, kCos)
INGOT_TILE_FUNCTION(tanh, kTanh)
INGOT_TILE_FUNCTION(sigmoid, kSigmoid)
INGOT_TILE_FUNCTION(erf, kErf)
#undef INGOT_TILE_FUNCTION
inline Value min(const Value& a, const Value& b) {
    return apply(ExprOp::kMin, {a, b});
}
inline Value max(const Value& a, const Value& b) {
    return apply(ExprOp::kMax, {a, b});
}
inline Value pow(const Value& a, const Value& b) {
    return apply(ExprOp::kPow, {a, b});
}
inline Value ceildiv(const Value& a, const Value& b) {
    return apply(ExprOp::kCeilDiv, {a, b});
}
inline Value select(const Value& c, const Value& a, const Value& b) {
    return apply(ExprOp::kSelect, {c, a, b});
}
// What `a` is in iteration `lane` of the same 32 iterations of a `parallel`.
inline Value shuffle(const Value& a, const Value& lane) {
    return apply(ExprOp::kShuffle, {a, lane});
}
Value cast(DType type, const Value& a);
Value bits_as(DType type, const Value& a);
template <typename T>
Value cast(const Value& a) {
    return cast(dtype_of<T>(), a);
}
template <typename T>
Value bits_as(const Value& a) {
    return bits_as(dtype_of<T>(), a);
}

// clang-format off
template <> constexpr DType dtype_of<float>() { return DType::kF32; }
template <> constexpr DType dtype_of<half>() { return DType::kF16; }
template <> constexpr DType dtype_of<bfloat>() { return DType::kBF16; }
template <> constexpr DType dtype_of<int32_t>() { return DType::kI32; }
template <> constexpr DType dtype_of<uint32_t>() { return DType::kU32; }
template <> constexpr DType dtype_of<int16_t>() { return DType::kI16; }
template <> constexpr DType dtype_of<uint16_t>() { return DType::kU16; }
template <> constexpr DType dtype_of<int8_t>() { return DType::kI8; }
template <> constexpr DType dtype_of<uint8_t>() { return DType::kU8; }
// clang-format on

}  // namespace ingot::tile::lang
