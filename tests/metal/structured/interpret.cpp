// Lockstep: every statement is carried out for all threads of a mask at once, the two sides of a branch one
// after the other, a loop until its last thread has left. Simdgroup functions see the mask's part of each 32.
#include <algorithm>
#include <bitset>
#include <functional>

#include "metal/structured/program.h"

namespace ingot::metal::testing::structured {
namespace {

constexpr uint32_t kMaxThreads = 256, kWidth = 32;
using Mask = std::bitset<kMaxThreads>;
using Values = std::vector<uint32_t>;

uint32_t apply(const std::string& op, uint32_t a, uint32_t b) {
    if (op == "*") return a * b;
    if (op == "/") return a / std::max(b, 1u);
    if (op == "%") return a % std::max(b, 1u);
    if (op == "+") return a + b;
    if (op == "-") return a - b;
    if (op == "<<") return a << (b % 32);
    if (op == ">>") return a >> (b % 32);
    if (op == "<") return a < b;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "&") return a & b;
    if (op == "^") return a ^ b;
    return a | b;
}

// Where threads wait that left a loop or switch, or the round of a loop.
struct Frame {
    bool is_loop = false;
    Mask broken, continued;
    Values rounds;
};

class Machine {
  public:
    Machine(const std::vector<uint32_t>& inputs, uint32_t uniform)
        : threads_(inputs.size()), inputs_(inputs), uniform_(uniform), private_(threads_ * kPrivate) {
        result_ = {Values(threads_ * kVariables), Values(threads_), Values(kBins)};
    }

    Outcome run(const Block& program) {
        Mask all;
        for (size_t i = 0; i < threads_; ++i) all.set(i);
        run(program, all);
        return std::move(result_);
    }

  private:
    void each(const Mask& mask, const std::function<void(size_t)>& visit) const {
        for (size_t i = 0; i < threads_; ++i) {
            if (mask[i]) visit(i);
        }
    }

    Values evaluate(const Expression& e, const Mask& mask);
    Values call(const Expression& e, const std::vector<Values>& arguments, const Mask& mask);
    uint32_t reduce(Op op, const Values& values, const Mask& mask, size_t thread) const;
    Mask truth(const Expression& e, const Mask& mask) {
        const Values values = evaluate(e, mask);
        Mask result;
        each(mask, [&](size_t i) { result[i] = values[i] != 0; });
        return result;
    }

    // Who goes on behind the statement.
    Mask run(const Block& block, Mask mask) {
        for (const Statement& statement : block) {
            if (mask.none()) break;
            mask = run(statement, mask);
        }
        return mask;
    }
    Mask run(const Statement& statement, const Mask& mask);
    Mask run_loop(const Statement& statement, const Mask& mask);
    Mask run_switch(const Statement& statement, const Mask& mask);
    Frame& loop_frame() {
        return *std::ranges::find_if(frames_.rbegin(), frames_.rend(),
                                     [](const Frame& f) { return f.is_loop; });
    }

    size_t threads_;
    const std::vector<uint32_t>& inputs_;
    uint32_t uniform_;
    Values private_;
    std::vector<Frame> frames_;
    Outcome result_;
};

uint32_t Machine::reduce(Op op, const Values& values, const Mask& mask, size_t thread) const {
    uint32_t result = op == Op::kMin ? ~0u : op == Op::kAll ? 1 : 0;
    for (size_t lane = 0; lane < kWidth; ++lane) {
        const size_t i = thread / kWidth * kWidth + lane;
        if (i >= threads_ || !mask[i]) continue;
        if (op == Op::kFirst) return values[i];
        if (op == Op::kSum || (op == Op::kPrefix && i < thread)) result += values[i];
        if (op == Op::kMin) result = std::min(result, values[i]);
        if (op == Op::kMax) result = std::max(result, values[i]);
        if (op == Op::kBallot && values[i] != 0) result |= 1u << lane;
        if (op == Op::kAny && values[i] != 0) result = 1;
        if (op == Op::kAll && values[i] == 0) result = 0;
    }
    return result;
}

Values Machine::call(const Expression& e, const std::vector<Values>& arguments, const Mask& mask) {
    Values result(threads_);
    each(mask, [&](size_t i) {
        const uint32_t second = arguments.size() > 1 ? arguments[1][i] : 0;
        switch (e.op) {
            case Op::kSelect:
                result[i] = arguments[0][i] != 0 ? second : arguments[2][i];
                break;
            case Op::kExchange:
                result[i] = arguments[0][(i + second) % threads_];
                break;
            case Op::kXor: {
                const size_t other = i ^ (second % kWidth);
                result[i] = other < threads_ && mask[other] ? arguments[0][other] : 0;
                break;
            }
            default:
                result[i] = reduce(e.op, arguments[0], mask, i);
        }
    });
    return result;
}

Values Machine::evaluate(const Expression& e, const Mask& mask) {
    std::vector<Values> arguments;
    for (const Expression& argument : e.arguments) arguments.push_back(evaluate(argument, mask));
    Values result(threads_);
    const auto fill = [&](auto value) { each(mask, [&](size_t i) { result[i] = uint32_t(value(i)); }); };
    switch (e.op) {
        case Op::kNumber:
            fill([&](size_t) { return e.value; });
            break;
        case Op::kVariable:
            fill([&](size_t i) { return result_.variables[i * kVariables + e.value]; });
            break;
        case Op::kInput:
            fill([&](size_t i) { return inputs_[i]; });
            break;
        case Op::kThread:
            fill([](size_t i) { return i; });
            break;
        case Op::kLane:
            fill([](size_t i) { return i % kWidth; });
            break;
        case Op::kUniform:
            fill([&](size_t) { return uniform_; });
            break;
        case Op::kRound:
            if (std::ranges::any_of(frames_, [](const Frame& f) { return f.is_loop; }))
                fill([&](size_t i) { return loop_frame().rounds[i]; });
            break;
        case Op::kPrivateRead:
            fill([&](size_t i) { return private_[i * kPrivate + arguments[0][i] % kPrivate]; });
            break;
        case Op::kBinary:
            fill([&](size_t i) { return apply(e.binary, arguments[0][i], arguments[1][i]); });
            break;
        default:
            return call(e, arguments, mask);
    }
    return result;
}

Mask Machine::run_loop(const Statement& statement, const Mask& mask) {
    frames_.push_back({true, {}, {}, Values(threads_)});
    const auto frame = [&]() -> Frame& { return frames_.back(); };
    Mask running = mask, left;
    const bool tests_first = statement.kind == Kind::kWhile;
    const auto leave = [&](const Mask& stay) {
        left |= running & ~stay;
        running &= stay;
    };
    const auto within_limit = [&] {
        Mask result;
        each(running, [&](size_t i) { result[i] = frame().rounds[i] < kMaxRounds; });
        return result;
    };
    while (running.any()) {
        if (tests_first) {
            leave(within_limit());
            leave(truth(statement.expressions[0], running));
        }
        running = run(statement.body, running);
        running |= frame().continued;
        frame().continued.reset();
        each(running, [&](size_t i) { ++frame().rounds[i]; });
        if (tests_first) continue;
        leave(within_limit());
        leave(truth(statement.expressions[0], running));
    }
    left |= frame().broken;
    frames_.pop_back();
    return left;
}

Mask Machine::run_switch(const Statement& statement, const Mask& mask) {
    const Values value = evaluate(statement.expressions[0], mask);
    frames_.push_back({false, {}, {}, {}});
    Mask unmatched = mask;
    for (const Case& c : statement.cases) {
        each(mask, [&](size_t i) {
            if (!c.is_default && value[i] == c.value) unmatched.reset(i);
        });
    }
    Mask falling;
    bool has_default = false;
    for (const Case& c : statement.cases) {
        Mask entering = c.is_default ? unmatched : Mask();
        has_default |= c.is_default;
        each(mask, [&](size_t i) {
            if (!c.is_default && value[i] == c.value) entering.set(i);
        });
        falling = run(c.body, falling | entering);
    }
    Mask result = falling | frames_.back().broken;
    if (!has_default) result |= unmatched;
    frames_.pop_back();
    return result;
}

Mask Machine::run(const Statement& s, const Mask& mask) {
    std::vector<Values> values;
    if (s.kind < Kind::kIf) {
        for (const Expression& e : s.expressions) values.push_back(evaluate(e, mask));
    }
    switch (s.kind) {
        case Kind::kAssign:
            each(mask, [&](size_t i) { result_.variables[i * kVariables + s.variable] = values[0][i]; });
            return mask;
        case Kind::kPrivateWrite:
            each(mask, [&](size_t i) { private_[i * kPrivate + values[0][i] % kPrivate] = values[1][i]; });
            return mask;
        case Kind::kLog:
            each(mask, [&](size_t i) { result_.logs[i] = result_.logs[i] * 31 + values[0][i]; });
            return mask;
        case Kind::kCount:
            each(mask, [&](size_t i) { ++result_.bins[values[0][i] % kBins]; });
            return mask;
        case Kind::kIf: {
            const Mask yes = truth(s.expressions[0], mask);
            const Mask after = run(s.body, yes);
            return after | run(s.otherwise, mask & ~yes);
        }
        case Kind::kWhile:
        case Kind::kDo:
            return run_loop(s, mask);
        case Kind::kSwitch:
            return run_switch(s, mask);
        case Kind::kBreak:
            frames_.back().broken |= mask;
            return {};
        case Kind::kContinue:
            loop_frame().continued |= mask;
            return {};
        case Kind::kReturn:
            break;
    }
    return {};
}

}  // namespace

Outcome interpret(const Block& program, const std::vector<uint32_t>& inputs, uint32_t uniform) {
    return Machine(inputs, uniform).run(program);
}

}  // namespace ingot::metal::testing::structured
