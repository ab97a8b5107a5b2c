#include "llm/text/spm.h"

#include <bit>

#include "llm/text/space_mark.h"

namespace ingot {
namespace {

// Orders like the score, the best first.
uint32_t priority_of(float score) {
    const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // one zero, not two
    const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return ~ascending;
}

uint32_t symbol_of(TokenId id) {
    return id == kNoToken ? Symbol::kUnknown : static_cast<uint32_t>(id);
}

}  // namespace

Result<Spm> Spm::create(const Vocabulary& vocabulary) {
    if (!vocabulary.has_scores()) {
        return fail(ErrorKind::kCorrupt,
                    "a SentencePiece vocabulary needs tokenizer.ggml.scores, there are none");
    }
    Spm spm;
    for (TokenId id = 0; id < static_cast<TokenId>(vocabulary.size()); ++id) {
        if (vocabulary.is_ordinary(id)) spm.joints_.learn(vocabulary.text(id));
    }
    for (size_t byte = 0; byte < 256; ++byte) {
        spm.byte_ids_[byte] = vocabulary.find_byte(static_cast<unsigned char>(byte));
    }
    return spm;
}

Result<void> Spm::encode(const Vocabulary& vocabulary, std::string_view text, std::vector<TokenId>& ids,
                         EncodeWork& work) const {
    const std::string marked = mark_spaces(text);
    Merger merger;
    Result<void> done;
    joints_.split(marked, [&](std::string_view stretch) {
        ++work.words;
        if (done) done = encode_stretch(vocabulary, stretch, merger, ids, work);
    });
    return done;
}

Result<void> Spm::encode_stretch(const Vocabulary& vocabulary, std::string_view text, Merger& merger,
                                 std::vector<TokenId>& ids, EncodeWork& work) const {
    merger.clear();
    for (uint32_t at = 0; at < text.size();) {
        const auto length = static_cast<uint32_t>(utf8_length(text[at]));
        merger.add(at, length, symbol_of(vocabulary.find_ordinary(text.substr(at, length))));
        at += length;
    }
    merger.run(
        [&](const Symbol& left, const Symbol& right) {
            const TokenId id = vocabulary.find_ordinary(text.substr(left.begin, left.size + right.size));
            return id == kNoToken ? Merge{} : Merge{symbol_of(id), priority_of(vocabulary.score(id))};
        },
        work);
    Result<void> done;
    merger.for_each([&](const Symbol& symbol) {
        if (symbol.id != Symbol::kUnknown) {
            ids.push_back(static_cast<TokenId>(symbol.id));
        } else if (done) {
            done = append_bytes(vocabulary, text.substr(symbol.begin, symbol.size), ids);
        }
    });
    return done;
}

Result<void> Spm::append_bytes(const Vocabulary& vocabulary, std::string_view character,
                               std::vector<TokenId>& ids) const {
    bool complete = true;
    for (const char byte : character)
        complete = complete && byte_ids_[static_cast<unsigned char>(byte)] != kNoToken;
    if (complete) {
        for (const char byte : character) ids.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
        return {};
    }
    if (vocabulary.unknown() == kNoToken) {
        return fail(ErrorKind::kInvalidArgument,
                    "the vocabulary has no token for '{}' of the text, no byte tokens and no unknown token",
                    character);
    }
    ids.push_back(vocabulary.unknown());
    return {};
}

}  // namespace ingot
