#include "llm/text/bpe.h"

#include "base/quoted.h"
#include "llm/text/byte_alphabet.h"
#include "llm/text/space_mark.h"

namespace ingot {
namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";

uint64_t pair_hash(uint32_t left, uint32_t right) {
    return mix_bits(uint64_t{left} << 32 | right);
}

bool is_newlines(std::string_view word) {
    return word.find_first_not_of('\n') == std::string_view::npos;
}

}  // namespace

Result<Bpe> Bpe::from_gguf(const gguf::File& file, const Vocabulary& vocabulary, PreTokenizer pre) {
    Bpe bpe(std::move(pre));
    const bool on_characters = bpe.row().on_characters;
    INGOT_TRY(bpe.read_merges(file, vocabulary));
    for (size_t byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        const uint32_t symbol =
            on_characters ? Symbol::kUnknown : bpe.find_symbol(vocabulary, to_byte_alphabet({&c, 1}));
        bpe.byte_symbols_[byte] = symbol;
        if (on_characters) {
            bpe.byte_ids_[byte] = vocabulary.find_byte(static_cast<unsigned char>(c));
        } else {
            bpe.byte_ids_[byte] = symbol < vocabulary.size() ? static_cast<TokenId>(symbol) : kNoToken;
        }
    }
    if (on_characters) {
        for (TokenId id = 0; id < static_cast<TokenId>(vocabulary.size()); ++id) {
            if (vocabulary.is_ordinary(id)) bpe.joints_.learn(vocabulary.text(id));
        }
        for (const auto& [text, symbol] : bpe.extra_symbols_) bpe.joints_.learn(text);
    }
    return bpe;
}

Result<void> Bpe::read_merges(const gguf::File& file, const Vocabulary& vocabulary) {
    INGOT_ASSIGN(const gguf::Array* array, file.get_array(kMergesKey));
    const auto* merges = std::get_if<std::vector<std::string_view>>(&array->items);
    if (merges == nullptr) {
        return fail(ErrorKind::kCorrupt, "{}: '{}' must be an array of strings", file.path(), kMergesKey);
    }
    rules_.reserve(merges->size());
    rules_by_pair_.reset(merges->size());
    std::string joined;
    for (const std::string_view merge : *merges) {
        // The first text may be a space itself where merges are on characters.
        const size_t space = merge.find(' ', 1);
        if (space == std::string_view::npos || space + 1 == merge.size()) {
            return fail(ErrorKind::kCorrupt,
                        "{}: '{}' entry {} is {}, not two texts with a space between them", file.path(),
                        kMergesKey, rules_.size(), quoted(merge));
        }
        const std::string_view left = merge.substr(0, space);
        const std::string_view right = merge.substr(space + 1);
        joined.assign(left);
        joined += right;
        const auto rank = static_cast<uint32_t>(rules_.size());
        rules_.push_back({intern(vocabulary, left), intern(vocabulary, right), intern(vocabulary, joined)});
        const Rule& rule = rules_.back();
        // Of equal pairs the first one counts.
        rules_by_pair_.insert(pair_hash(rule.left, rule.right), rank, [&](uint32_t other) {
            return rules_[other].left == rule.left && rules_[other].right == rule.right;
        });
    }
    return {};
}

uint32_t Bpe::intern(const Vocabulary& vocabulary, std::string_view text) {
    const TokenId id = vocabulary.find_ordinary(text);
    if (id != kNoToken) return static_cast<uint32_t>(id);
    const auto next = static_cast<uint32_t>(vocabulary.size() + extra_symbols_.size());
    return extra_symbols_.try_emplace(std::string(text), next).first->second;
}

uint32_t Bpe::find_symbol(const Vocabulary& vocabulary, std::string_view text) const {
    const TokenId id = vocabulary.find_ordinary(text);
    if (id != kNoToken) return static_cast<uint32_t>(id);
    if (extra_symbols_.empty()) return Symbol::kUnknown;
    const auto found = extra_symbols_.find(std::string(text));
    return found == extra_symbols_.end() ? Symbol::kUnknown : found->second;
}

Merge Bpe::find_merge(const Symbol& left, const Symbol& right) const {
    const uint32_t rank = rules_by_pair_.find(pair_hash(left.id, right.id), [&](uint32_t other) {
        return rules_[other].left == left.id && rules_[other].right == right.id;
    });
    return rank == ProbeTable::kNone ? Merge{} : Merge{rules_[rank].result, rank};
}

Result<void> Bpe::encode(const Vocabulary& vocabulary, std::string_view text, std::vector<TokenId>& ids,
                         EncodeWork& work) const {
    const std::string marked = row().on_characters ? mark_spaces(text) : std::string();
    if (row().on_characters) text = marked;
    std::vector<std::string_view> words;
    INGOT_TRY(pre_.split(text, words));
    work.words += words.size();
    Merger merger;
    for (const std::string_view word : words) {
        const TokenId whole = find_whole(vocabulary, word);
        if (whole != kNoToken) {
            ids.push_back(whole);
        } else if (row().on_characters) {
            Result<void> done;
            joints_.split(word, [&](std::string_view stretch) {
                if (done) done = encode_word(vocabulary, stretch, merger, ids, work);
            });
            INGOT_TRY(std::move(done));
        } else {
            INGOT_TRY(encode_word(vocabulary, word, merger, ids, work));
        }
    }
    return {};
}

TokenId Bpe::find_whole(const Vocabulary& vocabulary, std::string_view word) const {
    const WholeWords which = row().whole_words;
    if (which == WholeWords::kNone || word.size() > vocabulary.longest_text()) return kNoToken;
    if (which == WholeWords::kNewlines && !is_newlines(word)) return kNoToken;
    return vocabulary.find_ordinary(row().on_characters ? std::string(word) : to_byte_alphabet(word));
}

Result<void> Bpe::encode_word(const Vocabulary& vocabulary, std::string_view word, Merger& merger,
                              std::vector<TokenId>& ids, EncodeWork& work) const {
    merger.clear();
    for (uint32_t at = 0; at < word.size();) {
        const auto length = row().on_characters ? static_cast<uint32_t>(utf8_length(word[at])) : 1;
        merger.add(at, length,
                   row().on_characters ? find_symbol(vocabulary, word.substr(at, length))
                                       : byte_symbols_[static_cast<unsigned char>(word[at])]);
        at += length;
    }
    merger.run([this](const Symbol& left, const Symbol& right) { return find_merge(left, right); }, work);
    Result<void> done;
    merger.for_each([&](const Symbol& symbol) {
        if (symbol.id < vocabulary.size()) {
            ids.push_back(static_cast<TokenId>(symbol.id));
        } else if (done) {
            done = append_bytes(word.substr(symbol.begin, symbol.size), ids);
        }
    });
    return done;
}

Result<void> Bpe::append_bytes(std::string_view bytes, std::vector<TokenId>& ids) const {
    for (const char byte : bytes) {
        const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
        if (id == kNoToken) {
            return fail(ErrorKind::kInvalidArgument,
                        "the vocabulary has no token for byte 0x{:02X} of the text",
                        static_cast<unsigned char>(byte));
        }
        ids.push_back(id);
    }
    return {};
}

std::string Bpe::piece(std::string_view token_text) const {
    if (row().on_characters) return unmark_spaces(token_text);
    return from_byte_alphabet(token_text).value_or(std::string(token_text));
}

}  // namespace ingot
