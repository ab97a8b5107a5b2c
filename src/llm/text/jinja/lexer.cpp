#include "llm/text/jinja/lexer.h"

#include <charconv>
#include <cstdlib>

#include "llm/text/jinja/string_literal.h"
#include "llm/text/jinja/unicode.h"
#include "llm/text/utf8.h"

namespace ingot::jinja {
namespace {

constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                           "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                           ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

// \r\n and \r become \n; one line end at the end of the template is dropped.
std::string normalize(std::string_view source) {
    std::string out;
    out.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '\r') {
            out += source[i];
        } else {
            out += '\n';
            if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
        }
    }
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

class Lexer {
  public:
    explicit Lexer(std::string_view source) : text_(source) {}

    Result<std::vector<Token>> run() {
        while (pos_ < text_.size()) INGOT_TRY(next_part());
        push(TokenKind::kEnd, {});
        return std::move(tokens_);
    }

  private:
    char peek(size_t ahead = 0) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }
    bool looking_at(std::string_view what) const { return text_.substr(pos_, what.size()) == what; }

    // Where `offset` is. Tokens come in order, so counting goes on from the last place asked for.
    Position position(size_t offset) {
        if (offset < counted_) counted_ = 0, counted_at_ = {};
        for (; counted_ < offset; ++counted_) {
            if (text_[counted_] == '\n') {
                ++counted_at_.line;
                counted_at_.column = 1;
            } else if ((static_cast<unsigned char>(text_[counted_]) & 0xC0) != 0x80) {
                ++counted_at_.column;
            }
        }
        return counted_at_;
    }

    template <typename... Args>
    Failure syntax_error(size_t offset, fmt::format_string<Args...> format, Args&&... args) {
        return Failure(Error{ErrorKind::kCorrupt, fmt::format(format, std::forward<Args>(args)...),
                             describe(position(offset))});
    }

    Token& push(TokenKind kind, std::string text) {
        tokens_.push_back({kind, position(std::min(start_, text_.size())), std::move(text)});
        return tokens_.back();
    }

    void skip_space() {
        while (pos_ < text_.size()) {
            size_t next = pos_;
            if (!char_is(next_char(text_, next), CharClass::kSpace)) return;
            pos_ = next;
        }
    }

    // Consumes "-", "+" or nothing before the closing mark, the mark, and the white space it takes along.
    bool close_tag(std::string_view mark, bool trims_newline, bool plus_allowed) {
        const bool sign = peek() == '-' || (plus_allowed && peek() == '+');
        if (text_.substr(pos_ + (sign ? 1 : 0), mark.size()) != mark) return false;
        const char control = sign ? peek() : '\0';
        pos_ += mark.size() + (sign ? 1 : 0);
        const size_t end = pos_;
        if (control == '-') {
            skip_space();
        } else if (control == '\0' && trims_newline && peek() == '\n') {
            ++pos_;
        }
        line_start_ = text_[std::max(pos_, end) - 1] == '\n';
        return true;
    }

    // The text before a tag, cut as the tag's sign and lstrip_blocks ask for.
    void push_data(size_t begin, size_t end, char sign, bool variable) {
        std::string_view data = text_.substr(begin, end - begin);
        if (sign == '-') {
            data = strip_right(data);
        } else if (sign != '+' && !variable) {
            const size_t newline = data.rfind('\n');
            const size_t line = newline == data.npos ? 0 : newline + 1;
            if ((line > 0 || line_start_) && all_chars_are(data.substr(line), CharClass::kSpace)) {
                data = data.substr(0, line);
            }
        }
        if (data.empty()) return;
        start_ = begin;
        push(TokenKind::kData, std::string(data));
    }

    Result<void> next_part() {
        const size_t begin = pos_;
        size_t tag = begin;
        for (;; ++tag) {
            tag = text_.find('{', tag);
            if (tag == text_.npos || tag + 1 >= text_.size()) {
                start_ = begin;
                push(TokenKind::kData, std::string(text_.substr(begin)));
                pos_ = text_.size();
                return {};
            }
            const char second = text_[tag + 1];
            if (second == '{' || second == '%' || second == '#') break;
        }
        const char type = text_[tag + 1];
        pos_ = tag + 2;
        const char sign = peek() == '-' || peek() == '+' ? peek() : '\0';
        if (sign) ++pos_;
        push_data(begin, tag, sign, type == '{');
        line_start_ = false;
        if (type == '#') return comment(tag);
        if (type == '%' && open_raw()) return raw(tag);
        start_ = tag;
        push(type == '%' ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, {});
        return tag_body(tag, type == '%');
    }

    Result<void> comment(size_t tag) {
        for (; pos_ < text_.size(); ++pos_) {
            if (close_tag("#}", true, true)) return {};
        }
        return syntax_error(tag, "Missing end of comment tag");
    }

    // After "{%": takes "raw %}" if that is what stands there.
    bool open_raw() {
        const size_t begin = pos_;
        skip_space();
        if (looking_at("raw")) {
            pos_ += 3;
            skip_space();
            if (close_tag("%}", false, false)) return true;
        }
        pos_ = begin;
        return false;
    }

    Result<void> raw(size_t tag) {
        const size_t begin = pos_;
        for (size_t end = pos_; (end = text_.find("{%", end)) != text_.npos; end += 2) {
            pos_ = end + 2;
            const char sign = peek() == '-' || peek() == '+' ? peek() : '\0';
            if (sign) ++pos_;
            skip_space();
            if (!looking_at("endraw")) continue;
            pos_ += 6;
            skip_space();
            const size_t close = pos_;
            const bool raw_line_start = line_start_;
            if (!close_tag("%}", true, true)) continue;
            const size_t after = pos_;
            const bool after_line_start = line_start_;
            pos_ = close;
            line_start_ = raw_line_start;
            push_data(begin, end, sign, false);
            pos_ = after;
            line_start_ = after_line_start;
            return {};
        }
        return syntax_error(tag, "Missing end of raw directive");
    }

    Result<void> tag_body(size_t tag, bool block) {
        std::string open;  // brackets not closed yet
        while (pos_ < text_.size()) {
            start_ = pos_;
            if (open.empty() && close_tag(block ? "%}" : "}}", block, block)) {
                push(block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, {});
                return {};
            }
            const size_t before_space = pos_;
            skip_space();
            if (pos_ == before_space) INGOT_TRY(word(open));
        }
        start_ = tag;
        return syntax_error(tag, "this tag is never closed");
    }

    Result<void> word(std::string& open) {
        const char c = peek();
        if (is_digit(c)) return number();
        if (c == '"' || c == '\'') return string();
        size_t next = pos_;
        if (char_is(next_char(text_, next), CharClass::kWord)) return name();
        for (const std::string_view symbol : kOperators) {
            if (!looking_at(symbol)) continue;
            INGOT_TRY(balance(open, symbol));
            pos_ += symbol.size();
            push(TokenKind::kOperator, std::string(symbol));
            return {};
        }
        next = pos_;
        next_char(text_, next);
        return syntax_error(pos_, "unexpected char '{}'", text_.substr(pos_, next - pos_));
    }

    Result<void> balance(std::string& open, std::string_view symbol) {
        if (symbol == "(") open += ')';
        if (symbol == "[") open += ']';
        if (symbol == "{") open += '}';
        if (symbol != ")" && symbol != "]" && symbol != "}") return {};
        if (open.empty()) return syntax_error(pos_, "unexpected '{}'", symbol);
        if (open.back() != symbol[0]) {
            return syntax_error(pos_, "unexpected '{}', expected '{}'", symbol, open.back());
        }
        open.pop_back();
        return {};
    }

    Result<void> name() {
        while (pos_ < text_.size()) {
            size_t next = pos_;
            if (!char_is(next_char(text_, next), CharClass::kWord)) break;
            pos_ = next;
        }
        push(TokenKind::kName, std::string(text_.substr(start_, pos_ - start_)));
        return {};
    }

    Result<void> string() {
        const char quote = text_[pos_++];
        size_t end = pos_;
        while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
        if (end >= text_.size()) return syntax_error(start_, "this string is never closed");
        auto value = unescape(text_.substr(pos_, end - pos_));
        if (!value) return syntax_error(start_, "{}", value.error().message);
        pos_ = end + 1;
        push(TokenKind::kString, *std::move(value));
        return {};
    }

    // Takes digits with single underscores between them and appends them to `out`.
    void digits(std::string& out, std::string_view accepted = "0123456789") {
        const auto is_accepted = [&](char c) { return c != '\0' && accepted.find(c) != accepted.npos; };
        while (is_accepted(peek()) || (peek() == '_' && !out.empty() && is_accepted(peek(1)))) {
            if (peek() != '_') out += peek();
            ++pos_;
        }
    }

    Result<void> number() {
        const auto next_digit = [&](size_t ahead) { return is_digit(peek(ahead)); };
        const bool after_dot = start_ > 0 && text_[start_ - 1] == '.';
        std::string digits_text;
        const char base = static_cast<char>(peek(1) | 0x20);
        if (peek() == '0' && (base == 'x' || base == 'o' || base == 'b')) {
            pos_ += 2;
            if (peek() == '_') ++pos_;
            const int radix = base == 'x' ? 16 : base == 'o' ? 8 : 2;
            digits(digits_text, std::string_view("0123456789abcdefABCDEF")
                                    .substr(0, radix == 16 ? 22 : static_cast<size_t>(radix)));
            return integer(digits_text, radix);
        }
        digits(digits_text);
        bool real = false;
        if (!after_dot && peek() == '.' && next_digit(1)) {
            real = true;
            ++pos_;
            std::string fraction;
            digits(fraction);
            digits_text += '.' + fraction;
        }
        const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
        if (!after_dot && (peek() == 'e' || peek() == 'E') && next_digit(1 + sign)) {
            real = true;
            digits_text += sign && peek(1) == '-' ? "e-" : "e";
            pos_ += 1 + sign;
            std::string exponent;
            digits(exponent);
            digits_text += exponent;
        }
        if (!real) {
            const bool leading_zero =
                digits_text[0] == '0' && digits_text.find_first_not_of('0') != digits_text.npos;
            if (leading_zero) return syntax_error(start_, "an integer can't start with 0");
            return integer(digits_text, 10);
        }
        Token& token = push(TokenKind::kFloat, digits_text);
        token.real = std::strtod(digits_text.c_str(), nullptr);  // infinite or 0 where Python's is
        return {};
    }

    Result<void> integer(const std::string& digits_text, int radix) {
        int64_t value = 0;
        const char* end = digits_text.data() + digits_text.size();
        const auto parsed = std::from_chars(digits_text.data(), end, value, radix);
        if (parsed.ec != std::errc() || parsed.ptr != end) {
            return syntax_error(start_, "the integer {} isn't accepted: it must have digits and fit 64 bits",
                                text_.substr(start_, pos_ - start_));
        }
        push(TokenKind::kInteger, digits_text).integer = value;
        return {};
    }

    std::string_view text_;
    size_t pos_ = 0;
    size_t start_ = 0;  // of the token being read
    bool line_start_ = true;
    size_t counted_ = 0;
    Position counted_at_;
    std::vector<Token> tokens_;
};

}  // namespace

std::string Token::describe() const {
    switch (kind) {
        case TokenKind::kData:
            return "template data";
        case TokenKind::kBlockBegin:
            return "begin of statement block";
        case TokenKind::kBlockEnd:
            return "end of statement block";
        case TokenKind::kVariableBegin:
            return "begin of print statement";
        case TokenKind::kVariableEnd:
            return "end of print statement";
        case TokenKind::kEnd:
            return "end of template";
        default:
            return "'" + text + "'";
    }
}

std::string describe(const Position& at) {
    return fmt::format("line {}, column {}", at.line, at.column);
}

Result<std::vector<Token>> tokenize(std::string_view source) {
    constexpr size_t kLargestTemplate = 16 << 20;
    if (source.size() > kLargestTemplate) {
        return fail(ErrorKind::kLimit, "the template has {} bytes, at most {} accepted", source.size(),
                    kLargestTemplate);
    }
    if (const auto bad = find_invalid_utf8(source)) {
        return fail(ErrorKind::kCorrupt, "the template isn't valid UTF-8 at byte {}", *bad);
    }
    const std::string text = normalize(source);
    return Lexer(text).run();
}

}  // namespace ingot::jinja
