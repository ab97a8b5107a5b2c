#include "llm/engine/chat.h"

namespace ingot {
namespace {

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

// BOS is put in front by the vocabulary's rule unless the template has written it; EOS is never added,
// because the answer is to follow.
Result<std::vector<TokenId>> encode_prompt(const Tokenizer& tokenizer, std::string_view text) {
    INGOT_ASSIGN(std::vector<TokenId> ids,
                 tokenizer.encode(text, {.add_special = false, .parse_special = true}));
    const TokenId bos = tokenizer.bos();
    if (tokenizer.adds_bos() && bos >= 0 && (ids.empty() || ids.front() != bos)) ids.insert(ids.begin(), bos);
    return ids;
}

std::string token_text(const Tokenizer& tokenizer, TokenId id) {
    return id < 0 ? std::string() : std::string(tokenizer.piece(id, true));
}

}  // namespace

Result<ChatTemplate> load_chat_template(const gguf::File& file, std::string_view source) {
    if (!source.empty()) return ChatTemplate::parse(source);
    if (!file.find(kTemplateKey)) {
        return fail(
            ErrorKind::kNotFound,
            "the model has no chat template ({}); give one with --template FILE, or complete text with "
            "`ingot run`",
            kTemplateKey);
    }
    INGOT_ASSIGN(source, file.get_string(kTemplateKey));
    return ChatTemplate::parse(source);
}

ChatSession open_chat(ChatTemplate chat_template, const Tokenizer& tokenizer,
                      const nlohmann::ordered_json& extra) {
    nlohmann::ordered_json variables = {{"tools", nullptr},
                                        {"documents", nullptr},
                                        {"bos_token", token_text(tokenizer, tokenizer.bos())},
                                        {"eos_token", token_text(tokenizer, tokenizer.eos())}};
    variables.update(extra);
    return ChatSession(std::move(chat_template), std::move(variables),
                       [&tokenizer](std::string_view text) { return encode_prompt(tokenizer, text); });
}

Result<Generation> answer(Engine& engine, const Tokenizer& tokenizer, Sampler& sampler, ChatSession& session,
                          const GenerateOptions& options) {
    INGOT_ASSIGN(const Prefill prefill, session.prefill(engine.context()));
    engine.truncate(prefill.keep);
    auto generation = generate(engine, tokenizer, sampler, prefill.delta, options);
    session.cached(prefill, generation ? generation->tokens : std::vector<TokenId>(), engine.num_tokens());
    if (!generation) {  // whatever it said before it failed is in no conversation
        engine.truncate(uint32_t(session.cached_tokens().size()));
        return generation;
    }
    const bool given_up = generation->finish == FinishReason::kCancelled && generation->text.empty();
    if (!given_up) session.add_assistant(generation->text);
    return generation;
}

Result<void> save_chat(Engine& engine, const ChatSession& session, const std::string& path) {
    return engine.save_session(path, session.cached_tokens(), session.saved());
}

Result<void> load_chat(Engine& engine, ChatSession& session, const std::string& path) {
    INGOT_ASSIGN(Engine::SavedText saved, engine.load_session(path));
    if (!session.restore_saved(saved.note)) {
        engine.truncate(0);
        return fail(ErrorKind::kInvalidArgument, "'{}' is a session of a text, not of a conversation", path);
    }
    session.set_cached(std::move(saved.tokens));
    return {};
}

}  // namespace ingot
