#include "tile/ir/lexer.h"

#include <cctype>
#include <charconv>

namespace ingot::tile {
namespace {

bool is_name_start(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool is_name_part(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Longest first.
constexpr std::string_view kSigns[] = {"||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "->", "+=", "^T",
                                       "+",  "-",  "*",  "/",  "%",  "<",  ">",  "=",  "&",  "|",  "^",
                                       "~",  "!",  "(",  ")",  "[",  "]",  "{",  "}",  ",",  ":",  "@"};

class Lexer {
  public:
    Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}

    Result<std::vector<Token>> run() {
        while (at_ < text_.size()) INGOT_TRY(step());
        add(TokenKind::kLineEnd, "", here());
        add(TokenKind::kEnd, "", here());
        return std::move(tokens_);
    }

  private:
    SourceLoc here() const { return {0, line_, uint32_t(at_ - line_begin_ + 1)}; }

    Failure error(SourceLoc loc, std::string message) const {
        return Failure(Error{ErrorKind::kInvalidArgument, std::move(message),
                             fmt::format("{}:{}:{}", file_, loc.line, loc.column)});
    }

    void add(TokenKind kind, std::string text, SourceLoc loc) {
        tokens_.push_back({kind, std::move(text), loc, 0, false});
    }

    Result<void> step() {
        const char c = text_[at_];
        if (c == '\n') {
            if (depth_ == 0) add(TokenKind::kLineEnd, "", here());
            ++at_, ++line_;
            line_begin_ = at_;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            ++at_;
        } else if (text_.substr(at_).starts_with("//")) {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (is_name_start(c)) {
            const size_t begin = at_;
            const SourceLoc loc = here();
            while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
            add(TokenKind::kName, std::string(text_.substr(begin, at_ - begin)), loc);
        } else if (is_digit(c)) {
            return number();
        } else if (c == '"') {
            return quoted();
        } else {
            return sign();
        }
        return {};
    }

    Result<void> number() {
        const size_t begin = at_;
        const SourceLoc loc = here();
        bool whole = true;
        while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
        if (at_ + 1 < text_.size() && text_[at_] == '.' && is_digit(text_[at_ + 1])) {
            whole = false;
            for (++at_; at_ < text_.size() && is_digit(text_[at_]);) ++at_;
        }
        if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
            whole = false;
            ++at_;
            if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
            while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
        }
        const std::string_view written = text_.substr(begin, at_ - begin);
        double value = 0;
        const auto parsed = std::from_chars(written.data(), written.data() + written.size(), value);
        const bool continues = at_ < text_.size() && is_name_part(text_[at_]);
        if (parsed.ec != std::errc{} || parsed.ptr != written.data() + written.size() || continues) {
            return error(loc, fmt::format("'{}' is no number; one looks like 3, 0.5 or 1e-5",
                                          text_.substr(begin, at_ - begin + continues)));
        }
        if (whole && value > 2147483647.0) {
            return error(loc, fmt::format("{} is too large; whole numbers go to 2147483647", written));
        }
        tokens_.push_back({TokenKind::kNumber, std::string(written), loc, value, whole});
        return {};
    }

    Result<void> quoted() {
        const SourceLoc loc = here();
        std::string value;
        for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_) {
            char c = text_[at_];
            if (c == '\\' && at_ + 1 < text_.size()) {
                c = text_[++at_];
                if (c == 'n') c = '\n';
            }
            value += c;
        }
        if (at_ >= text_.size() || text_[at_] != '"')
            return error(loc, "a text that no \" ends on this line");
        ++at_;
        add(TokenKind::kText, std::move(value), loc);
        return {};
    }

    Result<void> sign() {
        for (const std::string_view s : kSigns) {
            if (!text_.substr(at_).starts_with(s)) continue;
            // "^T" is the transpose mark only where no longer name starts.
            if (s == "^T" && at_ + 2 < text_.size() && is_name_part(text_[at_ + 2])) continue;
            add(TokenKind::kSign, std::string(s), here());
            at_ += s.size();
            if (s == "(" || s == "[") ++depth_;
            if ((s == ")" || s == "]") && depth_ > 0) --depth_;
            return {};
        }
        const bool printable = text_[at_] >= ' ' && text_[at_] <= '~';
        return error(here(), printable ? fmt::format("'{}' means nothing here", text_[at_])
                                       : fmt::format("a byte {:#04x}", uint8_t(text_[at_])));
    }

    std::string_view text_, file_;
    size_t at_ = 0, line_begin_ = 0;
    uint32_t line_ = 1;
    int depth_ = 0;
    std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> lex(std::string_view text, std::string_view file) {
    return Lexer(text, file).run();
}

}  // namespace ingot::tile
