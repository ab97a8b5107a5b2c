// Chat turns on an engine: a session's prompt is brought into the KV cache by its difference, then answered.
// Knows no terminal; the conversation itself is llm/text/chat_session.h.
#pragma once

#include <string>

#include "llm/engine/engine.h"
#include "llm/engine/generate.h"
#include "llm/text/chat_session.h"

namespace ingot {

// The file's own template, or `source` if it isn't empty. Errors: kNotFound if there is neither; what
// ChatTemplate::parse refuses.
Result<ChatTemplate> load_chat_template(const gguf::File& file, std::string_view source = {});

// A session whose template sees the vocabulary's BOS and EOS and the names in `extra`. The tokenizer must
// outlive it.
ChatSession open_chat(ChatTemplate chat_template, const Tokenizer& tokenizer,
                      const nlohmann::ordered_json& extra = nlohmann::ordered_json::object());

// Answers the session's last message and adds the answer to the session. If no answer comes about (an error,
// or cancelled before the first text), the session's messages stay as they are.
Result<Generation> answer(Engine& engine, const Tokenizer& tokenizer, Sampler& sampler, ChatSession& session,
                          const GenerateOptions& options);

// A conversation in a session file (llm/kv/session.h), with what is cached of it.
Result<void> save_chat(Engine& engine, const ChatSession& session, const std::string& path);
// Errors: those of Engine::load_session; kInvalidArgument for a session that is no conversation.
Result<void> load_chat(Engine& engine, ChatSession& session, const std::string& path);

}  // namespace ingot
