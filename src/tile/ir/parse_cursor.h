// What reading a program starts from: the place among the tokens, the names that are visible, and the kernel
// that grows. Expressions (parse_expressions.h) and then declarations and statements (parse.cpp) build on it.
#pragma once

#include <map>

#include "tile/ir/build.h"
#include "tile/ir/lexer.h"

namespace ingot::tile {

inline constexpr int kMaxParseDepth = 100;  // of blocks and of parentheses
inline constexpr std::string_view kReserved[] = {
    "kernel",  "dim",        "scalar", "in",       "out",      "inout",     "grid",       "threads",
    "swizzle", "shared",     "local",  "fragment", "copy",     "fill",      "gemm",       "reduce",
    "cumsum",  "atomic_add", "for",    "if",       "parallel", "else",      "let",        "yield",
    "barrier", "print",      "assert", "unroll",   "carry",    "pipelined", "true",       "false",
    "inf",     "nan",        "with",   "policy",   "strides",  "offset",    "multiple_of"};

template <typename List>
std::string joined(const List& names) {
    std::string out;
    for (const auto& n : names) out += fmt::format("{}{}", out.empty() ? "" : ", ", n);
    return out;
}

class ParseCursor {
  public:
    ParseCursor(std::vector<Token> tokens, std::string_view file) : tokens_(std::move(tokens)) {
        k_.files.emplace_back(file);
    }

  protected:
    enum class Meaning { kDim, kScalar, kBuffer, kVar };
    struct Name {
        Meaning meaning;
        uint32_t id;
    };

    // --- tokens
    const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
    Token next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
    bool sees(std::string_view sign) const { return peek().kind == TokenKind::kSign && peek().text == sign; }
    bool sees_name(std::string_view word) const {
        return peek().kind == TokenKind::kName && peek().text == word;
    }
    bool accept(std::string_view sign) { return sees(sign) && (next(), true); }
    bool accept_name(std::string_view word) { return sees_name(word) && (next(), true); }
    void skip_lines() {
        while (peek().kind == TokenKind::kLineEnd) next();
    }

    Failure fail_at(SourceLoc loc, std::string message) const {
        return Failure(Error{ErrorKind::kInvalidArgument, std::move(message), k_.where(loc)});
    }
    std::string shown(const Token& t) const {
        if (t.kind == TokenKind::kEnd) return "the file ends";
        if (t.kind == TokenKind::kLineEnd) return "the line ends";
        return fmt::format("'{}'", t.text);
    }
    Failure error(std::string_view wanted) const {
        return fail_at(peek().loc, fmt::format("{} where {} is wanted", shown(peek()), wanted));
    }
    Result<void> expect(std::string_view sign) {
        if (!accept(sign)) return error(fmt::format("'{}'", sign));
        return {};
    }
    Result<void> expect_name(std::string_view word) {
        if (!accept_name(word)) return error(fmt::format("'{}'", word));
        return {};
    }
    Result<void> line_end() {
        if (sees("}")) return {};  // "{ x }" on one line
        if (peek().kind != TokenKind::kLineEnd) return error("the end of the line");
        next();
        return {};
    }

    // --- names
    Result<std::string> new_name(std::string_view of_what) {
        if (peek().kind != TokenKind::kName) return error(fmt::format("the name of {}", of_what));
        const Token t = peek();
        for (const std::string_view word : kReserved) {
            if (t.text == word)
                return fail_at(t.loc, fmt::format("'{}' is a word of the language, so it can't name {}",
                                                  t.text, of_what));
        }
        if (type_named(t.text))
            return fail_at(t.loc, fmt::format("'{}' is a type, so it can't name {}", t.text, of_what));
        if (names_.contains(t.text))
            return fail_at(t.loc, fmt::format("'{}' is already the name of something here", t.text));
        next();
        return t.text;
    }
    void declare(const std::string& text, Meaning meaning, uint32_t id) {
        names_[text] = {meaning, id};
        declared_.push_back(text);
    }
    void close_scope(size_t mark) {
        for (; declared_.size() > mark; declared_.pop_back()) names_.erase(declared_.back());
    }
    Failure unknown(const Token& t) const {
        std::vector<std::string_view> known;
        for (const auto& [text, meaning] : names_) known.push_back(text);
        return fail_at(t.loc, fmt::format("unknown name '{}'; known here: {}", t.text,
                                          known.empty() ? "none" : joined(known)));
    }
    Result<VarId> new_var(std::string_view of_what, VarKind kind, DType type = DType::kI32) {
        INGOT_ASSIGN(std::string text, new_name(of_what));
        return k_.append(Var{std::move(text), type, kind});
    }
    void declare(VarId v) { declare(k_[v].name, Meaning::kVar, v.index()); }

    // --- numbers and types
    Result<uint32_t> whole_number(std::string_view of_what, uint32_t least, uint32_t most) {
        const Token t = peek();
        if (t.kind != TokenKind::kNumber || !t.is_whole)
            return error(fmt::format("{}, a whole number,", of_what));
        if (t.value < least || t.value > most) {
            return fail_at(t.loc,
                           fmt::format("{} is {}; {} to {} are accepted", of_what, t.text, least, most));
        }
        next();
        return uint32_t(t.value);
    }
    Result<DType> type() {
        const auto found = peek().kind == TokenKind::kName ? type_named(peek().text) : std::nullopt;
        if (!found) {
            std::vector<std::string_view> all;
            for (const TypeFacts& f : kTypes) all.push_back(f.name);
            return error(fmt::format("a type ({})", joined(all)));
        }
        next();
        return *found;
    }
    template <typename Names>
    Result<size_t> one_of(const Names& names, std::string_view of_what) {
        for (size_t i = 0; i < std::size(names); ++i)
            if (accept_name(names[i])) return i;
        return error(fmt::format("{} ({})", of_what, joined(names)));
    }

    std::vector<Token> tokens_;
    Kernel k_;
    std::map<std::string, Name, std::less<>> names_;
    std::vector<std::string> declared_;
    size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace ingot::tile
