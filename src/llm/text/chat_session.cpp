#include "llm/text/chat_session.h"

#include <algorithm>

namespace ingot {

ChatSession::ChatSession(ChatTemplate chat_template, nlohmann::ordered_json variables, Encode encode)
    : template_(std::move(chat_template)), variables_(std::move(variables)), encode_(std::move(encode)) {}

bool ChatSession::take_back_answer() {
    if (messages_.empty()) return false;
    if (messages_.back().role == "assistant") messages_.pop_back();
    return !messages_.empty();
}

std::string ChatSession::saved() const {
    nlohmann::ordered_json json = {{"system", system_}, {"messages", nlohmann::ordered_json::array()}};
    for (const ChatMessage& message : messages_)
        json["messages"].push_back({{"role", message.role}, {"content", message.content}});
    // An answer may end within a character.
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Result<void> ChatSession::restore_saved(std::string_view text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const auto is_text = [](const nlohmann::json& object, const char* name) {
        return object.is_object() && object.contains(name) && object[name].is_string();
    };
    bool good = is_text(json, "system") && json.contains("messages") && json["messages"].is_array();
    std::vector<ChatMessage> messages;
    for (size_t i = 0; good && i < json["messages"].size(); ++i) {
        const nlohmann::json& message = json["messages"][i];
        good = is_text(message, "role") && is_text(message, "content");
        if (good) messages.push_back({message["role"], message["content"]});
    }
    if (!good) return fail(ErrorKind::kCorrupt, "no conversation: '{}'", text.substr(0, 40));
    system_ = json["system"];
    messages_ = std::move(messages);
    return {};
}

Result<std::string> ChatSession::prompt() const {
    nlohmann::ordered_json variables = variables_;
    auto& messages = variables["messages"] = nlohmann::ordered_json::array();
    if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
    for (const ChatMessage& message : messages_) {
        messages.push_back({{"role", message.role}, {"content", message.content}});
    }
    variables["add_generation_prompt"] = true;
    return template_.render(variables);
}

Result<Prefill> ChatSession::prefill(uint32_t context) const {
    INGOT_ASSIGN(const std::string text, prompt());
    INGOT_ASSIGN(const std::vector<TokenId> tokens, encode_(text));
    if (tokens.empty()) return fail(ErrorKind::kInvalidArgument, "the chat template makes an empty prompt");
    if (tokens.size() >= context) {
        return fail(ErrorKind::kLimit,
                    "the conversation has {} tokens, which leaves no room for an answer in a context of {}",
                    tokens.size(), context);
    }
    const auto [stop, cached_stop] =
        std::mismatch(tokens.begin(), tokens.end(), cached_.begin(), cached_.end());
    // The last token is evaluated in any case, because its logits are needed.
    const auto keep = std::min<size_t>(static_cast<size_t>(stop - tokens.begin()), tokens.size() - 1);
    return Prefill{static_cast<uint32_t>(keep),
                   {tokens.begin() + static_cast<ptrdiff_t>(keep), tokens.end()}};
}

void ChatSession::cached(const Prefill& prefill, std::span<const TokenId> generated, uint32_t held) {
    cached_.resize(prefill.keep);
    cached_.insert(cached_.end(), prefill.delta.begin(), prefill.delta.end());
    cached_.insert(cached_.end(), generated.begin(), generated.end());
    cached_.resize(std::min<size_t>(cached_.size(), held));
}

}  // namespace ingot
