#include "llm/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <algorithm>
#include <limits>
#include <string>

#include <pcre2.h>

#include "base/check.h"

namespace ingot {
namespace {

// The patterns are linear; the limits only keep a mistake in one of them from hanging the program.
constexpr uint64_t kBaseMatchLimit = 10'000'000;
constexpr uint64_t kMatchLimitPerByte = 16;

struct Free {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

std::string with_unicode_spaces(std::string_view pattern) {
    std::string out;
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '\\' || i + 1 == pattern.size()) {
            out += pattern[i];
            continue;
        }
        const char escaped = pattern[++i];
        if (escaped == 's') {
            out += "\\p{White_Space}";
        } else if (escaped == 'S') {
            out += "\\P{White_Space}";
        } else {
            out += {'\\', escaped};
        }
    }
    return out;
}

std::string error_text(int code) {
    PCRE2_UCHAR buffer[256];
    pcre2_get_error_message(code, buffer, sizeof(buffer));
    return reinterpret_cast<const char*>(buffer);
}

}  // namespace

Result<Regex> Regex::compile(std::string_view pattern) {
    const std::string expanded = with_unicode_spaces(pattern);
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expanded.data()), expanded.size(),
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &error, &offset, nullptr);
    if (code == nullptr) {
        return fail(ErrorKind::kInvalidArgument, "pattern '{}' at {}: {}", expanded, offset,
                    error_text(error));
    }
    std::shared_ptr<const pcre2_real_code_8> owner(code, pcre2_code_free);
    // Without JIT the interpreter serves every pattern with the same result.
    if (const int done = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
        done != 0 && done != PCRE2_ERROR_JIT_BADOPTION) {
        return fail(ErrorKind::kUnsupported, "pattern '{}': {}", expanded, error_text(done));
    }
    return Regex(std::move(owner));
}

Result<void> Regex::split(std::string_view text, std::vector<std::string_view>& pieces) const {
    const std::unique_ptr<pcre2_match_data, Free> data(pcre2_match_data_create(1, nullptr));
    const std::unique_ptr<pcre2_match_context, Free> context(pcre2_match_context_create(nullptr));
    INGOT_CHECK(data && context, "out of memory");
    const uint64_t limit = std::min<uint64_t>(kBaseMatchLimit + kMatchLimitPerByte * text.size(),
                                              std::numeric_limits<uint32_t>::max());
    pcre2_set_match_limit(context.get(), static_cast<uint32_t>(limit));

    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    size_t at = 0;
    while (at < text.size()) {
        const int found =
            pcre2_match(code_.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK, data.get(), context.get());
        if (found == PCRE2_ERROR_NOMATCH) break;
        if (found < 0) {
            return fail(ErrorKind::kLimit, "splitting text into words stopped at byte {} of {}: {}", at,
                        text.size(), error_text(found));
        }
        const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data.get());
        INGOT_CHECK(span[1] > span[0], "a pattern of the pre-tokenizer table matches nothing at {}", span[0]);
        if (span[0] > at) pieces.push_back(text.substr(at, span[0] - at));
        pieces.push_back(text.substr(span[0], span[1] - span[0]));
        at = span[1];
    }
    if (at < text.size()) pieces.push_back(text.substr(at));
    return {};
}

}  // namespace ingot
