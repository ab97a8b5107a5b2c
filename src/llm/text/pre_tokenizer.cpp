#include "llm/text/pre_tokenizer.h"

#include <string>

#include "base/quoted.h"

namespace ingot {
namespace {

// Each pattern list states how the vocabularies that carry its names were trained (tokenizer.json of the
// models). Two things differ from there: case-blind endings are spelt out, so that they stay ASCII, and a
// pattern that PCRE2 would run in quadratic time is written in an equivalent linear form.

// clang-format off
#define INGOT_ENDINGS R"('(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE]))"
#define INGOT_SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
// A word of the GPT-4o family: upper case, then lower case, either of them optional.
#define INGOT_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define INGOT_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define INGOT_LEAD R"([^\r\n\p{L}\p{N}]?)"
// Chinese characters and Japanese kana.
#define INGOT_HAN_KANA R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)"
// Chinese, every script from U+0800 to it, and Korean.
#define INGOT_HAN_HANGUL R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)"
#define INGOT_GPT2 R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"

constexpr std::string_view kGpt2[] = {INGOT_GPT2};
constexpr std::string_view kDigitsGpt2[] = {R"(\p{N})", INGOT_GPT2};
constexpr std::string_view kFalcon[] = {R"([\p{P}$+<=>^~|`]+)", INGOT_GPT2, "[0-9][0-9][0-9]"};
constexpr std::string_view kDefault[] = {R"([\p{P}$+<=>^~|]+)", INGOT_GPT2, R"(\p{N}+)", "[0-9][0-9][0-9]"};
constexpr std::string_view kLlama3[] = {
    INGOT_ENDINGS "|" INGOT_LEAD R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" INGOT_SPACES};
constexpr std::string_view kJais2[] = {
    INGOT_ENDINGS "|" INGOT_LEAD R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|(?<![^\S\r\n])\s*[\r\n]+)"
    R"(|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S))"
    R"(|\s{1,2}(?!\S)|\s)"};
constexpr std::string_view kMiniCpm5[] = {
    R"(\p{N}{1,3})",
    INGOT_ENDINGS "|" INGOT_LEAD R"(\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|)" INGOT_SPACES};
constexpr std::string_view kQwen2[] = {
    INGOT_ENDINGS "|" INGOT_LEAD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" INGOT_SPACES};
// Marks belong to the letters before them.
constexpr std::string_view kQwen35[] = {
    INGOT_ENDINGS "|" INGOT_LEAD R"([\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" INGOT_SPACES};
constexpr std::string_view kLaguna[] = {R"([^\n]+|\n+)", kQwen2[0]};
constexpr std::string_view kUfakzeka[] = {
    INGOT_LEAD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" INGOT_SPACES};
constexpr std::string_view kSeedCoder[] = {
    INGOT_ENDINGS "|" INGOT_LEAD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" INGOT_SPACES};
constexpr std::string_view kBailingMoe[] = {
    INGOT_ENDINGS "|" INGOT_LEAD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"};
constexpr std::string_view kExaoneMoe[] = {
    INGOT_ENDINGS "|" INGOT_LEAD R"((?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"};
constexpr std::string_view kGpt4o[] = {
    INGOT_LEAD INGOT_UPPER "*" INGOT_LOWER "+(?:" INGOT_ENDINGS ")?|"
    INGOT_LEAD INGOT_UPPER "+" INGOT_LOWER "*(?:" INGOT_ENDINGS ")?|"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" INGOT_SPACES};
constexpr std::string_view kTekken[] = {
    INGOT_LEAD INGOT_UPPER "*" INGOT_LOWER "+|" INGOT_LEAD INGOT_UPPER "+" INGOT_LOWER "*|"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" INGOT_SPACES};
constexpr std::string_view kYoutu[] = {
    R"([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+|[\x{ff01}\x{2026}\x{201c}\x{201d}\x{2018}\x{2019}\x{2014}\x{ff1a})"
    R"(\x{ff1b}\x{ff0c}\x{3001}-\x{303f}\x{fe30}-\x{fe4f}]+|[\x{3105}-\x{312f}]+|)" INGOT_HAN_KANA,
    INGOT_LEAD INGOT_UPPER "*" INGOT_LOWER "+(?:" INGOT_ENDINGS ")?|"
    INGOT_LEAD INGOT_UPPER "+" INGOT_LOWER "*(?:" INGOT_ENDINGS ")?|"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" INGOT_SPACES};
// Cased letters without some blocks: Armenian small ligatures, Georgian, newer Cyrillic and Latin, Vithkuqi,
// Medefaidrin, mathematical letters. The space at the end of a stretch is one word; the look-behind only keeps
// a long run of spaces from being tried once for each of them.
constexpr std::string_view kDeepseekLlm[] = {
    R"([\r\n])",
    R"(\s?[^\P{L&}\x{560}-\x{588}\x{10c7}-\x{10ff}\x{1c80}-\x{1c88}\x{2d00}-\x{2d2d}\x{a790}-\x{a7fa})"
    R"(\x{ab30}-\x{ab68}\x{10570}-\x{105bc}\x{16e40}-\x{1df1e}]+)",
    R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)",
    R"((?<!\s)\s+$)",
    INGOT_HAN_HANGUL,
    R"(\p{N}+)"};
constexpr std::string_view kDeepseekCoder[] = {
    R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", INGOT_HAN_HANGUL, R"(\p{N})"};
constexpr std::string_view kDeepseekV3[] = {
    R"(\p{N}{1,3})",
    INGOT_HAN_KANA,
    R"([!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" INGOT_SPACES};
constexpr std::string_view kSpark[] = {
    R"(\p{N}{1,3})",
    INGOT_HAN_KANA,
    R"([!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)",
    R"(\p{N})"};
// Words up to a sentence's punctuation: Latin, Chinese, Devanagari, Arabic.
constexpr std::string_view kBloom[] = {
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)"};
constexpr std::string_view kViking[] = {kBloom[0], R"(\p{N})"};
constexpr std::string_view kLines[] = {R"([^\n]+|\n+)"};

// Not here: names whose tokenizer isn't byte-pair encoding with merges, or adds tokens in ways of its own.
using enum WholeWords;

constexpr PreTokenizerRow kRows[] = {
    {"default", kDefault},
    {"gpt-2", kGpt2},
    {"phi-2", kGpt2},
    {"mpt", kGpt2},
    {"olmo", kGpt2},
    {"jais", kGpt2},
    {"exaone4", kGpt2},
    {"trillion", kGpt2},
    {"gigachat", kGpt2},
    {"a.x-4.0", kGpt2},
    {"mellum", kGpt2},
    {"granite-docling", kGpt2},
    {"modern-bert", kGpt2},
    {"jina-es", kGpt2},
    {"jina-de", kGpt2},
    {"jina-v2-es", kGpt2},
    {"jina-v2-de", kGpt2},
    {"starcoder", kDigitsGpt2},
    {"refact", kDigitsGpt2},
    {"command-r", kDigitsGpt2},
    {"smollm", kDigitsGpt2},
    {"codeshell", kDigitsGpt2},
    {"exaone", kDigitsGpt2},
    {"minerva-7b", kDigitsGpt2},
    {"mellum2", kDigitsGpt2},
    {"falcon", kFalcon},
    {"llama-bpe", kLlama3, kAll, true},
    {"llama3", kLlama3, kAll, true},
    {"llama-v3", kLlama3, kAll, true},
    {"falcon3", kLlama3, kAll, true},
    {"falcon-h1", kLlama3, kAll, true},
    {"pixtral", kLlama3, kAll, true},
    {"midm-2.0", kLlama3, kAll, true},
    {"lfm2", kLlama3, kAll, true},
    {"dbrx", kLlama3},
    {"smaug-bpe", kLlama3},
    {"chatglm-bpe", kLlama3},
    {"glm4", kLlama3, kAll},
    {"glm5", kLlama3, kAll},
    {"jais-2", kJais2},
    {"minicpm5", kMiniCpm5, kAll},
    {"qwen2", kQwen2},
    {"deepseek-r1-qwen", kQwen2},
    {"stablelm2", kQwen2},
    {"hunyuan", kQwen2},
    {"solar-open", kQwen2},
    {"megrez", kQwen2},
    {"kormo", kQwen2},
    {"f2llmv2", kQwen2},
    {"grok-2", kQwen2},
    {"qwen35", kQwen35},
    {"laguna", kLaguna},
    {"ufakzeka", kUfakzeka},
    {"seed-coder", kSeedCoder},
    {"bailingmoe", kBailingMoe},
    {"bailingmoe2", kBailingMoe},
    {"llada-moe", kBailingMoe},
    {"exaone-moe", kExaoneMoe},
    {"gpt-4o", kGpt4o},
    {"llama4", kGpt4o},
    {"kanana2", kGpt4o},
    {"minimax-m2", kGpt4o},
    {"tekken", kTekken, kAll, true},
    {"youtu", kYoutu, kAll},
    {"deepseek-llm", kDeepseekLlm},
    {"deepseek-coder", kDeepseekCoder},
    {"deepseek-v3", kDeepseekV3},
    {"hunyuan-dense", kDeepseekV3},
    {"hy_v4", kDeepseekV3},
    {"joyai-llm", kDeepseekV3},
    {"spark2_5", kSpark},
    {"bloom", kBloom},
    {"gpt3-finnish", kBloom},
    {"poro-chat", kBloom},
    {"viking", kViking},
    {"gemma4", kLines, kNewlines, true, true},
};
// clang-format on

}  // namespace

std::span<const PreTokenizerRow> pre_tokenizer_rows() {
    return kRows;
}

Result<PreTokenizer> PreTokenizer::create(std::string_view name) {
    for (const PreTokenizerRow& row : kRows) {
        if (row.name != name) continue;
        std::vector<Regex> steps;
        for (const std::string_view pattern : row.patterns) {
            INGOT_ASSIGN(Regex step, Regex::compile(pattern));
            steps.push_back(std::move(step));
        }
        return PreTokenizer(&row, std::move(steps));
    }
    std::string known;
    for (const PreTokenizerRow& row : kRows)
        known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    return fail(ErrorKind::kUnsupported, "pre-tokenizer {} isn't supported; these are: {}", quoted(name),
                known);
}

Result<void> PreTokenizer::split(std::string_view text, std::vector<std::string_view>& words) const {
    if (steps_.size() == 1) return steps_[0].split(text, words);
    std::vector<std::string_view> pieces = {text};
    std::vector<std::string_view> cut;
    for (const Regex& step : steps_) {
        cut.clear();
        for (const std::string_view piece : pieces) INGOT_TRY(step.split(piece, cut));
        pieces.swap(cut);
    }
    words.insert(words.end(), pieces.begin(), pieces.end());
    return {};
}

}  // namespace ingot
