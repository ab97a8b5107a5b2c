// Copies: the elements of a region spread over the threads, by fours where addresses and edges allow it, and
// several at a time where the plan asks for that.
#include <algorithm>

#include "tile/emit/emitter.h"

namespace ingot::tile {
namespace {

int64_t elements_of(const std::vector<int64_t>& sizes) {
    int64_t n = 1;
    for (const int64_t s : sizes) n *= s;
    return n;
}

}  // namespace

// Elements that one access may take: 4 where addresses are multiples of 4 and edges don't cut through.
int64_t Emitter::vector_width(const Region& dst, const Region& src) {
    constexpr int64_t kWidth = 4;
    for (const Region* r : {&dst, &src}) {
        const Buffer& b = k_[r->buffer];
        const auto kept = r->kept();
        if (kept.empty() || kept.back() + 1 != b.shape.size() || !contiguous_last(r->buffer)) return 1;
        const size_t last = kept.back();
        const auto span = constant_int(k_, r->sizes[last]);
        if (!span || *span % kWidth != 0 || domain_.divisor(r->offsets[last]) % kWidth != 0) return 1;
        if (b.offset.valid() && domain_.divisor(b.offset) % kWidth != 0) return 1;
        const bool whole = domain_.proves_within(r->offsets[last], *span, b.shape[last]);
        if (!whole && domain_.divisor(b.shape[last]) % kWidth != 0) return 1;
        for (size_t d = 0; d < last; ++d) {
            if (b.scope != Scope::kGlobal) {
                if (stride_of(r->buffer, d) % kWidth != 0) return 1;
            } else if (!b.strides.empty()) {
                if (domain_.divisor(b.strides[d]) % kWidth != 0) return 1;
            } else if (d + 1 == last && domain_.divisor(b.shape[last]) % kWidth != 0) {
                return 1;
            }
        }
    }
    return kWidth;
}

// One access of a copy: what is stored, where, and the condition of storing; the condition is empty where it
// is sure to hold.
Emitter::Move Emitter::move_of(const Region& dst, const Region& src, int64_t width, const std::string& fill) {
    const DType from = k_[src.buffer].type, to = k_[dst.buffer].type;
    const std::vector<std::string> at = index_names(spans(dst));
    const auto access = [&](const Region& r, bool writes, std::string& inside) {
        const std::vector<Index> index = indices(r, at, spans(r));
        std::vector<std::string> texts;
        for (const Index& i : index) texts.push_back(i.text);
        inside = guard(r.buffer, index);
        const std::string place_text = place(r.buffer, texts);
        if (width == 1) return place_text;
        return fmt::format("*({} {}{}*)(&{})", address_space(r.buffer, writes), facts(k_[r.buffer].type).msl,
                           width, place_text);
    };
    Move out;
    std::string readable;
    out.value = access(src, false, readable);
    if (width == 1) {
        if (!readable.empty()) out.value = fmt::format("({} ? {} : {})", readable, out.value, fill);
        out.value = converted(out.value, from, to);
    } else {
        if (!readable.empty())
            out.value = fmt::format("{} ? {} : {}{}({})", readable, out.value, facts(from).msl, width, fill);
        if (from != to) out.value = fmt::format("{}{}({})", facts(to).msl, width, out.value);
    }
    out.place = access(dst, true, out.inside);
    return out;
}

// How many values a thread may read before it stores them: into shared memory, which nothing else names, and
// never under a condition. 1 where it takes one turn alone.
int64_t Emitter::copy_batch(const Region& dst, const Region& src, const Move& move, int64_t width) const {
    if (k_[dst.buffer].scope != Scope::kShared || dst.buffer == src.buffer || !move.inside.empty()) return 1;
    if (plan_.share_memory(dst.buffer, src.buffer)) return 1;
    const int64_t turns = elements_of(spans(dst)) / (int64_t(k_.threads) * width);
    return std::clamp<int64_t>(plan_.max_copy_batch, 1, std::max<int64_t>(turns, 1));
}

void Emitter::copy(StmtId id) {
    const Stmt& s = k_[id];
    const Region &dst = s.regions[0], &src = s.regions[1];
    if (in_matrices(dst.buffer) || in_matrices(src.buffer)) {
        copy_matrices(s);
        return;
    }
    const DType from = k_[src.buffer].type;
    const std::string fill =
        s.exprs.empty() ? zero(from) : converted(expr(s.exprs[0]), k_[s.exprs[0]].type, from);
    // Within one buffer the copy is a snapshot; the parts must not meet.
    const std::vector<int64_t> sizes = spans(dst);
    if (elements_of(sizes) == 0) return;
    const int64_t width = vector_width(dst, src);
    const Move move = move_of(dst, src, width, fill);
    const int64_t batch = copy_batch(dst, src, move, width);
    const int64_t done = batch > 1 ? batched_copies(dst, move, width, batch) : 0;
    if (done == elements_of(sizes)) return;
    if (done == 0) {
        spread(sizes, width);
    } else {
        open("for (int e = {} + {}; e < {}; e += {})", width == 1 ? "thread_index" : "thread_index * 4", done,
             elements_of(sizes), int64_t(k_.threads) * width);
        index_lines(sizes);
    }
    line("{}{} = {};", move.inside.empty() ? "" : fmt::format("if ({}) ", move.inside), move.place,
         move.value);
    close();
}

// Whole turns of all threads, `batch` of them at a time; gives the elements that they copy.
int64_t Emitter::batched_copies(const Region& dst, const Move& move, int64_t width, int64_t batch) {
    const std::vector<int64_t> sizes = spans(dst);
    const int64_t step = int64_t(k_.threads) * width, together = step * batch,
                  done = elements_of(sizes) / together * together;
    const std::string type =
        fmt::format("{}{}", facts(k_[dst.buffer].type).msl, width == 1 ? "" : fmt::format("{}", width));
    ++batched_;
    open("for (int first = {}; first < {}; first += {})", width == 1 ? "thread_index" : "thread_index * 4",
         done, together);
    line("{} moved[{}];", type, batch);
    for (const bool stores : {false, true}) {
        unrolled();
        open("for (ushort turn = 0; turn < {}; ++turn)", batch);
        line("const int e = first + turn * {};", step);
        index_lines(sizes);
        if (stores) {
            line("{} = moved[turn];", move.place);
        } else {
            line("moved[turn] = {};", move.value);
        }
        close();
    }
    close();
    return done;
}

}  // namespace ingot::tile
