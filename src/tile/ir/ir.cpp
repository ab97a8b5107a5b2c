#include "tile/ir/ir.h"

#include <algorithm>
#include <bit>
#include <limits>

#include <fmt/format.h>

namespace ingot::tile {
namespace {

size_t hash_of(const Expr& e) {
    size_t h = size_t(e.op) * 31 + size_t(e.type);
    h = h * 1000003 + e.ref;
    h = h * 1000003 + std::hash<uint64_t>{}(std::bit_cast<uint64_t>(e.value));
    for (const ExprId a : e.args) h = h * 1000003 + a.index();
    return h;
}

}  // namespace

bool Expr::operator==(const Expr& o) const {
    return op == o.op && type == o.type && ref == o.ref && args == o.args &&
           std::bit_cast<uint64_t>(value) == std::bit_cast<uint64_t>(o.value);
}

size_t Region::rank() const {
    size_t n = 0;
    for (const ExprId s : sizes) n += s.valid();
    return n;
}

std::vector<size_t> Region::kept() const {
    std::vector<size_t> dims;
    for (size_t d = 0; d < sizes.size(); ++d)
        if (keeps(d)) dims.push_back(d);
    return dims;
}

std::vector<BufferId> Kernel::tensors() const {
    std::vector<BufferId> ids;
    for (uint32_t i = 0; i < buffers.size(); ++i)
        if (buffers[i].scope == Scope::kGlobal) ids.emplace_back(i);
    return ids;
}

std::string Kernel::where(SourceLoc at) const {
    const std::string& file = at.file < files.size() ? files[at.file] : name;
    if (at.line == 0) return file;
    return at.column == 0 ? fmt::format("{}:{}", file, at.line)
                          : fmt::format("{}:{}:{}", file, at.line, at.column);
}

ExprId Kernel::intern(Expr e) {
    const size_t hash = hash_of(e);
    const auto [begin, end] = interned_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
        if (exprs[it->second] == e) return ExprId(it->second);
    exprs.push_back(std::move(e));
    interned_.emplace(hash, uint32_t(exprs.size() - 1));
    return ExprId(uint32_t(exprs.size() - 1));
}

StmtId Kernel::append(Stmt s) {
    stmts.push_back(std::move(s));
    return StmtId(uint32_t(stmts.size() - 1));
}

BufferId Kernel::append(Buffer b) {
    buffers.push_back(std::move(b));
    return BufferId(uint32_t(buffers.size() - 1));
}

VarId Kernel::append(Var v) {
    vars.push_back(std::move(v));
    return VarId(uint32_t(vars.size() - 1));
}

std::string Kernel::fresh_name(std::string_view base) const {
    const auto taken = [&](std::string_view candidate) {
        const auto has = [&](const auto& list) {
            for (const auto& x : list)
                if (x.name == candidate) return true;
            return false;
        };
        return has(dims) || has(scalars) || has(buffers) || has(vars);
    };
    std::string candidate(base);
    for (int n = 2; taken(candidate); ++n) candidate = fmt::format("{}_{}", base, n);
    return candidate;
}

char access(const Stmt& s, size_t i) {
    const char letter = facts(s.op).regions[i];
    return letter == 'u' && s.clear ? 'w' : letter;
}

std::optional<int64_t> constant_int(const Kernel& k, ExprId e) {
    if (!e.valid() || k[e].op != ExprOp::kConst || is_float(k[e].type)) return std::nullopt;
    return int64_t(k[e].value);
}

int64_t extent(const Kernel& k, BufferId b, size_t d) {
    return constant_int(k, k[b].shape[d]).value_or(0);
}

int64_t allocation_bytes(const Kernel& k, BufferId b) {
    int64_t bytes = size_bytes(k[b].type);
    for (size_t d = 0; d < k[b].shape.size(); ++d) bytes *= extent(k, b, d);
    return bytes;
}

bool is_whole(const Kernel& k, const Region& r) {
    const Buffer& b = k[r.buffer];
    for (size_t d = 0; d < b.shape.size(); ++d)
        if (r.sizes[d] != b.shape[d] || constant_int(k, r.offsets[d]) != 0) return false;
    return true;
}

bool has_shuffle(const Kernel& k, const Block& body) {
    const auto shuffles = [&](const auto& self, ExprId e) -> bool {
        return k[e].op == ExprOp::kShuffle ||
               std::ranges::any_of(k[e].args, [&](ExprId a) { return self(self, a); });
    };
    return std::ranges::any_of(body, [&](StmtId id) {
        return std::ranges::any_of(k[id].exprs, [&](ExprId e) { return shuffles(shuffles, e); });
    });
}

}  // namespace ingot::tile
