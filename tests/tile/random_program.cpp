#include "tile/random_program.h"

#include "base/check.h"
#include "tile/library.h"

namespace ingot::tile::testing {
namespace {

using namespace lang;

constexpr int kSizes[] = {8, 16, 32, 24, 12};

class Generator {
  public:
    Generator(Builder& b, const Choose& choose) : b_(b), choose_(choose) {}

    void run() {
        rows_ = b_.dim("rows"), columns_ = b_.dim("columns");
        x_ = b_.input<float>("X", {rows_, columns_});
        h_ = b_.input<half>("H", {columns_, rows_});
        g_ = b_.input<float>("G", {columns_, rows_});
        y_ = b_.output<float>("Y", {rows_, columns_});
        m_ = size(), n_ = size();
        const uint32_t threads[] = {32, 64, 128, 48};
        threads_ = threads[choose_(4)];
        const auto [bx, by] = b_.grid<2>({ceildiv(columns_, n_), ceildiv(rows_, m_)}, {.threads = threads_});
        bx_ = bx, by_ = by;
        for (int i = 0; i < 4; ++i) add_tile(i);
        vector_ = alloc(DType::kF32, "v", {m_});
        b_.fill(vector_, 1.0);
        statements(2 + choose_(4), 0);
        b_.copy(y_.tile({by_ * m_, bx_ * n_}, {m_, n_}), tiles_[0].tensor);
    }

  private:
    struct Shaped {
        Tensor tensor;
        int rows, columns;
    };

    int size() { return kSizes[choose_(5)]; }
    Tensor alloc(DType type, std::string name, std::vector<int64_t> shape) {
        return choose_(2) == 0 ? b_.shared(type, name, shape) : b_.fragment(type, name, shape);
    }

    // Tile 0 has the output's shape; the others multiply into it: A[m, k], B[k, n], and one more of its
    // shape.
    void add_tile(int i) {
        if (i == 0) k_ = size();
        const int rows = i == 2 ? k_ : m_, columns = i == 1 ? k_ : n_;
        const Tensor t = i == 1 || i == 2 ? b_.shared(DType::kF32, fmt::format("t{}", i), {rows, columns})
                                          : alloc(DType::kF32, fmt::format("t{}", i), {rows, columns});
        tiles_.push_back({t, rows, columns});
        b_.fill(t, 0.25 * (i + 1));
    }

    Value element(const Shaped& s, const Value& i, const Value& j) {
        switch (choose_(4)) {
            case 0:
                return s.tensor(i, j);
            case 1:
                return Value(s.tensor(i, j)) * 0.5;
            case 2:
                return max(Value(s.tensor(i, j)), -0.5);
            default:
                return sigmoid(Value(s.tensor(i, j)));
        }
    }

    void statements(int count, int depth) {
        for (int i = 0; i < count; ++i) statement(depth);
    }

    void statement(int depth) {
        Shaped& t = tiles_[size_t(choose_(4))];
        switch (choose_(10)) {
            case 0:  // over an edge, from either tensor
                if (choose_(2) == 0) {
                    b_.copy(t.tensor, x_.tile({by_ * m_ + choose_(3), bx_ * n_}, {t.rows, t.columns}), 0.5);
                } else {
                    b_.copy(t.tensor, h_.tile({bx_ * n_, by_ * m_ + choose_(3)}, {t.rows, t.columns}));
                }
                return;
            case 1:
                b_.gemm(tiles_[0].tensor, tiles_[1].tensor, tiles_[2].tensor,
                        {.clear_accumulator = choose_(2) == 0});
                return;
            case 2:
                if (choose_(2) == 0) {
                    b_.gemm(tiles_[0].tensor, x_.tile({by_ * m_, 0}, {m_, columns_}),
                            g_.tile({0, bx_ * n_}, {columns_, n_}), {});
                } else if (m_ == n_) {
                    b_.gemm(tiles_[0].tensor, tiles_[3].tensor, tiles_[3].tensor,
                            {.transpose_b = true, .clear_accumulator = true});
                }
                return;
            case 3:
                b_.reduce(Reduction(choose_(4)), vector_, tiles_[choose_(2) == 0 ? 0 : 3].tensor, 1,
                          choose_(2) == 0);
                return;
            case 4:
                b_.parallel({m_, n_}, [&](Value i, Value j) {
                    tiles_[0].tensor(i, j) =
                        element(tiles_[0], i, j) + element(tiles_[3], i, j) * Value(vector_(i));
                });
                return;
            case 5:
                b_.parallel({t.rows, t.columns}, [&](Value i, Value j) {
                    b_.if_then((i + j) % 2 == 0, [&] { t.tensor(i, j) = element(t, i, j) - x_(i, j); });
                });
                return;
            case 6:
                b_.cumsum(t.tensor, t.tensor, uint32_t(choose_(2)));
                b_.parallel({t.rows, t.columns},
                            [&](Value i, Value j) { t.tensor(i, j) = sigmoid(Value(t.tensor(i, j))); });
                return;
            case 7:
                if (depth < 2)
                    b_.serial(1 + choose_(3), [&](Value) { statements(1 + choose_(3), depth + 1); });
                return;
            case 8:
                if (threads_ % 32 == 0) shuffled(t);
                return;
            default:  // each takes shared memory of its own
                if (++loops_with_tiles_ <= 2) choose_(2) == 0 ? pipelined() : staged_product();
        }
    }

    // Each of 32 takes what another one has: turned, or crosswise.
    void shuffled(const Shaped& t) {
        const int by = choose_(32);
        const bool turned = choose_(2) == 0;
        b_.parallel({t.rows, 32}, [&](Value i, Value j) {
            const Value mine = b_.let("mine", Value(x_(by_ * m_ + i, j)) * 0.5);
            const Value other = b_.let("other", shuffle(mine, turned ? (j + by) % 32 : (j ^ by)));
            b_.if_then(j < t.columns, [&] { t.tensor(i, j) = other - mine; });
        });
    }

    void staged_product() {
        const Tensor a = b_.shared(DType::kF32, "a", {m_, k_}), b = b_.shared(DType::kF32, "b", {k_, n_});
        b_.pipelined(ceildiv(columns_, k_), uint32_t(1 + choose_(2)), [&](Value i) {
            b_.copy(a, x_.tile({by_ * m_, i * k_}, {m_, k_}));
            b_.copy(b, g_.tile({i * k_, bx_ * n_}, {k_, n_}));
            b_.gemm(tiles_[0].tensor, a, b, {});
        });
    }

    void pipelined() {
        const Tensor step = b_.shared(DType::kF16, "step", {m_, n_});
        b_.pipelined(ceildiv(columns_, n_), uint32_t(1 + choose_(3)), [&](Value i) {
            b_.copy(step, x_.tile({by_ * m_, i * n_}, {m_, n_}));
            b_.parallel({m_, n_}, [&](Value r, Value c) {
                tiles_[3].tensor(r, c) = Value(tiles_[3].tensor(r, c)) * 0.5 + Value(step(r, c));
            });
        });
    }

    Builder& b_;
    const Choose& choose_;
    Value rows_, columns_, bx_, by_;
    Tensor x_, h_, g_, y_, vector_;
    int m_ = 8, n_ = 8, k_ = 8, loops_with_tiles_ = 0;
    uint32_t threads_ = 32;
    std::vector<Shaped> tiles_;
};

}  // namespace

RandomProgram random_program(const Choose& choose) {
    auto k = kernel("random", [&](Builder& b) { Generator(b, choose).run(); });
    INGOT_CHECK(k.has_value(), "{}", k ? "" : k.error().describe());
    RandomProgram out{*k, {}};
    const int64_t rows = 1 + choose(30), columns = 1 + choose(30);
    out.arguments.dims = {{"rows", rows}, {"columns", columns}};
    out.arguments.tensors = {{"X", numbers(size_t(rows * columns), DType::kF32, 1)},
                             {"G", numbers(size_t(rows * columns), DType::kF32, 3)},
                             {"H", numbers(size_t(rows * columns), DType::kF16, 2)}};
    return out;
}

}  // namespace ingot::tile::testing
