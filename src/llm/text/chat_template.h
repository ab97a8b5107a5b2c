// A model's own chat template: the subset of Jinja that real templates use, interpreted with limits on steps,
// depth and output. Never falls back to another format: what can't be parsed or rendered is an Error with
// line and column.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "llm/text/chat_template_limits.h"

namespace ingot {

class ChatTemplate {
  public:
    // Source as in tokenizer.chat_template. Error: kCorrupt with line and column.
    static Result<ChatTemplate> parse(std::string_view source, ChatTemplateLimits limits = {});

    ChatTemplate(ChatTemplate&&) noexcept;
    ChatTemplate& operator=(ChatTemplate&&) noexcept;
    ~ChatTemplate();

    // `variables` is the object of top-level names: messages, tools, add_generation_prompt, bos_token,
    // eos_token,
    // ... as Hugging Face transformers passes them. `now` is the local time that strftime_now prints; absent:
    // the clock's. Errors carry line and column: kInvalidArgument for what Python would raise
    // (raise_exception in the template too, with its message), kUnsupported for a construct that isn't
    // served, kLimit.
    Result<std::string> render(const nlohmann::ordered_json& variables,
                               std::optional<std::tm> now = {}) const;

  private:
    struct Impl;
    explicit ChatTemplate(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace ingot
