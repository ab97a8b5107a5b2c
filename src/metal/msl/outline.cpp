#include "metal/msl/outline.h"

#include <algorithm>
#include <array>

namespace ingot::metal::msl {

namespace {

constexpr unsigned kMaxDepth = 200;

template <size_t N>
bool is_one_of(const Token& token, const std::array<std::string_view, N>& words) {
    return token.is_word() && std::find(words.begin(), words.end(), token.text) != words.end();
}

constexpr std::array<std::string_view, 4> kClassKeys{"struct", "class", "union", "enum"};
// Words whose parentheses aren't a parameter list.
constexpr std::array<std::string_view, 8> kParenthesized{"alignas",  "__attribute__", "decltype", "noexcept",
                                                         "explicit", "__declspec",    "requires", "sizeof"};
constexpr std::array<std::string_view, 3> kUntilSemicolon{"using", "static_assert", "_Static_assert"};
constexpr std::array<std::string_view, 3> kAccess{"public", "private", "protected"};
constexpr std::array<std::string_view, 7> kAddressSpaces{
    "device", "constant", "threadgroup", "thread", "ray_data", "object_data", "threadgroup_imageblock"};

}  // namespace

bool is_address_space(const Token& token) {
    return is_one_of(token, kAddressSpaces);
}

std::vector<Range> split_at_commas(const Tokens& tokens, Range range) {
    std::vector<Range> parts;
    size_t begin = range.begin;
    for (size_t i = range.begin; i < range.end; ++i) {
        const Token& token = tokens[i];
        if (token.is("(") || token.is("[") || token.is("{")) {
            i = tokens.closing(i);
        } else if (token.is("<")) {
            if (const size_t close = tokens.closing_angle(i); close < range.end) i = close;
        } else if (token.is(",")) {
            parts.push_back({begin, i});
            begin = i + 1;
        }
    }
    if (begin < range.end) parts.push_back({begin, range.end});
    return parts;
}

class OutlineParser {
  public:
    OutlineParser(const Tokens& tokens, Outline& out) : tokens_(tokens), out_(out) {}

    void find_attributes();
    Result<void> scope(Range range, size_t parent, unsigned depth);

  private:
    Result<size_t> declaration(size_t begin, size_t end, size_t parent, unsigned depth);
    Result<size_t> block(Declaration declaration, size_t open, size_t parent, unsigned depth);
    Result<size_t> general(Declaration declaration, size_t end, size_t parent, unsigned depth);
    Result<size_t> class_body(Declaration declaration, size_t open, size_t end, size_t parent,
                              unsigned depth);
    size_t function(Declaration declaration, size_t open, size_t end, size_t parent);
    size_t other(Declaration declaration, size_t from, size_t end, size_t parent);
    size_t skip_attributes(size_t i) const;
    size_t before_attributes(size_t i) const;
    size_t semicolon(size_t i, size_t end) const;
    size_t constructor_body(size_t colon, size_t end) const;
    size_t add(Declaration declaration, size_t parent) {
        declaration.parent = parent;
        out_.declarations_.push_back(std::move(declaration));
        return out_.declarations_.size() - 1;
    }

    const Tokens& tokens_;
    Outline& out_;
};

void OutlineParser::find_attributes() {
    for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
        if (!tokens_[i].is("[") || !tokens_[i + 1].is("[")) continue;
        const size_t close = tokens_.closing(i);
        if (tokens_.closing(i + 1) + 1 != close) continue;
        AttributeList list{.range = {i, close + 1}, .attributes = {}};
        for (const Range part : split_at_commas(tokens_, {i + 2, close - 1})) {
            size_t name = part.begin;
            if (name + 2 < part.end && tokens_[name + 1].is("::")) name += 2;
            Attribute attribute{.name = tokens_[name].text, .arguments = {}, .place = name};
            if (name + 1 < part.end && tokens_[name + 1].is("(")) {
                attribute.arguments = {name + 2, tokens_.closing(name + 1)};
            }
            list.attributes.push_back(attribute);
        }
        out_.attribute_lists_[i] = std::move(list);
        i = close;
    }
}

size_t OutlineParser::skip_attributes(size_t i) const {
    auto found = out_.attribute_lists_.find(i);
    while (found != out_.attribute_lists_.end()) {
        i = found->second.range.end;
        found = out_.attribute_lists_.find(i);
    }
    return i;
}

// The token that precedes `i` and is of no attribute.
size_t OutlineParser::before_attributes(size_t i) const {
    auto found = out_.attribute_lists_.lower_bound(i);
    while (found != out_.attribute_lists_.begin() && (--found)->second.range.end == i) i = found->first;
    return i - 1;
}

// One past the ";" that ends what `i` is in.
size_t OutlineParser::semicolon(size_t i, size_t end) const {
    for (; i < end; ++i) {
        const Token& token = tokens_[i];
        if (token.is(";")) return i + 1;
        if (token.is("(") || token.is("[") || token.is("{")) i = tokens_.closing(i);
    }
    return end;
}

Result<void> OutlineParser::scope(Range range, size_t parent, unsigned depth) {
    if (depth > kMaxDepth) {
        return fail(ErrorKind::kLimit, "{}: error: scopes are nested more than {} deep",
                    tokens_.place(range.begin), kMaxDepth);
    }
    for (size_t i = range.begin; i < range.end;) {
        if (tokens_[i].is(";") || tokens_[i].is("}")) {
            ++i;
        } else if (is_one_of(tokens_[i], kAccess) && tokens_[i + 1].is(":")) {
            i += 2;
        } else {
            INGOT_ASSIGN(const size_t next, declaration(i, range.end, parent, depth));
            i = std::max(next, i + 1);
        }
    }
    return {};
}

Result<size_t> OutlineParser::declaration(size_t begin, size_t end, size_t parent, unsigned depth) {
    Declaration declaration;
    declaration.range = {begin, end};
    size_t i = skip_attributes(begin);
    while (tokens_[i].is("template") && tokens_[i + 1].is("<")) {
        const size_t close = tokens_.closing_angle(i + 1);
        if (close >= end) {
            return fail(ErrorKind::kCorrupt, "{}: error: a template parameter list without end",
                        tokens_.place(i));
        }
        declaration.template_headers.push_back({i, close + 1});
        i = skip_attributes(close + 1);
    }
    declaration.head = i;
    const Token& first = tokens_[i];
    if (first.is("template")) {
        declaration.kind = DeclarationKind::kInstantiation;
        return other(std::move(declaration), i, end, parent);
    }
    const bool is_namespace = first.is("namespace") || (first.is("inline") && tokens_[i + 1].is("namespace"));
    if (is_namespace || (first.is("extern") && tokens_[i + 1].kind == TokenKind::kString)) {
        size_t open = i;
        while (open < end && !tokens_[open].is("{") && !tokens_[open].is(";") && !tokens_[open].is("(") &&
               !tokens_[open].is("=")) {
            ++open;
        }
        if (tokens_[open].is("{")) {
            if (is_namespace && tokens_[open - 1].is_word() && !tokens_[open - 1].is("namespace")) {
                declaration.name = open - 1;
            }
            declaration.kind = DeclarationKind::kNamespace;
            return block(std::move(declaration), open, parent, depth);
        }
    }
    if (is_one_of(first, kUntilSemicolon)) return other(std::move(declaration), i, end, parent);
    return general(std::move(declaration), end, parent, depth);
}

// A namespace or class whose "{" is known.
Result<size_t> OutlineParser::block(Declaration declaration, size_t open, size_t parent, unsigned depth) {
    const size_t close = tokens_.closing(open);
    declaration.body = {open, close + 1};
    declaration.range.end = close + 1;
    const size_t index = add(std::move(declaration), parent);
    INGOT_TRY(scope({open + 1, close}, index, depth + 1));
    return close + 1;
}

size_t OutlineParser::other(Declaration declaration, size_t from, size_t end, size_t parent) {
    if (declaration.kind != DeclarationKind::kInstantiation) declaration.kind = DeclarationKind::kOther;
    declaration.range.end = semicolon(from, end);
    const size_t after = declaration.range.end;
    add(std::move(declaration), parent);
    return after;
}

Result<size_t> OutlineParser::class_body(Declaration declaration, size_t open, size_t end, size_t parent,
                                         unsigned depth) {
    const bool is_enum = declaration.kind == DeclarationKind::kEnum;
    const size_t close = tokens_.closing(open);
    declaration.body = {open, close + 1};
    declaration.range.end = semicolon(close, end);
    const size_t after = declaration.range.end;
    const size_t index = add(std::move(declaration), parent);
    if (!is_enum) INGOT_TRY(scope({open + 1, close}, index, depth + 1));
    return after;
}

// Anything that isn't told by its first word: the first "(", "{", "=" or ";" outside of brackets decides.
Result<size_t> OutlineParser::general(Declaration declaration, size_t end, size_t parent, unsigned depth) {
    bool is_class = false;  // so far: may turn out to be a function that returns a `struct S`
    size_t last_word = kNone;
    for (size_t i = declaration.head; i < end; ++i) {
        if (const size_t after = skip_attributes(i); after != i) {
            i = after - 1;
            continue;
        }
        const Token& token = tokens_[i];
        if (token.is(";") || token.is("=")) return other(std::move(declaration), i, end, parent);
        if (token.is("{")) {
            if (!is_class) return other(std::move(declaration), i, end, parent);
            declaration.name = last_word;
            return class_body(std::move(declaration), i, end, parent, depth);
        }
        if (token.is("operator")) {
            size_t open = i + 1;
            if (tokens_[open].is("(") && tokens_[open + 1].is(")")) open += 2;
            while (open < end && !tokens_[open].is("(") && !tokens_[open].is(";")) ++open;
            declaration.name = i + 1;
            if (!tokens_[open].is("(")) return other(std::move(declaration), i, end, parent);
            return function(std::move(declaration), open, end, parent);
        }
        if (token.is("<")) {
            if (const size_t close = tokens_.closing_angle(i); close < end) i = close;
        } else if (token.is("[")) {
            i = tokens_.closing(i);
        } else if (token.is(":") && is_class) {
            while (i < end && !tokens_[i].is("{") && !tokens_[i].is(";")) {
                if (tokens_[i].is("(")) i = tokens_.closing(i);
                ++i;
            }
            --i;
        } else if (token.is("(")) {
            const Token& before = tokens_[before_attributes(i)];
            const bool named =
                i > declaration.head && last_word != kNone && (before.is_word() || before.is(">"));
            if (!named || is_one_of(before, kParenthesized) || before.is("*")) {
                i = tokens_.closing(i);
                continue;
            }
            declaration.name = last_word;
            return function(std::move(declaration), i, end, parent);
        } else if (is_one_of(token, kClassKeys)) {
            is_class = true;
            declaration.kind = token.is("enum") ? DeclarationKind::kEnum : DeclarationKind::kClass;
        } else if (token.is_word() && !token.is("final")) {
            last_word = i;
        }
    }
    return other(std::move(declaration), declaration.head, end, parent);
}

// The "{" of the body after a constructor's ": a(1), b{2}".
size_t OutlineParser::constructor_body(size_t colon, size_t end) const {
    for (size_t i = colon + 1; i < end; ++i) {
        const Token& token = tokens_[i];
        if (token.is(";")) return end;
        if (token.is("{")) {
            const Token& before = tokens_[i - 1];
            if (before.is(")") || before.is("}")) return i;
            i = tokens_.closing(i);
        } else if (token.is("(")) {
            i = tokens_.closing(i);
        } else if (token.is("<")) {
            if (const size_t close = tokens_.closing_angle(i); close < end) i = close;
        }
    }
    return end;
}

size_t OutlineParser::function(Declaration declaration, size_t open, size_t end, size_t parent) {
    const size_t close = tokens_.closing(open);
    declaration.parameters = {open, close + 1};
    size_t i = close + 1, stop = end, body = kNone;
    for (; i < end; ++i) {
        const Token& token = tokens_[i];
        if (token.is("(") || token.is("[")) {
            i = tokens_.closing(i);
        } else if (token.is("{") || token.is(":")) {
            body = token.is("{") ? i : constructor_body(i, end);
            break;
        } else if (token.is(";") || token.is("=") || token.is(",")) {
            stop = semicolon(i, end);
            break;
        } else if (token.is("<")) {
            if (const size_t angle = tokens_.closing_angle(i); angle < end) i = angle;
        }
    }
    declaration.kind = DeclarationKind::kFunction;
    declaration.qualifiers = {close + 1, i};
    if (body != kNone && body < end) {
        declaration.body = {body, tokens_.closing(body) + 1};
        stop = declaration.body.end;
    }
    declaration.range.end = stop;
    add(std::move(declaration), parent);
    return stop;
}

Result<Outline> Outline::parse(const Tokens& tokens) {
    Outline outline;
    OutlineParser parser(tokens, outline);
    parser.find_attributes();
    INGOT_TRY(parser.scope({0, tokens.size()}, kNone, 0));
    return outline;
}

std::vector<const Attribute*> Outline::attributes_in(Range range) const {
    std::vector<const Attribute*> found;
    for (auto i = attribute_lists_.lower_bound(range.begin);
         i != attribute_lists_.end() && i->first < range.end; ++i) {
        for (const Attribute& attribute : i->second.attributes) found.push_back(&attribute);
    }
    return found;
}

std::string Outline::scope_of(const Tokens& tokens, const Declaration& declaration) const {
    std::string path;
    for (size_t i = declaration.parent; i != kNone; i = declarations_[i].parent) {
        if (declarations_[i].name == kNone) continue;
        path = std::string(tokens[declarations_[i].name].text) + (path.empty() ? "" : "::") + path;
    }
    return path;
}

}  // namespace ingot::metal::msl
