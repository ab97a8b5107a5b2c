#include "llm/text/vocabulary.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "base/quoted.h"
#include "llm/text/token_roles.h"

namespace ingot {
namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kKindsKey = "tokenizer.ggml.token_type";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
constexpr uint64_t kMaxTokens = 1u << 26;
constexpr uint64_t kMaxTextBytes = 1u << 31;

uint64_t hash_of(std::string_view text) {
    return std::hash<std::string_view>{}(text);
}

template <typename T>
Result<const std::vector<T>*> items_of(const gguf::File& file, std::string_view key,
                                       std::string_view accepted) {
    INGOT_ASSIGN(const gguf::Array* array, file.get_array(key));
    if (const auto* items = std::get_if<std::vector<T>>(&array->items)) return items;
    return fail(ErrorKind::kCorrupt, "{}: '{}' must be an array of {}", file.path(), key, accepted);
}

Result<void> check_count(const gguf::File& file, std::string_view key, size_t count, size_t num_tokens) {
    if (count == num_tokens) return {};
    return fail(ErrorKind::kCorrupt, "{}: '{}' has {} entries for {} tokens", file.path(), key, count,
                num_tokens);
}

// A special id of the file; `fallback` if the file names none. 2^32-1 is how some files say "there is none".
Result<TokenId> special_id(const gguf::File& file, std::string_view key, TokenId fallback,
                           uint32_t num_tokens) {
    if (file.find(key) == nullptr) {
        return fallback >= 0 && static_cast<uint32_t>(fallback) < num_tokens ? fallback : kNoToken;
    }
    INGOT_ASSIGN(const uint64_t id, file.get_uint(key));
    if (id == UINT32_MAX) return kNoToken;
    if (id < num_tokens) return static_cast<TokenId>(id);
    return fail(ErrorKind::kCorrupt, "{}: '{}' is {}, the vocabulary has {} tokens", file.path(), key, id,
                num_tokens);
}

}  // namespace

std::optional<unsigned char> byte_of_name(std::string_view name) {
    if (name.size() != 6 || !name.starts_with("<0x") || name[5] != '>') return std::nullopt;
    unsigned char byte = 0;
    const auto [end, error] = std::from_chars(name.data() + 3, name.data() + 5, byte, 16);
    if (error != std::errc() || end != name.data() + 5) return std::nullopt;
    return byte;
}

Result<Vocabulary> Vocabulary::from_gguf(const gguf::File& file) {
    Vocabulary vocabulary;
    INGOT_TRY(vocabulary.read_texts(file));
    INGOT_TRY(vocabulary.read_kinds(file));
    INGOT_TRY(vocabulary.read_scores(file));
    vocabulary.assign_roles();
    INGOT_TRY(vocabulary.read_special_ids(file));
    return vocabulary;
}

Result<void> Vocabulary::read_texts(const gguf::File& file) {
    INGOT_ASSIGN(const auto* tokens, items_of<std::string_view>(file, kTokensKey, "strings"));
    if (tokens->empty() || tokens->size() > kMaxTokens) {
        return fail(ErrorKind::kCorrupt, "{}: '{}' has {} entries, 1 to {} are accepted", file.path(),
                    kTokensKey, tokens->size(), kMaxTokens);
    }
    uint64_t total_bytes = 0;
    for (const std::string_view token : *tokens) total_bytes += token.size();
    if (total_bytes > kMaxTextBytes) {
        return fail(ErrorKind::kCorrupt, "{}: '{}' has {} bytes of text, at most {} are accepted",
                    file.path(), kTokensKey, total_bytes, kMaxTextBytes);
    }
    texts_.reserve(total_bytes);
    text_offsets_.reserve(tokens->size() + 1);
    text_offsets_.push_back(0);
    kinds_.assign(tokens->size(), TokenKind::kNormal);
    ends_.assign(tokens->size(), false);
    ids_by_text_.reset(tokens->size());
    for (const std::string_view token : *tokens) {
        const auto id = static_cast<uint32_t>(text_offsets_.size() - 1);
        texts_ += token;
        text_offsets_.push_back(static_cast<uint32_t>(texts_.size()));
        longest_text_ = std::max(longest_text_, token.size());
        if (token.empty()) continue;
        const uint32_t stored = ids_by_text_.insert(
            hash_of(token), id, [&](uint32_t other) { return text(static_cast<TokenId>(other)) == token; });
        if (stored != id) {
            return fail(ErrorKind::kCorrupt, "{}: tokens {} and {} are both {}", file.path(), stored, id,
                        quoted(token));
        }
    }
    return {};
}

Result<void> Vocabulary::read_kinds(const gguf::File& file) {
    if (file.find(kKindsKey) == nullptr) return {};
    INGOT_ASSIGN(const auto* kinds, items_of<int32_t>(file, kKindsKey, "int32"));
    INGOT_TRY(check_count(file, kKindsKey, kinds->size(), size()));
    for (size_t id = 0; id < kinds->size(); ++id) {
        const int32_t kind = (*kinds)[id];
        if (kind < 0 || kind > static_cast<int32_t>(TokenKind::kByte)) {
            return fail(ErrorKind::kCorrupt, "{}: '{}' of token {} is {}, 0 to 6 are known", file.path(),
                        kKindsKey, id, kind);
        }
        // 0 stands for "undefined": nothing known, hence nothing to generate from it.
        kinds_[id] = kind == 0 ? TokenKind::kUnused : static_cast<TokenKind>(kind);
    }
    return {};
}

Result<void> Vocabulary::read_scores(const gguf::File& file) {
    if (file.find(kScoresKey) == nullptr) return {};
    INGOT_ASSIGN(const auto* scores, items_of<float>(file, kScoresKey, "float32"));
    INGOT_TRY(check_count(file, kScoresKey, scores->size(), size()));
    for (size_t id = 0; id < scores->size(); ++id) {
        if ((*scores)[id] == (*scores)[id]) continue;
        return fail(ErrorKind::kCorrupt, "{}: '{}' of token {} is NaN", file.path(), kScoresKey, id);
    }
    scores_ = *scores;
    return {};
}

Result<void> Vocabulary::read_special_ids(const gguf::File& file) {
    // The defaults are those of the SentencePiece vocabularies that came before the keys existed.
    INGOT_ASSIGN(const std::string_view model, file.get_string("tokenizer.ggml.model"));
    const bool spm = model == "llama";
    const auto read = [&](std::string_view name, TokenId fallback) {
        return special_id(file, fmt::format("tokenizer.ggml.{}_token_id", name), fallback, size());
    };
    INGOT_ASSIGN(bos_, read("bos", spm ? 1 : kNoToken));
    INGOT_ASSIGN(eos_, read("eos", spm ? 2 : kNoToken));
    INGOT_ASSIGN(unknown_, read("unknown", spm ? 0 : kNoToken));
    for (const std::string_view name : {"eos", "eot", "eom"}) {
        INGOT_ASSIGN(const TokenId id, read(name, kNoToken));
        if (id != kNoToken) ends_[static_cast<size_t>(id)] = true;
    }
    if (eos_ != kNoToken) ends_[static_cast<size_t>(eos_)] = true;
    return {};
}

void Vocabulary::assign_roles() {
    const auto assign = [this](const NamedRole& rule) {
        const TokenId id = find(rule.name);
        if (id == kNoToken || rule.role == TokenRole::kPlain) return;
        const bool if_special = rule.role == TokenRole::kEndIfSpecial;
        if (if_special && kind(id) == TokenKind::kNormal) return;
        ends_[static_cast<size_t>(id)] = if_special || rule.role == TokenRole::kEnd;
        kinds_[static_cast<size_t>(id)] =
            rule.role == TokenRole::kVisible ? TokenKind::kUserDefined : TokenKind::kControl;
    };
    std::vector<std::string_view> overruled;
    for (const ConditionalRole& rule : conditional_roles()) {
        bool holds = true;
        for (const std::string_view name : rule.if_present)
            holds = holds && (name.empty() || find(name) >= 0);
        if (!holds) continue;
        assign(rule.then);
        overruled.push_back(rule.then.name);
    }
    for (const NamedRole& rule : named_roles()) {
        if (std::find(overruled.begin(), overruled.end(), rule.name) == overruled.end()) assign(rule);
    }
}

TokenId Vocabulary::find(std::string_view wanted) const {
    if (wanted.empty() || wanted.size() > longest_text_) return kNoToken;
    const uint32_t id = ids_by_text_.find(
        hash_of(wanted), [&](uint32_t other) { return text(static_cast<TokenId>(other)) == wanted; });
    return id == ProbeTable::kNone ? kNoToken : static_cast<TokenId>(id);
}

TokenId Vocabulary::find_byte(unsigned char byte) const {
    return find(fmt::format("<0x{:02X}>", byte));
}

}  // namespace ingot
