#include "tile/ir/print.h"

#include <cmath>

#include <fmt/format.h>

namespace ingot::tile {
namespace {

std::string number(double value, DType type) {
    if (type == DType::kBool) return value != 0 ? "true" : "false";
    if (!is_float(type)) return fmt::format("{}", int64_t(value));
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    std::string text = fmt::format("{}", value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

class Printer {
  public:
    explicit Printer(const Kernel& k) : k_(k) {}

    std::string expr(ExprId id, int outer = 0) const {
        const Expr& e = k_[id];
        const ExprOpFacts& f = facts(e.op);
        switch (e.op) {
            case ExprOp::kConst: {
                const std::string text = number(e.value, e.type);
                const bool bare = e.type == DType::kI32 || e.type == DType::kF32 || e.type == DType::kBool;
                return bare ? text : fmt::format("{}({})", name(e.type), text);
            }
            case ExprOp::kVar:
                return k_[VarId(e.ref)].name;
            case ExprOp::kDim:
                return k_[DimId(e.ref)].name;
            case ExprOp::kScalar:
                return k_[ScalarId(e.ref)].name;
            case ExprOp::kLoad:
                return fmt::format("{}[{}]", k_[BufferId(e.ref)].name, list(e.args));
            case ExprOp::kCast:
                return fmt::format("{}({})", name(e.type), expr(e.args[0]));
            case ExprOp::kBits:
                return fmt::format("as_{}({})", name(e.type), expr(e.args[0]));
            default:
                break;
        }
        if (f.form == Form::kCall) return fmt::format("{}({})", f.spelling, list(e.args));
        std::string text = f.form == Form::kPrefix
                               ? fmt::format("{}{}", f.spelling, expr(e.args[0], f.precedence))
                               : fmt::format("{} {} {}", expr(e.args[0], f.precedence), f.spelling,
                                             expr(e.args[1], f.precedence + 1));
        return f.precedence < outer ? '(' + text + ')' : text;
    }

    std::string list(const std::vector<ExprId>& exprs) const {
        std::string out;
        for (const ExprId e : exprs) out += (out.empty() ? "" : ", ") + expr(e);
        return out;
    }

    std::string region(const Region& r) const {
        const Buffer& b = k_[r.buffer];
        if (is_whole(k_, r)) return b.name;
        std::string out;
        for (size_t d = 0; d < r.offsets.size(); ++d) {
            if (d != 0) out += ", ";
            if (!r.keeps(d)) {
                out += expr(r.offsets[d]);
            } else if (r.sizes[d] == b.shape[d] && constant_int(k_, r.offsets[d]) == 0) {
                out += ":";
            } else {
                out += fmt::format("{} : {}", expr(r.offsets[d]), expr(r.sizes[d]));
            }
        }
        return fmt::format("{}[{}]", b.name, out);
    }

    std::string tensor(const Buffer& b) const {
        std::string out = fmt::format("{}: {}[{}]", b.name, name(b.type), list(b.shape));
        if (!b.strides.empty()) out += fmt::format(" strides [{}]", list(b.strides));
        if (b.offset.valid()) out += fmt::format(" offset {}", expr(b.offset));
        return out;
    }

    std::string indices(const Stmt& s) const {
        std::string out;
        for (size_t i = 0; i < s.exprs.size(); ++i) {
            out += fmt::format("{}{} < {}", i == 0 ? "" : ", ", k_[s.vars[i]].name, expr(s.exprs[i]));
        }
        return out;
    }

    std::string loop(const Stmt& s) const {
        std::string out = fmt::format("for {} < {}", k_[s.vars[0]].name, expr(s.exprs[0]));
        if (s.loop == LoopKind::kUnroll) out += " unroll";
        if (s.loop == LoopKind::kPipelined) out += fmt::format(" pipelined({})", s.stages);
        const size_t carried = s.exprs.size() - 1;
        for (size_t i = 0; i < carried; ++i) {
            const Var& v = k_[s.vars[1 + i]];
            out += fmt::format("{} {}: {} = {} -> {}", i == 0 ? " carry" : ",", v.name, name(v.type),
                               expr(s.exprs[1 + i]), k_[s.vars[1 + carried + i]].name);
        }
        return out;
    }

    std::string head(const Stmt& s) const {
        switch (s.op) {
            case StmtOp::kAlloc:
                return fmt::format("{} {}", kScopeNames[size_t(k_[s.buffer].scope)], tensor(k_[s.buffer]));
            case StmtOp::kCopy:
                return fmt::format("copy {} = {}{}", region(s.regions[0]), region(s.regions[1]),
                                   s.exprs.empty() ? "" : " fill " + expr(s.exprs[0]));
            case StmtOp::kFill:
                return fmt::format("fill {} = {}", region(s.regions[0]), expr(s.exprs[0]));
            case StmtOp::kGemm:
                return fmt::format("gemm {} {} {}{} @ {}{}{}", region(s.regions[0]),
                                   s.clear ? "=" : "+=", region(s.regions[1]), s.transpose_a ? "^T" : "",
                                   region(s.regions[2]), s.transpose_b ? "^T" : "",
                                   s.policy == Policy::kSquare
                                       ? ""
                                       : fmt::format(" policy({})", kPolicyNames[size_t(s.policy)]));
            case StmtOp::kReduce:
                return fmt::format("reduce {} {} {}({}, {})", region(s.regions[0]), s.clear ? "=" : "with",
                                   kReductionNames[size_t(s.reduction)], region(s.regions[1]), s.axis);
            case StmtOp::kCumSum:
                return fmt::format("cumsum {} = {}, {}", region(s.regions[0]), region(s.regions[1]), s.axis);
            case StmtOp::kStore:
                return fmt::format("{} = {}", region(s.regions[0]), expr(s.exprs[0]));
            case StmtOp::kAtomicAdd:
                return fmt::format("atomic_add {} += {}", region(s.regions[0]), expr(s.exprs[0]));
            case StmtOp::kFor:
                return loop(s);
            case StmtOp::kParallel:
                return "parallel " + indices(s);
            case StmtOp::kIf:
                return "if " + expr(s.exprs[0]);
            case StmtOp::kLet:
                return fmt::format("let {} = {}", k_[s.vars[0]].name, expr(s.exprs[0]));
            case StmtOp::kYield:
                return "yield " + list(s.exprs);
            case StmtOp::kBarrier:
                return "barrier";
            case StmtOp::kPrint:
                return fmt::format("print {}{}{}", quoted(s.text), s.exprs.empty() ? "" : ", ",
                                   list(s.exprs));
            case StmtOp::kAssert:
                return fmt::format("assert {}, {}", expr(s.exprs[0]), quoted(s.text));
        }
        return {};
    }

    void block(const Block& body, int depth, std::string& out) const {
        for (const StmtId id : body) {
            const Stmt& s = k_[id];
            const std::string indent(size_t(depth) * 2, ' ');
            out += indent + head(s);
            if (s.op == StmtOp::kFor || s.op == StmtOp::kParallel || s.op == StmtOp::kIf) {
                out += " {\n";
                block(s.body, depth + 1, out);
                out += indent + "}";
                if (!s.otherwise.empty()) {
                    out += " else {\n";
                    block(s.otherwise, depth + 1, out);
                    out += indent + "}";
                }
            }
            out += '\n';
        }
    }

    std::string kernel() const {
        std::string out = fmt::format("kernel {} {{\n", k_.name);
        for (const Dim& d : k_.dims) {
            out += "  dim " + d.name;
            if (d.multiple_of != 1) out += fmt::format(" multiple_of {}", d.multiple_of);
            out += '\n';
        }
        for (const Scalar& s : k_.scalars) out += fmt::format("  scalar {}: {}\n", s.name, name(s.type));
        for (const BufferId b : k_.tensors()) {
            out += fmt::format("  {} {}\n", kRoleNames[size_t(k_[b].role)], tensor(k_[b]));
        }
        if (!k_.grid.empty()) {
            out += "  grid ";
            for (size_t i = 0; i < k_.grid.size(); ++i) {
                out += fmt::format("{}{} < {}", i == 0 ? "" : ", ", k_[k_.grid[i]].name,
                                   expr(k_.grid_extents[i]));
            }
            out += '\n';
        }
        out += fmt::format("  threads {}\n", k_.threads);
        if (k_.swizzle.order != SwizzleOrder::kNone) {
            out +=
                fmt::format("  swizzle {} {}\n", kSwizzleNames[size_t(k_.swizzle.order)], k_.swizzle.panel);
        }
        out += '\n';
        block(k_.body, 1, out);
        return out + "}\n";
    }

  private:
    const Kernel& k_;
};

}  // namespace

std::string print(const Kernel& k) {
    return Printer(k).kernel();
}
std::string print(const Kernel& k, ExprId e) {
    return Printer(k).expr(e);
}
std::string print(const Kernel& k, const Region& r) {
    return Printer(k).region(r);
}
std::string print_head(const Kernel& k, StmtId s) {
    return Printer(k).head(k[s]);
}

}  // namespace ingot::tile
