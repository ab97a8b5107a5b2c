#include "tile/lang/lang.h"

#include "base/check.h"
#include "tile/ir/verify.h"

namespace ingot::tile::lang {

// --- values

ExprId Value::id_in(Builder& b) const {
    return id_.valid() ? id_ : constant(b.kernel(), number_, type_);
}

Value apply(ExprOp op, std::initializer_list<Value> args) {
    Builder* builder = nullptr;
    for (const Value& v : args)
        if (v.builder() != nullptr) builder = v.builder();
    INGOT_CHECK(builder != nullptr, "{} of plain numbers: compute it in C++", facts(op).id);
    std::vector<ExprId> ids;
    for (const Value& v : args) ids.push_back(v.id_in(*builder));
    return {builder, tile::apply(builder->kernel(), op, ids)};
}

Value cast(DType type, const Value& a) {
    INGOT_CHECK(a.builder() != nullptr, "a cast of a plain number: write it as it is");
    return {a.builder(), tile::cast(a.builder()->kernel(), a.id_in(*a.builder()), type)};
}

Value bits_as(DType type, const Value& a) {
    INGOT_CHECK(a.builder() != nullptr, "bits of a plain number: write them as they are");
    return {a.builder(), tile::bits(a.builder()->kernel(), a.id_in(*a.builder()), type)};
}

Element::operator Value() const {
    return {builder_, load(builder_->kernel(), buffer_, at_)};
}
void Element::operator=(const Value& value) const {
    builder_->store(StmtOp::kStore, buffer_, at_, value, place_);
}
void Element::operator+=(const Value& value) const {
    *this = Value(*this) + value;
}
void Element::operator-=(const Value& value) const {
    *this = Value(*this) - value;
}
void Element::operator*=(const Value& value) const {
    *this = Value(*this) * value;
}
void Element::operator/=(const Value& value) const {
    *this = Value(*this) / value;
}
void Element::atomic_add(const Value& value) const {
    builder_->store(StmtOp::kAtomicAdd, buffer_, at_, value, place_);
}

// --- tensors

Tile Tensor::tile() const {
    return {builder_, whole(builder_->kernel(), id_)};
}

Tile Tensor::tile(std::vector<Value> offsets, std::vector<Value> sizes) const {
    Region r{id_, {}, {}};
    for (const Value& v : offsets) r.offsets.push_back(builder_->id(v));
    for (const Value& v : sizes) {
        const ExprId e = builder_->id(v);
        r.sizes.push_back(constant_int(builder_->kernel(), e) == -1 ? ExprId() : e);
    }
    return {builder_, std::move(r)};
}

Element Tensor::at(std::vector<Value> indices, Place place) const {
    std::vector<ExprId> ids;
    for (const Value& v : indices) ids.push_back(builder_->id(v));
    return {builder_, id_, std::move(ids), place};
}

// --- builder

Builder::Builder(std::string name, Place place) : block_(&kernel_.body) {
    kernel_.name = std::move(name);
    kernel_.loc = locate(place);
}

SourceLoc Builder::locate(Place place) {
    const std::string_view path = place.file_name();
    const std::string_view file = path.substr(path.find_last_of('/') + 1);
    for (uint32_t i = 0; i < kernel_.files.size(); ++i)
        if (kernel_.files[i] == file) return {i, place.line(), 0};
    kernel_.files.emplace_back(file);
    return {uint32_t(kernel_.files.size() - 1), place.line(), 0};
}

Value Builder::dim(std::string_view name, int64_t multiple_of) {
    kernel_.dims.push_back({std::string(name), multiple_of});
    return {this, tile::dim(kernel_, DimId(uint32_t(kernel_.dims.size() - 1)))};
}

Value Builder::scalar(DType type, std::string_view name) {
    kernel_.scalars.push_back({std::string(name), type});
    return {this, tile::scalar(kernel_, ScalarId(uint32_t(kernel_.scalars.size() - 1)))};
}

Tensor Builder::tensor(Role role, DType type, std::string_view name, std::vector<Value> shape,
                       TensorOptions options, Place place) {
    Buffer b{.name = std::string(name),
             .type = type,
             .scope = Scope::kGlobal,
             .role = role,
             .shape = {},
             .strides = {},
             .offset = {},
             .loc = locate(place)};
    for (const Value& v : shape) b.shape.push_back(id(v));
    for (const Value& v : options.strides) b.strides.push_back(id(v));
    const ExprId offset = id(options.offset);
    if (constant_int(kernel_, offset) != 0) b.offset = offset;
    return {this, kernel_.append(std::move(b))};
}

Value Builder::index(VarKind kind, std::string_view base, DType type) {
    const VarId v = kernel_.append(Var{kernel_.fresh_name(base), type, kind});
    return {this, var(kernel_, v)};
}

std::vector<Value> Builder::grid(std::vector<Value> extents, LaunchOptions options) {
    kernel_.threads = options.threads;
    std::vector<Value> indices;
    constexpr std::string_view kNames[] = {"bx", "by", "bz"};
    for (size_t i = 0; i < extents.size(); ++i) {
        indices.push_back(index(VarKind::kGrid, kNames[std::min<size_t>(i, 2)]));
        kernel_.grid.emplace_back(kernel_[indices.back().id_in(*this)].ref);
        kernel_.grid_extents.push_back(id(extents[i]));
    }
    return indices;
}

Tensor Builder::alloc(Scope scope, DType type, std::string_view name, std::vector<int64_t> shape,
                      Place place) {
    Buffer b{.name = kernel_.fresh_name(name),
             .type = type,
             .scope = scope,
             .role = Role::kNone,
             .shape = {},
             .strides = {},
             .offset = {},
             .loc = locate(place)};
    for (const int64_t n : shape) b.shape.push_back(constant(kernel_, double(n)));
    Stmt s = stmt(StmtOp::kAlloc, place);
    s.buffer = kernel_.append(std::move(b));
    const BufferId buffer = s.buffer;
    add(std::move(s));
    return {this, buffer};
}

Stmt Builder::stmt(StmtOp op, Place place) {
    Stmt s;
    s.op = op;
    s.loc = locate(place);
    return s;
}

void Builder::copy(Tile dst, Tile src, Place place) {
    Stmt s = stmt(StmtOp::kCopy, place);
    s.regions = {dst.region, src.region};
    add(std::move(s));
}

void Builder::copy(Tile dst, Tile src, Value fill, Place place) {
    copy(dst, src, place);
    kernel_.stmts.back().exprs = {id(fill)};
}

void Builder::fill(Tile dst, Value value, Place place) {
    Stmt s = stmt(StmtOp::kFill, place);
    s.exprs = {tile::cast(kernel_, id(value), kernel_[dst.region.buffer].type)};
    s.regions = {dst.region};
    add(std::move(s));
}

void Builder::gemm(Tile c, Tile a, Tile b, GemmOptions options, Place place) {
    Stmt s = stmt(StmtOp::kGemm, place);
    s.regions = {c.region, a.region, b.region};
    s.transpose_a = options.transpose_a;
    s.transpose_b = options.transpose_b;
    s.clear = options.clear_accumulator;
    s.policy = options.policy;
    add(std::move(s));
}

void Builder::reduce(Reduction r, Tile dst, Tile src, uint32_t axis, bool clear, Place place) {
    Stmt s = stmt(StmtOp::kReduce, place);
    s.regions = {dst.region, src.region};
    s.reduction = r;
    s.axis = axis;
    s.clear = clear;
    add(std::move(s));
}

void Builder::cumsum(Tile dst, Tile src, uint32_t axis, Place place) {
    Stmt s = stmt(StmtOp::kCumSum, place);
    s.regions = {dst.region, src.region};
    s.axis = axis;
    add(std::move(s));
}

void Builder::barrier(Place place) {
    add(stmt(StmtOp::kBarrier, place));
}

Block Builder::in_block(const std::function<void()>& body) {
    Block inner;
    Block* outer = std::exchange(block_, &inner);
    body();
    block_ = outer;
    return inner;
}

void Builder::loop(Value n, LoopOptions options, const Body1& body, Place place) {
    Stmt s = stmt(StmtOp::kFor, place);
    s.loop = options.unroll       ? LoopKind::kUnroll
             : options.stages > 0 ? LoopKind::kPipelined
                                  : LoopKind::kSerial;
    s.stages = options.stages;
    s.exprs = {id(n)};
    const Value i = index(VarKind::kLoop, "i");
    s.vars = {VarId(kernel_[i.id_in(*this)].ref)};
    s.body = in_block([&] { body(i); });
    add(std::move(s));
}

std::vector<Value> Builder::carry(Value n, std::vector<Value> start, const Carry& body, Place place) {
    Stmt s = stmt(StmtOp::kFor, place);
    s.exprs = {id(n)};
    const Value i = index(VarKind::kLoop, "i");
    s.vars = {VarId(kernel_[i.id_in(*this)].ref)};
    std::vector<Value> carried, results;
    for (const Value& v : start) {
        s.exprs.push_back(id(v));
        carried.push_back(index(VarKind::kCarried, "carried", kernel_[s.exprs.back()].type));
        s.vars.emplace_back(kernel_[carried.back().id_in(*this)].ref);
    }
    s.body = in_block([&] {
        const std::vector<Value> next = body(i, carried);
        Stmt yield = stmt(StmtOp::kYield, place);
        for (size_t c = 0; c < next.size(); ++c) {
            const DType type = c < carried.size() ? kernel_[carried[c].id_in(*this)].type : DType::kF32;
            yield.exprs.push_back(tile::cast(kernel_, id(next[c]), type));
        }
        add(std::move(yield));
    });
    for (size_t c = 0; c < carried.size(); ++c) {
        results.push_back(index(VarKind::kResult, "result", kernel_[s.exprs[1 + c]].type));
        s.vars.emplace_back(kernel_[results.back().id_in(*this)].ref);
    }
    add(std::move(s));
    return results;
}

void Builder::parallel_over(std::vector<Value> n, const std::function<void(std::vector<Value>)>& body,
                            Place place) {
    Stmt s = stmt(StmtOp::kParallel, place);
    std::vector<Value> indices;
    constexpr std::string_view kNames[] = {"i", "j", "l"};
    for (size_t d = 0; d < n.size(); ++d) {
        s.exprs.push_back(id(n[d]));
        indices.push_back(index(VarKind::kLoop, kNames[d]));
        s.vars.emplace_back(kernel_[indices.back().id_in(*this)].ref);
    }
    s.body = in_block([&] { body(indices); });
    add(std::move(s));
}

void Builder::parallel(Value n, const Body1& body, Place place) {
    parallel_over({n}, [&](const std::vector<Value>& at) { body(at[0]); }, place);
}
void Builder::parallel(std::array<Value, 2> n, const Body2& body, Place place) {
    parallel_over({n[0], n[1]}, [&](const std::vector<Value>& at) { body(at[0], at[1]); }, place);
}
void Builder::parallel(std::array<Value, 3> n, const Body3& body, Place place) {
    parallel_over(
        {n[0], n[1], n[2]}, [&](const std::vector<Value>& at) { body(at[0], at[1], at[2]); }, place);
}

void Builder::if_then(Value condition, const std::function<void()>& then,
                      const std::function<void()>& otherwise, Place place) {
    Stmt s = stmt(StmtOp::kIf, place);
    s.exprs = {id(condition)};
    s.body = in_block(then);
    if (otherwise) s.otherwise = in_block(otherwise);
    add(std::move(s));
}

Value Builder::let(std::string_view name, Value value, Place place) {
    Stmt s = stmt(StmtOp::kLet, place);
    s.exprs = {id(value)};
    const Value v = index(VarKind::kLet, name, kernel_[s.exprs[0]].type);
    s.vars = {VarId(kernel_[v.id_in(*this)].ref)};
    add(std::move(s));
    return v;
}

void Builder::print(std::string_view text, std::vector<Value> values, Place place) {
    Stmt s = stmt(StmtOp::kPrint, place);
    s.text = text;
    for (const Value& v : values) s.exprs.push_back(id(v));
    add(std::move(s));
}

void Builder::device_assert(Value condition, std::string_view text, Place place) {
    Stmt s = stmt(StmtOp::kAssert, place);
    s.text = text;
    s.exprs = {id(condition)};
    add(std::move(s));
}

void Builder::store(StmtOp op, BufferId buffer, const std::vector<ExprId>& at, const Value& value,
                    Place place) {
    Stmt s = stmt(op, place);
    s.regions = {element(buffer, at)};
    s.exprs = {tile::cast(kernel_, id(value), kernel_[buffer].type)};
    add(std::move(s));
}

Result<Kernel> kernel(std::string name, const std::function<void(Builder&)>& program, Place place) {
    Builder b(std::move(name), place);
    program(b);
    INGOT_TRY(verify(b.kernel()));
    return std::move(b.kernel());
}

}  // namespace ingot::tile::lang
