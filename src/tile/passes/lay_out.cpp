#include <algorithm>

#include "tile/ir/build.h"
#include "tile/passes/passes.h"
#include "tile/passes/rewrite.h"

namespace ingot::tile {
namespace {

constexpr int64_t kPadBytes = 16, kConflictBytes = 32;

struct Shared {
    BufferId buffer;
    int64_t bytes;
};

// Rows whose bits are a multiple of 256 meet in the same banks: they get 16 bytes more.
int64_t padded_row(const Kernel& k, BufferId b) {
    const int64_t width = extent(k, b, k[b].shape.size() - 1), element = size_bytes(k[b].type);
    return width * element % kConflictBytes == 0 ? width + kPadBytes / element : width;
}

int64_t bytes_with_row(const Kernel& k, BufferId b, int64_t row) {
    int64_t rows = 1;
    for (size_t d = 0; d + 1 < k[b].shape.size(); ++d) rows *= extent(k, b, d);
    return rows * row * size_bytes(k[b].type);
}

}  // namespace

Result<Kernel> lay_out(const Kernel& k, const PlanOptions& options, Plan& plan) {
    std::vector<Shared> all;
    std::map<BufferId, bool> operand;
    walk(k, k.body, [&](StmtId id) {
        const Stmt& s = k[id];
        if (s.op == StmtOp::kAlloc && k[s.buffer].scope == Scope::kShared)
            all.push_back({s.buffer, allocation_bytes(k, s.buffer)});
        if (s.op == StmtOp::kGemm)
            for (const Region& r : s.regions) operand[r.buffer] = true;
    });
    int64_t plain = 0, padded = 0;
    for (const Shared& s : all) {
        const bool pads = operand.contains(s.buffer) && k[s.buffer].shape.size() >= 2;
        plain += (s.bytes + kPadBytes - 1) / kPadBytes * kPadBytes;
        padded += pads ? bytes_with_row(k, s.buffer, padded_row(k, s.buffer))
                       : (s.bytes + kPadBytes - 1) / kPadBytes * kPadBytes;
    }
    const int64_t limit = options.target->threadgroup_bytes;
    if (plain > limit) {
        std::ranges::sort(all, [](const Shared& a, const Shared& b) { return a.bytes > b.bytes; });
        std::string largest;
        for (size_t i = 0; i < std::min<size_t>(3, all.size()); ++i)
            largest += fmt::format("{}{} {}", i == 0 ? "" : ", ", k[all[i].buffer].name, all[i].bytes);
        return Failure(Error{ErrorKind::kLimit,
                             fmt::format("{} bytes of threadgroup memory; {} has {}. The largest: {} bytes",
                                         plain, options.target->name, limit, largest),
                             k.where(all[0].bytes > 0 ? k[all[0].buffer].loc : k.loc)});
    }
    const bool pads = padded <= limit;
    if (!pads)
        plan.notes.push_back(
            fmt::format("shared rows aren't padded: {} bytes would exceed {}", padded, limit));
    for (const Shared& s : all) {
        const int64_t row = padded_row(k, s.buffer);
        if (!pads || !operand.contains(s.buffer) || k[s.buffer].shape.size() < 2) continue;
        if (row != extent(k, s.buffer, k[s.buffer].shape.size() - 1)) plan.row_stride[s.buffer] = row;
    }
    plan.threadgroup_bytes = pads ? padded : plain;
    return k;
}

}  // namespace ingot::tile
