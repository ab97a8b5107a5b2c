// Where shared memory lies: padding of rows, and, where not all of it fits at once, tiles that are never
// needed at the same time in one place. Runs before barriers are inserted, which then keep the last use of
// one tile apart from the first of the next.
#include <algorithm>

#include "tile/ir/build.h"
#include "tile/passes/passes.h"
#include "tile/passes/rewrite.h"

namespace ingot::tile {
namespace {

constexpr int64_t kPadBytes = 16, kConflictBytes = 32;

struct Shared {
    BufferId buffer;
    int64_t row;                        // elements, padding included; 0: rows aren't padded
    size_t first = SIZE_MAX, last = 0;  // statements of the kernel's body that touch it
    int64_t offset = 0;

    bool meets(const Shared& other) const { return first <= other.last && other.first <= last; }
};

class Layout {
  public:
    Layout(const Kernel& k, const PlanOptions& options, Plan& plan)
        : k_(k),
          limit_(options.target->threadgroup_bytes),
          target_(options.target->name),
          pad_(options.pad_shared_rows),
          plan_(plan) {}

    Result<void> run() {
        collect();
        if (pad_ && total(true) <= limit_) return settle(true, total(true));
        if (total(false) <= limit_) {
            if (pad_)
                plan_.notes.push_back(
                    fmt::format("shared rows aren't padded: {} bytes would exceed {}", total(true), limit_));
            return settle(false, total(false));
        }
        for (const bool padded : {true, false}) {
            if (padded && !pad_) continue;
            const int64_t bytes = overlay(padded);
            if (bytes > limit_) continue;
            plan_.notes.push_back(
                fmt::format("{} bytes of shared tiles take turns in {}", total(padded), bytes));
            for (const Shared& s : all_) plan_.shared_offset[s.buffer] = s.offset;
            return settle(padded, bytes);
        }
        return too_much();
    }

  private:
    void collect() {
        std::map<BufferId, bool> operand;
        std::map<BufferId, size_t> index;
        walk(k_, k_.body, [&](StmtId id) {
            const Stmt& s = k_[id];
            if (s.op == StmtOp::kAlloc && k_[s.buffer].scope == Scope::kShared) {
                index[s.buffer] = all_.size();
                all_.push_back({s.buffer, 0});
            }
            if (s.op == StmtOp::kGemm)
                for (const Region& r : s.regions) operand[r.buffer] = true;
        });
        for (size_t at = 0; at < k_.body.size(); ++at) {
            const auto touch = [&](BufferId b) {
                const auto it = index.find(b);
                if (it == index.end()) return;
                Shared& s = all_[it->second];
                s.first = std::min(s.first, at), s.last = std::max(s.last, at);
            };
            walk(k_, Block{k_.body[at]}, [&](StmtId id) {
                for (const Region& r : k_[id].regions) touch(r.buffer);
                for (const ExprId e : expressions(k_[id]))
                    walk_loads(k_, e, [&](const Expr& l) { touch(BufferId(l.ref)); });
                if (const auto it = plan_.scratch.find(id); it != plan_.scratch.end()) touch(it->second);
            });
        }
        for (Shared& s : all_)
            if (operand.contains(s.buffer) && k_[s.buffer].shape.size() >= 2) s.row = padded_row(s.buffer);
    }

    // Rows whose bits are a multiple of 256 meet in the same banks: they get 16 bytes more.
    int64_t padded_row(BufferId b) const {
        const int64_t width = extent(k_, b, k_[b].shape.size() - 1), element = size_bytes(k_[b].type);
        return width * element % kConflictBytes == 0 ? width + kPadBytes / element : width;
    }
    int64_t bytes_of(const Shared& s, bool padded) const {
        int64_t bytes = allocation_bytes(k_, s.buffer);
        if (padded && s.row != 0) bytes = bytes / extent(k_, s.buffer, k_[s.buffer].shape.size() - 1) * s.row;
        return (bytes + kPadBytes - 1) / kPadBytes * kPadBytes;
    }
    int64_t total(bool padded) const {
        int64_t bytes = 0;
        for (const Shared& s : all_) bytes += bytes_of(s, padded);
        return bytes;
    }

    // The lowest free place for each tile, in the order of their first use; gives the bytes in all.
    int64_t overlay(bool padded) {
        std::ranges::stable_sort(all_, {}, &Shared::first);
        int64_t end = 0;
        for (size_t i = 0; i < all_.size(); ++i) {
            Shared& s = all_[i];
            s.offset = 0;
            for (bool moved = true; moved;) {
                moved = false;
                for (size_t j = 0; j < i; ++j) {
                    const Shared& other = all_[j];
                    if (!s.meets(other) || s.offset >= other.offset + bytes_of(other, padded) ||
                        other.offset >= s.offset + bytes_of(s, padded))
                        continue;
                    s.offset = other.offset + bytes_of(other, padded);
                    moved = true;
                }
            }
            end = std::max(end, s.offset + bytes_of(s, padded));
        }
        return end;
    }

    Result<void> settle(bool padded, int64_t bytes) {
        for (const Shared& s : all_) {
            plan_.shared_bytes[s.buffer] = bytes_of(s, padded);
            if (padded && s.row != 0 && s.row != extent(k_, s.buffer, k_[s.buffer].shape.size() - 1))
                plan_.row_stride[s.buffer] = s.row;
        }
        plan_.threadgroup_bytes = bytes;
        return {};
    }

    Failure too_much() {
        std::ranges::sort(all_, std::ranges::greater(), [&](const Shared& s) { return bytes_of(s, false); });
        std::string largest;
        for (size_t i = 0; i < std::min<size_t>(3, all_.size()); ++i)
            largest += fmt::format("{}{} {}", i == 0 ? "" : ", ", k_[all_[i].buffer].name,
                                   allocation_bytes(k_, all_[i].buffer));
        return Failure(Error{ErrorKind::kLimit,
                             fmt::format("{} bytes of threadgroup memory; {} has {}. The largest: {} bytes",
                                         total(false), target_, limit_, largest),
                             k_.where(k_[all_[0].buffer].loc)});
    }

    const Kernel& k_;
    const int64_t limit_;
    const std::string_view target_;
    const bool pad_;
    Plan& plan_;
    std::vector<Shared> all_;
};

}  // namespace

Result<Kernel> lay_out(const Kernel& k, const PlanOptions& options, Plan& plan) {
    INGOT_TRY(Layout(k, options, plan).run());
    plan.max_copy_batch = options.max_copy_batch;
    return k;
}

}  // namespace ingot::tile
