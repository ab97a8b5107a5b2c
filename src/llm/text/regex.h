// A compiled PCRE2 pattern (UTF, Unicode properties, JIT where the machine has it) that cuts text into
// matches and what lies between them. Which patterns exist is pre_tokenizer.cpp.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

struct pcre2_real_code_8;

namespace ingot {

class Regex {
  public:
    // In `pattern`, \s and \S mean the Unicode property White_Space, as in the regex engines that tokenizers
    // are trained with; PCRE2's own \s has U+180E in addition. A pattern must not match the empty string.
    static Result<Regex> compile(std::string_view pattern);

    // Appends the matches in `text` and the gaps between them, in order, none empty; joined they are `text`.
    // Anchors and look-arounds see nothing outside of `text`, which is valid UTF-8. kLimit if PCRE2 gives up.
    Result<void> split(std::string_view text, std::vector<std::string_view>& pieces) const;

  private:
    explicit Regex(std::shared_ptr<const pcre2_real_code_8> code) : code_(std::move(code)) {}
    std::shared_ptr<const pcre2_real_code_8> code_;
};

}  // namespace ingot
