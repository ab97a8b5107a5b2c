// Writes Metal Shading Language for a kernel and its plan: readable (indented, named as the program names
// things, a comment for each tile operation) and dependent on Apple's headers alone. One class, its parts in
// one file each: emitter.cpp the kernel as a whole and control flow, expressions.cpp values, guards and
// addresses, copies.cpp copies, tiles.cpp fills, reductions and element loops, simdgroup.cpp 8x8 matrices,
// cooperative.cpp cooperative tensors.
#pragma once

#include <string>

#include "tile/api/source.h"
#include "tile/passes/plan.h"
#include "tile/proof/domain.h"

namespace ingot::tile {

// `k` has been through all passes.
Result<SourceParts> emit(const Kernel& k, const Plan& plan, const Target& target);

class Emitter {
  public:
    Emitter(const Kernel& k, const Plan& plan, const Target& target);
    Result<SourceParts> run();

  private:
    // --- text
    template <typename... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        body_ +=
            std::string(size_t(depth_) * 4, ' ') + fmt::format(format, std::forward<Args>(args)...) + '\n';
    }
    template <typename... Args>
    void open(fmt::format_string<Args...> format, Args&&... args) {
        const std::string head = fmt::format(format, std::forward<Args>(args)...);
        line("{}{{", head.empty() ? "" : head + " ");
        ++depth_;
    }
    void close(std::string_view after = "") {
        --depth_;
        line("}}{}", after);
    }
    void unrolled() { line("#pragma clang loop unroll(full)"); }
    Failure refuse(SourceLoc loc, std::string message) const;

    // --- expressions.cpp
    std::string expr(ExprId e, int outer = 0);
    std::string number(double value, DType type) const;
    std::string load(const Expr& e);
    std::string call(const Expr& e);
    std::string whole_division(const Expr& e);
    // Element of a buffer at MSL indices: "A[by * 64 + r]". Guards are the caller's.
    std::string place(BufferId b, const std::vector<std::string>& at) const;
    // What must hold for the indices to be inside; empty if that is proved.
    struct Index {
        std::string text;
        ExprId base;       // text is base + a number in [0, span)
        int64_t span = 1;  // 0: unknown
    };
    std::string guard(BufferId b, const std::vector<Index>& at);
    std::string converted(const std::string& value, DType from, DType to) const;
    std::string zero(DType type) const { return number(0, type); }
    int64_t stride_of(BufferId b, size_t d) const;  // of an allocation
    std::string stride_text(BufferId b, size_t d) const;
    bool contiguous_last(BufferId b) const;
    std::string address_space(BufferId b, bool writes) const;

    // --- emitter.cpp
    void unique_names();
    void signature();
    void arguments_struct();
    void prologue();
    void grid_indices();
    std::vector<std::string> includes() const;
    std::vector<std::string> helpers() const;
    Result<void> block(const Block& b);
    Result<void> stmt(StmtId id);
    Result<void> loop(const Stmt& s);
    Result<void> branch(const Stmt& s);
    void store(const Stmt& s);
    Result<void> atomic_add(const Stmt& s);
    void allocate(const Stmt& s);
    void print(const Stmt& s);
    void comment(StmtId id);

    // --- tiles.cpp
    // Indices of a region's element, `at` being those of its kept dimensions (texts, with their spans).
    std::vector<Index> indices(const Region& r, const std::vector<std::string>& at,
                               const std::vector<int64_t>& spans);
    std::string read(const Region& r, const std::vector<std::string>& at, const std::vector<int64_t>& spans,
                     const std::string& fill);
    void write(const Region& r, const std::vector<std::string>& at, const std::vector<int64_t>& spans,
               const std::string& value);
    std::vector<int64_t> spans(const Region& r) const;
    // Opens a loop over the elements of `sizes`, spread over the threads; gives the names of the indices.
    std::vector<std::string> spread(const std::vector<int64_t>& sizes, int64_t width);
    std::vector<std::string> index_names(const std::vector<int64_t>& sizes) const;
    void index_lines(const std::vector<int64_t>& sizes);
    void fill(StmtId id);
    void reduce(StmtId id);
    void reduce_rows(const Stmt& s);
    void cumsum(const Stmt& s);
    Result<void> parallel(const Stmt& s);
    void scalar_gemm(StmtId id);
    std::string combine(Reduction r, const std::string& a, const std::string& b) const;
    std::string start_of(Reduction r, DType type) const;
    std::string across_lanes(Reduction r, const std::string& value) const;

    // --- copies.cpp
    struct Move {
        std::string value, place, inside;
    };
    void copy(StmtId id);
    int64_t vector_width(const Region& dst, const Region& src);
    Move move_of(const Region& dst, const Region& src, int64_t width, const std::string& fill);
    int64_t copy_batch(const Region& dst, const Region& src, const Move& move, int64_t width) const;
    int64_t batched_copies(const Region& dst, const Move& move, int64_t width, int64_t batch);

    // --- simdgroup.cpp
    bool in_matrices(BufferId b) const { return plan_.fragments.contains(b); }
    void declare_matrices(BufferId b);
    // Opens loops over a fragment's matrices; `row`, `column` and `matrix` name the place in the tile and the
    // object.
    void open_matrices(const Partition& p, BufferId b, bool elements);
    void close_matrices(bool elements);
    void fill_matrices(const Stmt& s);
    void copy_matrices(const Stmt& s);
    void store_matrices(const Region& dst, BufferId src);
    Result<void> parallel_matrices(const Stmt& s, BufferId shape);
    void reduce_matrices(StmtId id);
    void simdgroup_gemm(StmtId id);
    void gemm_by_atoms(StmtId id);
    std::string matrix_type(DType type) const;
    std::string operand_address(const Region& r, const std::string& row, const std::string& column,
                                bool transpose);

    // --- cooperative.cpp
    void cooperative_gemm(StmtId id);
    std::string operand_type(const Region& r) const;
    void start_operand(const Region& r, bool k_first, const std::string& at, const std::string& side);
    std::string operand_view(const Region& r, bool k_first, const std::string& side,
                             const std::string& across, const std::string& length) const;
    void advance_operand(const Region& r, bool k_first, const std::string& side);
    void start_total(const Stmt& s);
    void store_total(const Region& c);

    Kernel k_;  // a copy: names that mean something in MSL are changed
    const Plan& plan_;
    const Target& target_;
    Domain domain_;
    LanguageNeeds needs_;
    std::string body_;
    int depth_ = 0;
    std::map<VarId, std::string> names_;
    std::map<BufferId, std::string> element_;  // fragments inside of an element loop: the lane's element
    std::vector<const Stmt*> loops_;
    bool uses_simdgroup_ = false, uses_matrices_ = false, uses_floor_div_ = false, uses_erf_ = false;
    bool uses_lane_place_ = false;
    uint32_t batched_ = 0;  // copies that read several values before they store them
    std::optional<Error> error_;
};

}  // namespace ingot::tile
