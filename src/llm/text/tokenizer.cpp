#include "llm/text/tokenizer.h"

#include <optional>
#include <variant>

#include "base/quoted.h"
#include "llm/text/bpe.h"
#include "llm/text/space_mark.h"
#include "llm/text/special_tokens.h"
#include "llm/text/spm.h"
#include "llm/text/utf8.h"
#include "llm/text/vocabulary.h"

namespace ingot {
namespace {

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kPreKey = "tokenizer.ggml.pre";

enum class Algorithm { kBpe, kSpm, kUnsupported };

struct ModelRow {
    std::string_view name;  // tokenizer.ggml.model
    Algorithm algorithm;
    std::string_view pre;   // the pre-tokenizer, where it isn't tokenizer.ggml.pre that names it
    std::string_view what;  // of an unsupported one
};

constexpr ModelRow kModels[] = {
    {"gpt2", Algorithm::kBpe, "", ""},
    {"gemma4", Algorithm::kBpe, "gemma4", ""},
    {"llama", Algorithm::kSpm, "", ""},
    {"bert", Algorithm::kUnsupported, "", "WordPiece"},
    {"t5", Algorithm::kUnsupported, "", "SentencePiece unigram"},
    {"rwkv", Algorithm::kUnsupported, "", "RWKV"},
    {"plamo2", Algorithm::kUnsupported, "", "PLaMo-2"},
};

std::string supported_models() {
    std::string names;
    for (const ModelRow& row : kModels) {
        if (row.algorithm == Algorithm::kUnsupported) continue;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
    }
    return names;
}

Result<const ModelRow*> find_model(const gguf::File& file) {
    INGOT_ASSIGN(const std::string_view name, file.get_string(kModelKey));
    if (name == "none" || name == "no_vocab") {
        return fail(ErrorKind::kUnsupported,
                    "{}: the file holds no vocabulary ({} is '{}'), so text can't be tokenized with it",
                    file.path(), kModelKey, name);
    }
    for (const ModelRow& row : kModels) {
        if (row.name != name) continue;
        if (row.algorithm != Algorithm::kUnsupported) return &row;
        return fail(ErrorKind::kUnsupported, "{}: tokenizer model '{}' ({}) isn't supported; these are: {}",
                    file.path(), row.name, row.what, supported_models());
    }
    return fail(ErrorKind::kUnsupported, "{}: tokenizer model {} isn't known; these are supported: {}",
                file.path(), quoted(name), supported_models());
}

Result<Bpe> load_bpe(const gguf::File& file, const ModelRow& model, const Vocabulary& vocabulary) {
    std::string_view name = model.pre;
    if (name.empty()) {
        if (file.find(kPreKey) == nullptr) {
            return fail(
                ErrorKind::kUnsupported,
                "{}: '{}' is missing, so it isn't known how the vocabulary cuts text into words; convert the "
                "model again with a converter that writes it",
                file.path(), kPreKey);
        }
        INGOT_ASSIGN(name, file.get_string(kPreKey));
    }
    auto pre = PreTokenizer::create(name);
    if (!pre) return Failure(with_context(std::move(pre).error(), file.path()));
    return Bpe::from_gguf(file, vocabulary, *std::move(pre));
}

}  // namespace

struct Tokenizer::Impl {
    Vocabulary vocabulary;
    SpecialTokens special_tokens;
    std::variant<Bpe, Spm> algorithm;
    bool adds_bos = false;
    bool adds_eos = false;
    bool adds_space_prefix = false;
    std::string pieces;
    std::vector<uint32_t> piece_offsets;  // [vocabulary size + 1]

    void fill_pieces();
    std::string piece_of(TokenId id) const;
    Result<void> encode_text(std::string_view text, bool after_special, std::vector<TokenId>& ids,
                             EncodeWork& work) const;
    bool is_special(TokenId id) const {
        return vocabulary.is_named(id) || vocabulary.kind(id) == TokenKind::kUserDefined;
    }
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::from_gguf(const gguf::File& file) {
    INGOT_ASSIGN(const ModelRow* model, find_model(file));
    INGOT_ASSIGN(Vocabulary vocabulary, Vocabulary::from_gguf(file));
    const bool is_spm = model->algorithm == Algorithm::kSpm;
    bool adds_bos = is_spm;
    std::optional<std::variant<Bpe, Spm>> algorithm;
    if (is_spm) {
        auto spm = Spm::create(vocabulary);
        if (!spm) return Failure(with_context(std::move(spm).error(), file.path()));
        algorithm = *std::move(spm);
    } else {
        INGOT_ASSIGN(Bpe bpe, load_bpe(file, *model, vocabulary));
        adds_bos = bpe.row().adds_bos;
        algorithm = std::move(bpe);
    }
    SpecialTokens special_tokens(vocabulary, StripRules::from_gguf(file, vocabulary));
    auto impl = std::make_unique<Impl>(
        Impl{std::move(vocabulary), std::move(special_tokens), *std::move(algorithm), {}, {}, {}, {}, {}});
    INGOT_ASSIGN(impl->adds_bos, file.get_bool("tokenizer.ggml.add_bos_token", adds_bos));
    INGOT_ASSIGN(impl->adds_eos, file.get_bool("tokenizer.ggml.add_eos_token", false));
    INGOT_ASSIGN(impl->adds_space_prefix, file.get_bool("tokenizer.ggml.add_space_prefix", true));
    impl->adds_space_prefix = impl->adds_space_prefix && is_spm;
    if (impl->adds_bos && impl->vocabulary.bos() == kNoToken) {
        return fail(ErrorKind::kCorrupt,
                    "{}: texts begin with BOS here, but tokenizer.ggml.bos_token_id is missing", file.path());
    }
    if (impl->adds_eos && impl->vocabulary.eos() == kNoToken) {
        return fail(ErrorKind::kCorrupt,
                    "{}: texts end with EOS here, but tokenizer.ggml.eos_token_id is missing", file.path());
    }
    impl->fill_pieces();
    return Tokenizer(std::move(impl));
}

void Tokenizer::Impl::fill_pieces() {
    piece_offsets.reserve(vocabulary.size() + 1);
    piece_offsets.push_back(0);
    for (TokenId id = 0; id < static_cast<TokenId>(vocabulary.size()); ++id) {
        pieces += piece_of(id);
        piece_offsets.push_back(static_cast<uint32_t>(pieces.size()));
    }
}

std::string Tokenizer::Impl::piece_of(TokenId id) const {
    const std::string_view text = vocabulary.text(id);
    if (is_special(id)) return std::string(text);
    if (vocabulary.kind(id) == TokenKind::kByte) {
        const auto byte = byte_of_name(text);
        return byte ? std::string(1, static_cast<char>(*byte)) : std::string(text);
    }
    if (const Bpe* bpe = std::get_if<Bpe>(&algorithm)) return bpe->piece(text);
    return unmark_spaces(text);
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, EncodeOptions options,
                                               EncodeWork* work) const {
    if (const auto offset = find_invalid_utf8(text)) {
        return fail(ErrorKind::kInvalidArgument, "the text isn't valid UTF-8: byte {} of {} is 0x{:02X}",
                    *offset, text.size(), static_cast<unsigned char>(text[*offset]));
    }
    constexpr size_t kMaxTextBytes = 1u << 30;
    if (text.size() > kMaxTextBytes) {
        return fail(ErrorKind::kLimit, "the text has {} bytes, at most {} are accepted", text.size(),
                    kMaxTextBytes);
    }
    EncodeWork unwanted;
    EncodeWork& counted = work != nullptr ? *work : unwanted;
    const auto fragments =
        impl_->special_tokens.split(impl_->vocabulary, text, options.parse_special, counted);
    std::vector<TokenId> ids;
    const bool starts_with_bos = !fragments.empty() && fragments.front().token == bos();
    if (options.add_special && impl_->adds_bos && !starts_with_bos) ids.push_back(bos());
    bool after_special = true;
    for (const Fragment& fragment : fragments) {
        if (fragment.token != kNoToken) {
            ids.push_back(fragment.token);
        } else {
            INGOT_TRY(impl_->encode_text(fragment.text, after_special, ids, counted));
        }
        after_special = fragment.token != kNoToken;
    }
    const bool ends_with_eos = !fragments.empty() && fragments.back().token == eos();
    if (options.add_special && impl_->adds_eos && !ends_with_eos) ids.push_back(eos());
    return ids;
}

Result<void> Tokenizer::Impl::encode_text(std::string_view text, bool after_special,
                                          std::vector<TokenId>& ids, EncodeWork& work) const {
    if (const Bpe* bpe = std::get_if<Bpe>(&algorithm)) return bpe->encode(vocabulary, text, ids, work);
    const Spm& spm = std::get<Spm>(algorithm);
    if (!adds_space_prefix || !after_special) return spm.encode(vocabulary, text, ids, work);
    std::string prefixed(1, ' ');
    prefixed += text;
    return spm.encode(vocabulary, prefixed, ids, work);
}

std::string_view Tokenizer::piece(TokenId id, bool special) const {
    if (!impl_->vocabulary.contains(id)) return {};
    if (!special && impl_->vocabulary.is_named(id)) return {};
    const auto index = static_cast<size_t>(id);
    const size_t begin = impl_->piece_offsets[index];
    return std::string_view(impl_->pieces).substr(begin, impl_->piece_offsets[index + 1] - begin);
}

std::string Tokenizer::decode(const std::vector<TokenId>& ids, bool special) const {
    std::string text;
    bool after_special = true;
    for (const TokenId id : ids) {
        std::string_view bytes = piece(id, special);
        const bool is_special = impl_->vocabulary.contains(id) && impl_->is_special(id);
        // Encoding put a space in front of each stretch of text; it isn't part of it.
        if (impl_->adds_space_prefix && after_special && !is_special && bytes.starts_with(' '))
            bytes.remove_prefix(1);
        text += bytes;
        after_special = is_special;
    }
    return text;
}

uint32_t Tokenizer::vocab_size() const {
    return impl_->vocabulary.size();
}
TokenId Tokenizer::bos() const {
    return impl_->vocabulary.bos();
}
TokenId Tokenizer::eos() const {
    return impl_->vocabulary.eos();
}
bool Tokenizer::adds_bos() const {
    return impl_->adds_bos;
}
bool Tokenizer::is_end_of_generation(TokenId id) const {
    return impl_->vocabulary.is_end_of_generation(id);
}
bool Tokenizer::is_control(TokenId id) const {
    return impl_->vocabulary.contains(id) && impl_->vocabulary.is_named(id);
}
TokenId Tokenizer::find(std::string_view text) const {
    return impl_->vocabulary.find(text);
}

}  // namespace ingot
