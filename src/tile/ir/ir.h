// The Tile IR: a kernel as immutable nodes in arenas, addressed by typed ids. A program says what tiles hold
// and which memory they need semantically; where a value lives and who computes it is decided by passes
// (passes/). Expressions are hash-consed: equal trees have equal ids. A pass copies the kernel, appends nodes
// and replaces the body; ids of the old kernel stay valid in the new one. build.h makes nodes, print.h and
// parse.h are the text form, verify.h the rules, interpret.h the meaning.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "tile/ir/ops.h"
#include "tile/ir/types.h"

namespace ingot::tile {

using ExprId = Id<struct ExprTag>;
using StmtId = Id<struct StmtTag>;
using BufferId = Id<struct BufferTag>;
using VarId = Id<struct VarTag>;
using DimId = Id<struct DimTag>;
using ScalarId = Id<struct ScalarTag>;

using Block = std::vector<StmtId>;

// Where the program's author wrote it; `file` indexes Kernel::files.
struct SourceLoc {
    uint32_t file = 0, line = 0, column = 0;
};

struct Expr {
    ExprOp op = ExprOp::kConst;
    DType type = DType::kI32;
    uint32_t ref = 0;          // the VarId, DimId, ScalarId or BufferId of a leaf
    double value = 0;          // of kConst
    std::vector<ExprId> args;  // operands, or the indices of kLoad

    bool operator==(const Expr& other) const;
};

// A part of a buffer: one offset for each of its dimensions, and a size, or none (an invalid id) where the
// dimension is a plain index that the region doesn't keep. So a region's rank is its number of sizes.
struct Region {
    BufferId buffer;
    std::vector<ExprId> offsets, sizes;

    bool operator==(const Region&) const = default;
    bool keeps(size_t dimension) const { return sizes[dimension].valid(); }
    size_t rank() const;
    // The buffer's dimensions that the region keeps, in order.
    std::vector<size_t> kept() const;
};

struct Dim {
    std::string name;
    int64_t multiple_of = 1;  // a promise of the caller, checked at launch
};

struct Scalar {
    std::string name;
    DType type;
};

struct Buffer {
    std::string name;
    DType type = DType::kF32;
    Scope scope = Scope::kGlobal;
    Role role = Role::kNone;      // of a tensor (kGlobal)
    std::vector<ExprId> shape;    // of an allocation: constants
    std::vector<ExprId> strides;  // of a tensor, in elements; empty: row-major without gaps
    ExprId offset;                // of a tensor's first element; invalid: 0
    SourceLoc loc = {};
};

enum class VarKind : uint8_t { kGrid, kLoop, kCarried, kResult, kLet };

struct Var {
    std::string name;
    DType type = DType::kI32;
    VarKind kind = VarKind::kLet;
};

// One statement of any op. Which fields count is the op's (ops.h): regions as its row says; exprs and vars
// are
//   kFor       vars: index, carried..., results...; exprs: extent, initial values...
//   kParallel  vars: indices;  exprs: extents       kYield   exprs: next values
//   kIf        exprs: condition                     kLet     vars: the name; exprs: value
//   kStore, kAtomicAdd  a region of rank 0; exprs: value
//   kCopy, kFill        exprs: fill value (of a copy: optional)
//   kPrint, kAssert     exprs: values, condition; text
struct Stmt {
    StmtOp op = StmtOp::kBarrier;
    SourceLoc loc = {};
    std::vector<Region> regions;
    std::vector<ExprId> exprs;
    std::vector<VarId> vars;
    Block body, otherwise;
    BufferId buffer;  // of kAlloc
    // kGemm
    bool transpose_a = false, transpose_b = false, clear = false;
    Policy policy = Policy::kSquare;
    uint32_t product = 0;  // the planner's number of it, from 1 on, which passes keep; 0: not planned
    // kReduce (clear: DST's old value doesn't count), kCumSum
    Reduction reduction = Reduction::kSum;
    uint32_t axis = 0;
    // kFor
    LoopKind loop = LoopKind::kSerial;
    uint32_t stages = 0;
    // kPrint, kAssert
    std::string text;
    // Put in by a pass: it may be moved or removed again by one. Never set in what an author wrote.
    bool compiler_owned = false;
};

struct Swizzle {
    SwizzleOrder order = SwizzleOrder::kNone;
    uint32_t panel = 1;  // tiles; of kMlx a power of two

    bool operator==(const Swizzle&) const = default;
};

struct Kernel {
    std::string name;
    std::vector<std::string> files;  // of SourceLoc; [0] is where the kernel as a whole comes from
    std::vector<Dim> dims;
    std::vector<Scalar> scalars;
    std::vector<Buffer> buffers;  // tensors in the order of their declaration, allocations anywhere between
    std::vector<Var> vars;
    std::vector<Expr> exprs;
    std::vector<Stmt> stmts;

    std::vector<VarId> grid;  // at most 3; the first one varies fastest
    std::vector<ExprId> grid_extents;
    uint32_t threads = 128;
    Swizzle swizzle;
    Block body;
    SourceLoc loc = {};

    const Expr& operator[](ExprId id) const { return exprs[id.index()]; }
    const Stmt& operator[](StmtId id) const { return stmts[id.index()]; }
    const Buffer& operator[](BufferId id) const { return buffers[id.index()]; }
    const Var& operator[](VarId id) const { return vars[id.index()]; }
    const Dim& operator[](DimId id) const { return dims[id.index()]; }
    const Scalar& operator[](ScalarId id) const { return scalars[id.index()]; }

    // Ids of the tensors, in argument order.
    std::vector<BufferId> tensors() const;
    // "file:line:column" of a node, or "file:line" where no column is known.
    std::string where(SourceLoc loc) const;

    // The id of `e`, a new one or that of an equal expression.
    ExprId intern(Expr e);
    StmtId append(Stmt s);
    BufferId append(Buffer b);
    VarId append(Var v);
    // `base`, or base_2, base_3, ... : a name no dim, scalar, buffer or var has.
    std::string fresh_name(std::string_view base) const;

  private:
    std::unordered_multimap<size_t, uint32_t> interned_;
};

// What a statement does to region i: 'w' writes, 'r' reads, 'u' both.
char access(const Stmt& s, size_t i);
// The value of a constant; nothing for any other expression.
std::optional<int64_t> constant_int(const Kernel& k, ExprId e);
// Size of dimension d of an allocation. Only for verified kernels.
int64_t extent(const Kernel& k, BufferId b, size_t d);
// Bytes an allocation holds without padding.
int64_t allocation_bytes(const Kernel& k, BufferId b);
// Does the region cover its whole buffer, every dimension kept?
bool is_whole(const Kernel& k, const Region& r);

// How many iterations `shuffle` reaches: a simdgroup's lanes.
constexpr int64_t kShuffleLanes = 32;
// Does a statement of the block itself shuffle?
bool has_shuffle(const Kernel& k, const Block& body);

// Equal programs: same trees under a renaming of ids; names count, places in files don't.
bool same_program(const Kernel& a, const Kernel& b);

}  // namespace ingot::tile
