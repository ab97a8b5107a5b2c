#include <algorithm>
#include <array>

#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

constexpr std::array<std::string_view, 3> kLeadWords{"static", "volatile", "const"};

// First token of the statement that `threadgroup` at `word` may begin; kNone if it stands inside one.
size_t statement_start(const Tokens& tokens, size_t word, size_t body_begin) {
    size_t i = word;
    while (i > body_begin + 1) {
        const Token& before = tokens[i - 1];
        if (before.is("{") || before.is("}") || before.is(";") || before.is(":")) return i;
        if (before.is(")")) {  // alignas(...)
            size_t open = i - 1;
            while (open > body_begin && tokens.closing(open) != i - 1) --open;
            if (!tokens[open - 1].is("alignas")) return kNone;
            i = open - 1;
            continue;
        }
        const bool lead = std::find(kLeadWords.begin(), kLeadWords.end(), before.text) != kLeadWords.end();
        if (!lead) return kNone;
        --i;
    }
    return i;
}

enum class Shape : uint8_t { kVariable, kPointer, kInitialised };

// What the declaration after `threadgroup` declares; `end` becomes its semicolon.
Shape declaration_shape(const Tokens& tokens, size_t begin, size_t& end) {
    for (size_t i = begin; i < tokens.size(); ++i) {
        const Token& token = tokens[i];
        if (token.is("<")) {
            if (const size_t close = tokens.closing_angle(i); close < tokens.size()) i = close;
        } else if (token.is("[")) {
            i = tokens.closing(i);
        } else if (token.is("*") || token.is("&") || token.is("(")) {
            return Shape::kPointer;
        } else if (token.is("=") || token.is("{")) {
            return Shape::kInitialised;
        } else if (token.is(";")) {
            end = i;
            return Shape::kVariable;
        }
    }
    return Shape::kPointer;
}

class Placer {
  public:
    Placer(const Source& source, Edits& edits) : tokens_(source.tokens), source_(source), edits_(edits) {}

    Result<void> body(Range body) {
        for (size_t i = body.begin + 1; i < body.end; ++i) {
            if (!tokens_[i].is("threadgroup")) continue;
            const size_t start = statement_start(tokens_, i, body.begin);
            if (start == kNone) continue;
            size_t end = 0;
            const Shape shape = declaration_shape(tokens_, i + 1, end);
            if (shape == Shape::kPointer) continue;
            if (shape == Shape::kInitialised) {
                return fail(ErrorKind::kCorrupt, "{}: error: a threadgroup variable can't be initialised",
                            tokens_.place(i));
            }
            statement(start, i, end);
            i = end;
        }
        return {};
    }

  private:
    void statement(size_t start, size_t word, size_t end) {
        const std::vector<Range> declarators = split_at_commas(tokens_, {word + 1, end});
        std::string text;
        Range type{word + 1, word + 1};
        for (size_t d = 0; d < declarators.size(); ++d) {
            size_t name = declarators[d].end;
            for (size_t i = declarators[d].begin; i < declarators[d].end; ++i) {
                if (tokens_[i].is("<")) {
                    if (const size_t close = tokens_.closing_angle(i); close < end) i = close;
                } else if (tokens_[i].is("[")) {
                    if (source_.outline.attribute_lists().count(i) == 0) break;
                    i = tokens_.closing(i);
                } else if (tokens_[i].is_word()) {
                    name = i;
                }
            }
            if (name == declarators[d].end) return;
            if (d == 0) type.end = name;
            text += one(edits_.text(type), std::string(tokens_[name].text),
                        edits_.text({name + 1, declarators[d].end}));
        }
        edits_.erase(Range{start, end + 1});
        edits_.insert_before(start, text);
    }

    std::string one(const std::string& type, const std::string& name, const std::string& dimensions) {
        const std::string alias = fmt::format("ingot_type_{}", count_),
                          bytes = fmt::format("ingot_threadgroup_{}_{}", count_, name);
        ++count_;
        return fmt::format(
            "typedef {} {}{}; [[clang::loader_uninitialized]] static __attribute__((address_space(3), "
            "aligned(alignof({}) < 16 ? 16 : alignof({})))) unsigned char {}[sizeof({})]; auto& {} = "
            "*({}*)(unsigned char*){}; ",
            type, alias, dimensions, alias, alias, bytes, alias, name, alias, bytes);
    }

    const Tokens& tokens_;
    const Source& source_;
    Edits& edits_;
    unsigned count_ = 0;
};

}  // namespace

Result<void> place_threadgroup_variables(const Source& source, Edits& edits) {
    Placer placer(source, edits);
    for (const Declaration& declaration : source.outline.declarations()) {
        if (declaration.kind != DeclarationKind::kFunction || declaration.body.empty()) continue;
        INGOT_TRY(placer.body(declaration.body));
    }
    return {};
}

}  // namespace ingot::metal::msl
