// A conversation with a model: its messages, the prompt that the model's template makes of them, and what of
// that prompt the KV cache holds already. The whole prompt is rendered and tokenized anew each turn and
// compared with the cached tokens, so the result is right whatever the template does to earlier turns (many
// drop their thinking); what stayed the same is not evaluated again. Runs no model: llm/engine/chat.h does.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "llm/text/chat_template.h"
#include "llm/text/tokenizer.h"

namespace ingot {

struct ChatMessage {
    std::string role, content;
};

// What brings a KV cache to hold a prompt: forget all tokens from `keep` on, then evaluate `delta` (never
// empty).
struct Prefill {
    uint32_t keep = 0;
    std::vector<TokenId> delta;
};

class ChatSession {
  public:
    // Text to ids, special tokens included; BOS as the vocabulary wants it.
    using Encode = std::function<Result<std::vector<TokenId>>(std::string_view)>;

    // `variables` are the template's top-level names besides messages and add_generation_prompt.
    ChatSession(ChatTemplate chat_template, nlohmann::ordered_json variables, Encode encode);

    // The first message of every prompt; empty: none. Takes effect with the next prompt.
    void set_system(std::string text) { system_ = std::move(text); }
    const std::string& system() const { return system_; }
    const std::vector<ChatMessage>& messages() const { return messages_; }  // without the system message

    void add_user(std::string text) { messages_.push_back({"user", std::move(text)}); }
    void add_assistant(std::string text) { messages_.push_back({"assistant", std::move(text)}); }
    // Forgets the messages; the cached tokens are still known, so that a common start is used again.
    void clear() { messages_.clear(); }
    // Takes back the last answer, so that its question can be answered again. False if nothing was asked yet.
    bool take_back_answer();
    // Back to what messages() was before a turn that came to nothing.
    void restore(std::vector<ChatMessage> messages) { messages_ = std::move(messages); }

    // The system message and the others as text for a later process, and back. kCorrupt for any other text.
    std::string saved() const;
    Result<void> restore_saved(std::string_view text);
    // The cache holds these tokens, however they came there.
    void set_cached(std::vector<TokenId> tokens) { cached_ = std::move(tokens); }

    // The prompt for the next answer.
    Result<std::string> prompt() const;
    // How to get that prompt into a cache of `context` cells. kLimit if it leaves no cell for an answer:
    // nothing is dropped from a conversation without being asked.
    Result<Prefill> prefill(uint32_t context) const;

    // To be called after a prefill and what was generated after it: the cache now holds the first `held` of
    // (kept tokens, delta, generated).
    void cached(const Prefill& prefill, std::span<const TokenId> generated, uint32_t held);
    const std::vector<TokenId>& cached_tokens() const { return cached_; }

  private:
    ChatTemplate template_;
    nlohmann::ordered_json variables_;
    Encode encode_;
    std::string system_;
    std::vector<ChatMessage> messages_;
    std::vector<TokenId> cached_;
};

}  // namespace ingot
