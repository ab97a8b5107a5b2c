// How interpret() walks a kernel: one object, one run. Memory and expressions are in
// interpreter_elements.cpp, statements in interpreter_statements.cpp. What programs mean is said in
// interpret.h.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "tile/ir/interpret.h"

namespace ingot::tile {

class Interpreter {
  public:
    Interpreter(const Kernel& k, const Arguments& arguments, std::vector<std::string>* log)
        : k_(k), arguments_(arguments), log_(log), values_(k.vars.size()), memory_(k.buffers.size()) {}

    Result<std::map<std::string, std::vector<double>>> run();

  private:
    // Memory of a buffer, and who touched each element last.
    struct Memory {
        std::vector<int64_t> shape, strides;
        int64_t offset = 0;
        std::vector<double> values;
        std::vector<uint8_t> written;                 // of an allocation
        std::vector<uint64_t> writer, reader, group;  // stamps; 0 is nobody

        void make_row_major();
        void clear_stamps();
        bool has(std::span<const int64_t> at) const;
        size_t place(std::span<const int64_t> at) const;
    };

    // A region whose offsets and sizes are numbers.
    struct Part {
        Memory* memory;
        const Buffer* buffer;
        std::vector<int64_t> offsets;  // of each dimension
        std::vector<int64_t> sizes;    // of each kept dimension
        std::vector<size_t> kept;
    };

    // An element's place: as many numbers as the buffer has dimensions, without an allocation.
    struct At {
        std::array<int64_t, 8> at;
        size_t rank = 0;

        operator std::span<const int64_t>() const { return {at.data(), rank}; }
    };

    // One of 32 iterations that go from statement to statement together: what is its own while another runs.
    struct Lane {
        std::vector<double> values;
        std::vector<Memory> locals;
        uint64_t iteration = 0;
    };

    Result<void> bind();
    Result<void> bind_tensor(BufferId id);

    template <typename... Args>
    void error(fmt::format_string<Args...> format, Args&&... args) {
        if (failed_) return;
        failed_ = true;
        error_ = Error{ErrorKind::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...),
                       k_.where(loc_)};
    }

    // Elements.
    bool outside(const Buffer& b, const Memory& m, std::span<const int64_t> at);
    double read(const Buffer& b, Memory& m, std::span<const int64_t> at, double fill = 0);
    void write(const Buffer& b, Memory& m, std::span<const int64_t> at, double value, bool atomic = false);
    // Stamps are (parallel statement << 32 | iteration): of the same statement, another iteration?
    bool other(uint64_t stamp) const { return stamp != iteration_ && (stamp >> 32) == (iteration_ >> 32); }

    double eval(ExprId id);
    double shuffled(const Expr& e);

    // Regions.
    Part part(const Region& r);
    At index_in(const Part& p, std::span<const int64_t> at) const;
    double read(const Part& p, std::span<const int64_t> at, double fill = 0) {
        return read(*p.buffer, *p.memory, index_in(p, at), fill);
    }
    void write(const Part& p, std::span<const int64_t> at, double value) {
        write(*p.buffer, *p.memory, index_in(p, at), value);
    }
    // Calls body(index) for every index below `sizes`, the last one fastest.
    template <typename Body>
    bool each(const std::vector<int64_t>& sizes, Body body) {
        for (const int64_t n : sizes)
            if (n <= 0) return !failed_;
        std::vector<int64_t> at(sizes.size(), 0);
        while (!failed_) {
            body(std::span<const int64_t>(at));
            size_t d = sizes.size();
            while (d > 0 && ++at[d - 1] == sizes[d - 1]) at[--d] = 0;
            if (d == 0) break;
        }
        return !failed_;
    }

    // Statements; false after an error.
    bool block(const Block& body);
    bool stmt(const Stmt& s);
    bool allocate(BufferId id);
    bool copy(const Stmt& s);
    bool gemm(const Stmt& s);
    bool reduce(const Stmt& s);
    bool cumsum(const Stmt& s);
    bool store(const Stmt& s);
    bool loop(const Stmt& s);
    bool print_line(const Stmt& s);
    bool parallel(const Stmt& s);
    void run_lanes(const Stmt& s);
    void swap_with(Lane& lane);

    const Kernel& k_;
    const Arguments& arguments_;
    std::vector<std::string>* log_;
    std::vector<double> values_;
    std::vector<Memory> memory_;
    std::vector<double> yielded_;
    uint64_t group_ = 0, parallel_ = 0, iteration_ = 0;
    // Of a `parallel` with shuffles.
    std::vector<Lane> lanes_;
    std::vector<BufferId> locals_;
    size_t lane_ = 0;
    SourceLoc loc_;
    bool failed_ = false;
    Error error_{};
};

}  // namespace ingot::tile
