// Changes to a token stream, collected by the rewriting passes and printed at the end. Passes don't see each
// other's changes; where two touch one token the later replacement wins and insertions add up. Line markers
// and newlines are kept even where tokens go, so that diagnostics of the printed text stand at the source's
// lines.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "metal/msl/lexer.h"

namespace ingot::metal::msl {

class Edits {
  public:
    explicit Edits(const Tokens& tokens) : tokens_(&tokens) {}

    void replace(size_t index, std::string text) { changes_[index].replacement = std::move(text); }
    void erase(size_t index) { replace(index, ""); }
    void erase(Range range);
    void insert_before(size_t index, std::string_view text) { changes_[index].before += text; }
    // Ahead of what was inserted there before.
    void prepend(size_t index, const std::string& text) { changes_[index].before.insert(0, text); }
    void insert_after(size_t index, std::string_view text) { changes_[index].after += text; }
    // Erases a range and what was inserted into it.
    void drop(Range range);
    bool is_erased(size_t index) const;
    // What stands between the token before and this one.
    void replace_leading(size_t index, std::string text) { changes_[index].leading = std::move(text); }

    // The changed text of a range, on one line.
    std::string text(Range range) const;
    std::string print() const;

  private:
    struct Change {
        std::string before, after;
        std::optional<std::string> leading, replacement;
    };

    void append(std::string& text, size_t index) const;

    const Tokens* tokens_;
    std::map<size_t, Change> changes_;
};

}  // namespace ingot::metal::msl
