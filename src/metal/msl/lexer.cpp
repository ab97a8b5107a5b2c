#include "metal/msl/lexer.h"

#include <algorithm>
#include <charconv>

#include "base/quoted.h"

namespace ingot::metal::msl {

namespace {

constexpr size_t kMaxSourceBytes = size_t{64} << 20;
constexpr size_t kMaxFiles = 60000;

bool starts_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || (c & 0x80) != 0;
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

// Longest first. ">>" and ">>=" are missing on purpose.
constexpr std::string_view kPunctuation[] = {
    "...", "<<=", "->*", "<=>", "::", "->", "<<", "<=", ">=", "==", "!=", "&&",
    "||",  "++",  "--",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", ".*"};

}  // namespace

class Lexer {
  public:
    Lexer(Tokens& out, std::string_view file) : out_(out), text_(*out.source_) {
        out_.files_.emplace_back(file);
    }

    Result<void> run();

  private:
    Result<void> skip_leading();
    Result<void> directive();
    void line_marker(std::string_view line);
    Result<size_t> literal_end(size_t quote, char delimiter) const;
    Result<size_t> raw_string_end(size_t quote) const;
    Result<Token> next();
    Failure failure(std::string_view message) const {
        return fail(ErrorKind::kCorrupt, "{}:{}: error: {}", out_.files_[file_], line_, message);
    }
    bool at(std::string_view expected, size_t position) const {
        return text_.substr(position, expected.size()) == expected;
    }

    Tokens& out_;
    std::string_view text_;
    size_t position_ = 0;
    bool line_start_ = true;
    uint16_t file_ = 0;
    uint32_t line_ = 1;
};

// # 12 "file.metal" 2
void Lexer::line_marker(std::string_view line) {
    uint32_t number = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), number);
    const std::string_view rest(parsed.ptr, size_t(line.data() + line.size() - parsed.ptr));
    const size_t open = rest.find('"'), close = rest.rfind('"');
    line_ = number == 0 ? 0 : number - 1;  // the newline that follows counts
    if (open == std::string_view::npos || close <= open) return;
    const std::string name(rest.substr(open + 1, close - open - 1));
    const auto found = std::find(out_.files_.begin(), out_.files_.end(), name);
    if (found == out_.files_.end() && out_.files_.size() >= kMaxFiles) return;
    file_ = uint16_t(found - out_.files_.begin());
    if (found == out_.files_.end()) out_.files_.push_back(name);
}

// A line that starts with "#": a marker or a pragma. A text that is lexed here was preprocessed; anything
// else would be obeyed by the compiler run that follows.
Result<void> Lexer::directive() {
    const size_t end = std::min(text_.find('\n', position_), text_.size());
    std::string_view line = text_.substr(position_ + 1, end - position_ - 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.empty() && is_digit(line[0])) {
        line_marker(line);
    } else if (!line.starts_with("pragma") && line.find_first_not_of(" \t\r") != std::string_view::npos) {
        return failure("a '#' that no macro may produce");
    }
    position_ = end;
    return {};
}

Result<void> Lexer::skip_leading() {
    while (position_ < text_.size()) {
        const char c = text_[position_];
        if (c == '\n') {
            ++line_;
            line_start_ = true;
            ++position_;
        } else if (is_space(c)) {
            ++position_;
        } else if (at("//", position_)) {
            position_ = std::min(text_.find('\n', position_), text_.size());
        } else if (at("/*", position_)) {
            const size_t end = text_.find("*/", position_ + 2);
            if (end == std::string_view::npos) return failure("a comment without end");
            line_ += uint32_t(std::count(text_.begin() + long(position_), text_.begin() + long(end), '\n'));
            position_ = end + 2;
        } else if (line_start_ && c == '#') {
            INGOT_TRY(directive());
        } else {
            break;
        }
    }
    return {};
}

// One past the delimiter that closes the literal opened at `quote`.
Result<size_t> Lexer::literal_end(size_t quote, char delimiter) const {
    for (size_t i = quote + 1; i < text_.size() && text_[i] != '\n'; ++i) {
        if (text_[i] == '\\') {
            ++i;
        } else if (text_[i] == delimiter) {
            return i + 1;
        }
    }
    return failure(fmt::format("missing terminating {} character", delimiter));
}

// R"name( ... )name"
Result<size_t> Lexer::raw_string_end(size_t quote) const {
    const size_t open = text_.find('(', quote);
    if (open == std::string_view::npos || open - quote > 17) return failure("a raw string without delimiter");
    const std::string close = ")" + std::string(text_.substr(quote + 1, open - quote - 1)) + "\"";
    const size_t end = text_.find(close, open);
    if (end == std::string_view::npos) return failure("a raw string without end");
    return end + close.size();
}

Result<Token> Lexer::next() {
    Token token;
    const size_t before = position_;
    INGOT_TRY(skip_leading());
    token.leading = text_.substr(before, position_ - before);
    token.file = file_;
    token.line = line_;
    line_start_ = false;
    const size_t begin = position_;
    if (begin == text_.size()) return token;
    const char c = text_[begin];
    size_t end = begin + 1;
    if (c == '"' || c == '\'') {
        token.kind = c == '"' ? TokenKind::kString : TokenKind::kCharacter;
        INGOT_ASSIGN(end, literal_end(begin, c));
    } else if (is_digit(c) || (c == '.' && begin + 1 < text_.size() && is_digit(text_[begin + 1]))) {
        token.kind = TokenKind::kNumber;
        while (end < text_.size()) {
            const char d = text_[end], last = text_[end - 1];
            const bool sign =
                (d == '+' || d == '-') && (last == 'e' || last == 'E' || last == 'p' || last == 'P');
            if (!starts_word(d) && !is_digit(d) && d != '.' && d != '\'' && !sign) break;
            ++end;
        }
    } else if (starts_word(c)) {
        token.kind = TokenKind::kWord;
        while (end < text_.size() && (starts_word(text_[end]) || is_digit(text_[end]))) ++end;
        const bool prefix = end - begin <= 3 && end < text_.size() && text_[end] == '"';
        if (prefix) {
            token.kind = TokenKind::kString;
            if (text_[end - 1] == 'R') {
                INGOT_ASSIGN(end, raw_string_end(end));
            } else {
                INGOT_ASSIGN(end, literal_end(end, '"'));
            }
        }
    } else {
        if (at("%:", begin)) return failure("digraphs aren't accepted");
        token.kind = TokenKind::kPunctuation;
        for (const std::string_view punctuation : kPunctuation) {
            if (!at(punctuation, begin)) continue;
            end = begin + punctuation.size();
            break;
        }
    }
    token.text = text_.substr(begin, end - begin);
    line_ += uint32_t(std::count(token.text.begin(), token.text.end(), '\n'));
    position_ = end;
    return token;
}

Result<void> Lexer::run() {
    while (true) {
        INGOT_ASSIGN(const Token token, next());
        out_.tokens_.push_back(token);
        if (token.kind == TokenKind::kEnd) return {};
    }
}

Result<Tokens> Tokens::lex(std::string text, std::string_view file) {
    if (text.size() > kMaxSourceBytes) {
        return fail(ErrorKind::kLimit, "{}: {} bytes after preprocessing, at most {} accepted", file,
                    text.size(), kMaxSourceBytes);
    }
    Tokens tokens;
    tokens.source_ = std::make_shared<const std::string>(std::move(text));
    INGOT_TRY(Lexer(tokens, file).run());
    INGOT_TRY(tokens.match_brackets());
    return tokens;
}

namespace {

// Whether "<" may open a template argument list: it follows a name, which a less-than often doesn't.
bool may_open_list(const Token& before, const Token& two_before) {
    return before.is_word() && !before.is("operator") && !two_before.is("operator");
}

}  // namespace

// Angle brackets match within the innermost other bracket and up to a ";": a "<" that has no ">" by then was
// a comparison.
Result<void> Tokens::match_brackets() {
    closing_.assign(tokens_.size(), size());
    std::vector<size_t> open;
    const auto is_angle = [&](size_t i) { return tokens_[i].text[0] == '<'; };
    const auto drop_angles = [&] {
        while (!open.empty() && is_angle(open.back())) open.pop_back();
    };
    for (size_t i = 0; i < size(); ++i) {
        const Token& token = tokens_[i];
        if (token.kind != TokenKind::kPunctuation || token.text.size() != 1) continue;
        const char c = token.text[0];
        if (c == '(' || c == '[' || c == '{') open.push_back(i);
        if (c == '<' && i > 0 && may_open_list(tokens_[i - 1], tokens_[i > 1 ? i - 2 : 0])) open.push_back(i);
        if (c == ';') drop_angles();
        if (c == '>' && !open.empty() && is_angle(open.back())) {
            closing_[open.back()] = i;
            open.pop_back();
        }
        if (c != ')' && c != ']' && c != '}') continue;
        drop_angles();
        const char expected = c == ')' ? '(' : c == ']' ? '[' : '{';
        if (open.empty() || tokens_[open.back()].text[0] != expected) {
            return fail(ErrorKind::kCorrupt, "{}: error: extraneous '{}'", place(i), c);
        }
        closing_[open.back()] = i;
        open.pop_back();
    }
    drop_angles();
    if (open.empty()) return {};
    return fail(ErrorKind::kCorrupt, "{}: error: '{}' is never closed", place(open.back()),
                tokens_[open.back()].text);
}

std::string Tokens::place(size_t index) const {
    const Token& token = (*this)[index];
    return fmt::format("{}:{}", printable(files_[token.file], 200), token.line);
}

std::string Tokens::text(Range range) const {
    std::string text;
    for (size_t i = range.begin; i < range.end; ++i) {
        if (i > range.begin && !tokens_[i].leading.empty()) text += ' ';
        text += tokens_[i].text;
    }
    return text;
}

}  // namespace ingot::metal::msl
