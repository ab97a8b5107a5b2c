// Programs as kernels: every construct becomes the blocks that a front end would write, variables live on the
// stack until the optimiser has seen them.
#include "metal/ir_text.h"
#include "metal/structured/program.h"

namespace ingot::metal::testing::structured {
namespace {

const char* const kDeclarations =
    "@shared = internal addrspace(3) global [256 x i32] undef, align 4\n"
    "declare i32 @air.simd_sum.u.i32(i32) convergent\n"
    "declare i32 @air.simd_min.u.i32(i32) convergent\n"
    "declare i32 @air.simd_max.u.i32(i32) convergent\n"
    "declare i32 @air.simd_prefix_exclusive_sum.u.i32(i32) convergent\n"
    "declare i32 @air.simd_broadcast_first.u.i32(i32) convergent\n"
    "declare i32 @air.simd_shuffle_xor.u.i32(i32, i16) convergent\n"
    "declare i64 @air.simd_ballot.i64(i1) convergent\n"
    "declare i64 @air.simd_active_threads_mask.i64() convergent\n"
    "declare i1 @air.simd_any(i1) convergent\n"
    "declare i1 @air.simd_all(i1) convergent\n"
    "declare i32 @air.atomic.global.add.u.i32(ptr addrspace(1), i32, i32, i32, i1)\n"
    "declare void @air.wg.barrier(i32, i32) convergent\n";

std::string text(uint32_t number) {
    return std::to_string(number);
}

class Writer {
  public:
    std::string write(const Block& program) {
        for (uint32_t v = 0; v < kVariables; ++v) variable("%v" + text(v), "i32");
        allocas_ += "%p = alloca [8 x i32]\nstore [8 x i32] zeroinitializer, ptr %p\n";
        block(program);
        return allocas_ + prologue() + body_ + "br label %exit\nexit:\n" + epilogue() + "ret void";
    }

  private:
    struct Target {
        std::string on_break, on_continue, round;
    };

    void line(const std::string& what) { body_ += what + "\n"; }
    std::string value(const std::string& what) {
        const std::string name = "%n" + text(next_++);
        line(name + " = " + what);
        return name;
    }
    std::string label() { return "at" + text(next_++); }
    void start(const std::string& name) { line(name + ":"); }
    void jump(const std::string& to) { line("br label %" + to); }
    void branch(const std::string& condition, const std::string& yes, const std::string& no) {
        line("br i1 " + condition + ", label %" + yes + ", label %" + no);
    }
    // A jump in the middle of a block: what follows can't be reached.
    void leave(const std::string& to) {
        jump(to);
        start(label());
    }
    void variable(const std::string& name, const std::string& type) {
        allocas_ += name + " = alloca " + type + "\nstore " + type + " 0, ptr " + name + "\n";
    }

    static std::string prologue();
    static std::string epilogue();
    std::string expression(const Expression& e);
    std::string binary(const std::string& op, const std::string& a, const std::string& b);
    std::string call(const Expression& e);
    std::string truth(const Expression& e) { return value("icmp ne i32 " + expression(e) + ", 0"); }
    std::string private_place(const Expression& index) {
        const std::string i = value("and i32 " + expression(index) + ", 7");
        return value("getelementptr i32, ptr %p, i32 " + i);
    }
    void block(const Block& statements) {
        for (const Statement& s : statements) statement(s);
    }
    void statement(const Statement& s);
    void effect(const Statement& s);
    void loop(const Statement& s);
    void branches(const Statement& s);

    std::string allocas_, body_;
    uint32_t next_ = 0;
    std::vector<Target> targets_;  // of the loops and switches around
};

std::string Writer::prologue() {
    return "%gp = getelementptr i32, ptr addrspace(1) %b4, i64 1\n%size = load i32, ptr addrspace(1) %gp\n"
           "%u = load i32, ptr addrspace(1) %b4\n"
           "%base = mul i32 %threadgroup_position_in_grid, %size\n"
           "%thread = add i32 %base, %thread_index_in_threadgroup\n%i = zext i32 %thread to i64\n"
           "%lane = and i32 %thread_index_in_threadgroup, 31\n"
           "%xp = getelementptr i32, ptr addrspace(1) %b0, i64 %i\n%x = load i32, ptr addrspace(1) %xp\n"
           "%log = getelementptr i32, ptr addrspace(1) %b2, i64 %i\n";
}

std::string Writer::epilogue() {
    std::string code = "%first = mul i32 %thread, " + text(kVariables) + "\n";
    for (uint32_t v = 0; v < kVariables; ++v) {
        const std::string n = text(v);
        code += "%r" + n + " = load i32, ptr %v" + n + "\n%w" + n + " = add i32 %first, " + n + "\n%z" + n +
                " = zext i32 %w" + n + " to i64\n%o" + n +
                " = getelementptr i32, ptr addrspace(1) %b1, i64 %z" + n + "\nstore i32 %r" + n +
                ", ptr addrspace(1) %o" + n + "\n";
    }
    return code;
}

std::string Writer::binary(const std::string& op, const std::string& a, const std::string& b) {
    const std::string operands = " i32 " + a + ", ";
    if (op == "/" || op == "%") {
        const std::string zero = value("icmp eq i32 " + b + ", 0");
        const std::string divisor = value("select i1 " + zero + ", i32 1, i32 " + b);
        return value((op == "/" ? "udiv" : "urem") + operands + divisor);
    }
    if (op == "<<" || op == ">>")
        return value((op == "<<" ? "shl" : "lshr") + operands + value("and i32 " + b + ", 31"));
    if (op == "<" || op == "==" || op == "!=") {
        const std::string predicate = op == "<" ? "ult" : op == "==" ? "eq" : "ne";
        return value("zext i1 " + value("icmp " + predicate + operands + b) + " to i32");
    }
    const std::string opcode = op == "*"   ? "mul"
                               : op == "+" ? "add"
                               : op == "-" ? "sub"
                               : op == "&" ? "and"
                               : op == "^" ? "xor"
                                           : "or";
    return value(opcode + operands + b);
}

std::string Writer::call(const Expression& e) {
    std::vector<std::string> arguments;
    for (const Expression& argument : e.arguments) arguments.push_back(expression(argument));
    const auto simd = [&](const std::string& name) {
        return value("call i32 @air.simd_" + name + ".u.i32(i32 " + arguments[0] + ")");
    };
    const auto vote = [&](const std::string& name) {
        const std::string is = value("icmp ne i32 " + arguments[0] + ", 0");
        return value("zext i1 " + value("call i1 @air.simd_" + name + "(i1 " + is + ")") + " to i32");
    };
    switch (e.op) {
        case Op::kSum:
            return simd("sum");
        case Op::kMin:
            return simd("min");
        case Op::kMax:
            return simd("max");
        case Op::kPrefix:
            return simd("prefix_exclusive_sum");
        case Op::kFirst:
            return simd("broadcast_first");
        case Op::kAny:
            return vote("any");
        case Op::kAll:
            return vote("all");
        case Op::kBallot: {
            const std::string is = value("icmp ne i32 " + arguments[0] + ", 0");
            return value("trunc i64 " + value("call i64 @air.simd_ballot.i64(i1 " + is + ")") + " to i32");
        }
        case Op::kXor: {
            const uint32_t distance = e.arguments[1].value % 32;
            const std::string moved = value("call i32 @air.simd_shuffle_xor.u.i32(i32 " + arguments[0] +
                                            ", i16 " + text(distance) + ")");
            const std::string mask =
                value("trunc i64 " + value("call i64 @air.simd_active_threads_mask.i64()") + " to i32");
            const std::string bit =
                value("lshr i32 " + mask + ", " + value("xor i32 %lane, " + text(distance)));
            return value("select i1 " + value("trunc i32 " + bit + " to i1") + ", i32 " + moved + ", i32 0");
        }
        case Op::kExchange: {
            const std::string barrier = "call void @air.wg.barrier(i32 2, i32 1)";
            line("%q" + text(next_) +
                 " = getelementptr i32, ptr addrspace(3) @shared, i32 %thread_index_in_threadgroup");
            line("store i32 " + arguments[0] + ", ptr addrspace(3) %q" + text(next_++));
            line(barrier);
            const std::string sum = value("add i32 %thread_index_in_threadgroup, " + arguments[1]);
            const std::string from = value("getelementptr i32, ptr addrspace(3) @shared, i32 " +
                                           value("urem i32 " + sum + ", %size"));
            const std::string result = value("load i32, ptr addrspace(3) " + from);
            line(barrier);
            return result;
        }
        default: {
            const std::string is = value("icmp ne i32 " + arguments[0] + ", 0");
            return value("select i1 " + is + ", i32 " + arguments[1] + ", i32 " + arguments[2]);
        }
    }
}

std::string Writer::expression(const Expression& e) {
    switch (e.op) {
        case Op::kNumber:
            return text(e.value);
        case Op::kVariable:
            return value("load i32, ptr %v" + text(e.value));
        case Op::kInput:
            return "%x";
        case Op::kThread:
            return "%thread_index_in_threadgroup";
        case Op::kLane:
            return "%lane";
        case Op::kUniform:
            return "%u";
        case Op::kRound:
            for (auto target = targets_.rbegin(); target != targets_.rend(); ++target) {
                if (!target->round.empty()) return value("load i32, ptr " + target->round);
            }
            return "0";
        case Op::kPrivateRead:
            return value("load i32, ptr " + private_place(e.arguments[0]));
        case Op::kBinary: {
            const std::string a = expression(e.arguments[0]);
            return binary(e.binary, a, expression(e.arguments[1]));
        }
        default:
            return call(e);
    }
}

void Writer::effect(const Statement& s) {
    if (s.kind == Kind::kPrivateWrite) {
        const std::string place = private_place(s.expressions[0]);
        return line("store i32 " + expression(s.expressions[1]) + ", ptr " + place);
    }
    const std::string v = expression(s.expressions[0]);
    if (s.kind == Kind::kAssign) return line("store i32 " + v + ", ptr %v" + text(s.variable));
    if (s.kind == Kind::kLog) {
        const std::string before = value("mul i32 " + value("load i32, ptr addrspace(1) %log") + ", 31");
        return line("store i32 " + value("add i32 " + before + ", " + v) + ", ptr addrspace(1) %log");
    }
    const std::string bin = value("getelementptr i32, ptr addrspace(1) %b3, i32 " +
                                  value("and i32 " + v + ", " + text(kBins - 1)));
    value("call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) " + bin +
          ", i32 1, i32 0, i32 2, i1 true)");
}

void Writer::loop(const Statement& s) {
    const std::string body = label(), next = label(), after = label(), test = label(), more = label();
    const std::string round = "%k" + text(next_++);
    variable(round, "i32");
    line("store i32 0, ptr " + round);
    jump(s.kind == Kind::kWhile ? test : body);
    start(test);
    // The condition's own `k` is this loop's.
    targets_.push_back({after, next, round});
    const std::string in_limit =
        value("icmp ult i32 " + value("load i32, ptr " + round) + ", " + text(kMaxRounds));
    branch(in_limit, more, after);
    start(more);
    const std::string again = truth(s.expressions[0]);
    branch(again, body, after);
    start(body);
    block(s.body);
    jump(next);
    start(next);
    line("store i32 " + value("add i32 " + value("load i32, ptr " + round) + ", 1") + ", ptr " + round);
    jump(test);
    targets_.pop_back();
    start(after);
}

void Writer::branches(const Statement& s) {
    const std::string after = label();
    if (s.kind == Kind::kIf) {
        const std::string yes = label(), no = label();
        branch(truth(s.expressions[0]), yes, no);
        start(yes);
        block(s.body);
        jump(after);
        start(no);
        block(s.otherwise);
        jump(after);
        return start(after);
    }
    std::vector<std::string> labels;
    std::string otherwise = after, table;
    for (const Case& c : s.cases) {
        labels.push_back(label());
        if (c.is_default) {
            otherwise = labels.back();
        } else {
            table += " i32 " + text(c.value) + ", label %" + labels.back();
        }
    }
    line("switch i32 " + expression(s.expressions[0]) + ", label %" + otherwise + " [" + table + " ]");
    const std::string on_continue = targets_.empty() ? "" : targets_.back().on_continue;
    targets_.push_back({after, on_continue, ""});
    for (size_t i = 0; i < s.cases.size(); ++i) {
        start(labels[i]);
        block(s.cases[i].body);
        jump(i + 1 < s.cases.size() ? labels[i + 1] : after);
    }
    targets_.pop_back();
    start(after);
}

void Writer::statement(const Statement& s) {
    switch (s.kind) {
        case Kind::kIf:
        case Kind::kSwitch:
            return branches(s);
        case Kind::kWhile:
        case Kind::kDo:
            return loop(s);
        case Kind::kBreak:
            return leave(targets_.back().on_break);
        case Kind::kContinue:
            return leave(targets_.back().on_continue);
        case Kind::kReturn:
            return leave("exit");
        default:
            return effect(s);
    }
}

}  // namespace

std::string to_kernel(const Block& program) {
    return kernel_ir(5, {"threadgroup_position_in_grid", "thread_index_in_threadgroup"},
                     Writer().write(program), kDeclarations);
}

}  // namespace ingot::metal::testing::structured
