#include "tile/ir/verify_limits.h"

#include <algorithm>

namespace ingot::tile {
namespace {

void collect_allocations(const Kernel& k, const Block& body, std::vector<BufferId>& out) {
    for (const StmtId id : body) {
        const Stmt& s = k[id];
        if (s.op == StmtOp::kAlloc) out.push_back(s.buffer);
        collect_allocations(k, s.body, out);
        collect_allocations(k, s.otherwise, out);
    }
}

}  // namespace

std::vector<uint32_t> heights(const Kernel& k) {
    std::vector<uint32_t> out;
    out.reserve(k.exprs.size());
    for (const Expr& e : k.exprs) {  // operands come first
        uint32_t highest = 0;
        for (const ExprId a : e.args) highest = std::max(highest, out[a.index()]);
        out.push_back(e.args.empty() ? 0 : highest + 1);
    }
    return out;
}

Result<void> check_local_memory(const Kernel& k, const Stmt& parallel) {
    std::vector<BufferId> all;
    collect_allocations(k, parallel.body, all);
    int64_t bytes = 0;
    for (const BufferId b : all) bytes += allocation_bytes(k, b);
    if (bytes <= kMaxLocalBytes) return {};
    std::ranges::stable_sort(all, std::ranges::greater(), [&](BufferId b) { return allocation_bytes(k, b); });
    std::string largest;
    for (size_t i = 0; i < std::min<size_t>(3, all.size()); ++i)
        largest += fmt::format("{}{} {}", i == 0 ? "" : ", ", k[all[i]].name, allocation_bytes(k, all[i]));
    return Failure(Error{ErrorKind::kLimit,
                         fmt::format("{} bytes of local memory in an iteration; {} are accepted. The "
                                     "largest: {} bytes",
                                     bytes, kMaxLocalBytes, largest),
                         k.where(k[all[0]].loc)});
}

}  // namespace ingot::tile
