// Random programs: few statements, deeply nested, most conditions different from lane to lane.
#include <random>
#include <utility>

#include "metal/structured/program.h"

namespace ingot::metal::testing::structured {
namespace {

constexpr unsigned kMaxDepth = 4, kMaxStatements = 30;

class Generator {
  public:
    Generator(uint32_t seed, const Options& options) : random_(seed), options_(options) {}

    Block program() {
        // Threads that returned don't meet the others at a barrier.
        returns_ = !options_.exchanges || chance(50);
        Block result = block(0, 5);
        // The result shows what became of every variable; a log at the end shows who got there.
        result.push_back(with(Kind::kLog, {expression(1)}));
        return result;
    }

  private:
    uint32_t below(uint32_t n) { return random_() % n; }
    bool chance(uint32_t percent) { return below(100) < percent; }
    static Statement with(Kind kind, std::vector<Expression> expressions) {
        Statement s;
        s.kind = kind;
        s.expressions = std::move(expressions);
        return s;
    }
    static Expression number(uint32_t value) { return {Op::kNumber, value, {}, {}}; }
    Expression binary(const char* op, Expression a, Expression b) {
        Expression e{Op::kBinary, 0, op, {}};
        e.arguments = {std::move(a), std::move(b)};
        return e;
    }

    Expression leaf();
    Expression expression(unsigned depth);
    Expression condition();
    Block block(unsigned depth, uint32_t most);
    Statement statement(unsigned depth);
    Statement loop(unsigned depth);
    Statement choice(unsigned depth);

    std::mt19937 random_;
    Options options_;
    bool returns_ = false;
    unsigned statements_ = 0, loops_ = 0, switches_ = 0, divergent_ = 0;
};

Expression Generator::leaf() {
    constexpr Op kLeaves[] = {Op::kInput, Op::kThread, Op::kLane, Op::kUniform, Op::kRound};
    if (chance(25)) return number(below(40));
    if (chance(50)) return {Op::kVariable, below(kVariables), {}, {}};
    if (chance(10)) {
        Expression e{Op::kPrivateRead, 0, {}, {}};
        e.arguments = {leaf()};
        return e;
    }
    return {kLeaves[below(5)], 0, {}, {}};
}

Expression Generator::expression(unsigned depth) {
    if (depth >= 3 || chance(25)) return leaf();
    if (options_.simdgroup_functions && chance(20)) {
        constexpr Op kCalls[] = {Op::kSum,    Op::kMin, Op::kMax, Op::kPrefix, Op::kFirst,
                                 Op::kBallot, Op::kAny, Op::kAll, Op::kXor};
        Expression e{kCalls[below(9)], 0, {}, {}};
        e.arguments = {expression(depth + 1)};
        if (e.op == Op::kXor) e.arguments.push_back(number(1 + below(31)));
        return e;
    }
    if (chance(10)) {
        Expression e{Op::kSelect, 0, {}, {}};
        e.arguments = {condition(), expression(depth + 1), expression(depth + 1)};
        return e;
    }
    constexpr const char* kOperators[] = {
#define X(text, precedence) text,
        INGOT_STRUCTURED_BINARY(X)
#undef X
    };
    return binary(kOperators[below(13)], expression(depth + 1), expression(depth + 1));
}

Expression Generator::condition() {
    switch (below(5)) {
        case 0:
            return binary("&", leaf(), number(1 + below(7)));
        case 1:
            return binary("<", binary("%", leaf(), number(2 + below(9))), number(1 + below(8)));
        case 2:
            return binary("==", binary("%", leaf(), number(2 + below(4))), number(below(3)));
        case 3:
            return binary("<", Expression{Op::kUniform, 0, {}, {}}, number(below(60)));
        default:
            return expression(1);
    }
}

Statement Generator::loop(unsigned depth) {
    Statement s;
    s.kind = chance(60) ? Kind::kWhile : Kind::kDo;
    s.expressions = {
        chance(60) ? binary("<", Expression{Op::kRound, 0, {}, {}}, binary("%", leaf(), number(2 + below(9))))
                   : condition()};
    const unsigned switches = std::exchange(switches_, 0);
    ++loops_;
    ++divergent_;
    s.body = block(depth + 1, 4);
    --divergent_;
    --loops_;
    switches_ = switches;
    return s;
}

Statement Generator::choice(unsigned depth) {
    Statement s;
    s.kind = Kind::kSwitch;
    const uint32_t count = 2 + below(4);
    s.expressions = {binary("%", leaf(), number(count + 1))};
    ++switches_;
    ++divergent_;
    const uint32_t otherwise = below(count + 2);  // may lie behind the last one: no default
    for (uint32_t i = 0; i < count; ++i) {
        Case c{i == otherwise, i, block(depth + 1, 2)};
        if (chance(60)) c.body.push_back(with(Kind::kBreak, {}));
        s.cases.push_back(std::move(c));
    }
    --divergent_;
    --switches_;
    return s;
}

Statement Generator::statement(unsigned depth) {
    ++statements_;
    const bool deeper = depth < kMaxDepth && statements_ < kMaxStatements;
    if (deeper && chance(30)) {
        Statement s = with(Kind::kIf, {condition()});
        ++divergent_;
        s.body = block(depth + 1, 3);
        if (chance(50)) s.otherwise = block(depth + 1, 3);
        --divergent_;
        return s;
    }
    if (deeper && chance(25)) return loop(depth);
    if (deeper && chance(10)) return choice(depth);
    if ((loops_ != 0 || switches_ != 0) && divergent_ > 1 && chance(20))
        return with(loops_ != 0 && chance(50) ? Kind::kContinue : Kind::kBreak, {});
    if (returns_ && divergent_ != 0 && chance(3)) return with(Kind::kReturn, {});
    if (!returns_ && divergent_ == 0 && chance(15)) {
        Expression e{Op::kExchange, 0, {}, {}};
        e.arguments = {expression(2), number(1 + below(40))};
        Statement s = with(Kind::kAssign, {std::move(e)});
        s.variable = below(kVariables);
        return s;
    }
    if (chance(10)) return with(Kind::kPrivateWrite, {leaf(), expression(1)});
    if (chance(15)) return with(Kind::kLog, {expression(1)});
    if (chance(10)) return with(Kind::kCount, {expression(2)});
    Statement s = with(Kind::kAssign, {expression(0)});
    s.variable = below(kVariables);
    return s;
}

Block Generator::block(unsigned depth, uint32_t most) {
    Block result;
    for (uint32_t i = 1 + below(most); i > 0; --i) {
        result.push_back(statement(depth));
        const Kind kind = result.back().kind;
        if (kind == Kind::kBreak || kind == Kind::kContinue || kind == Kind::kReturn) break;
    }
    return result;
}

}  // namespace

Block generate(uint32_t seed, const Options& options) {
    return Generator(seed, options).program();
}

}  // namespace ingot::metal::testing::structured
