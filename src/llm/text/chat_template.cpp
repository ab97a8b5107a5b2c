#include "llm/text/chat_template.h"

#include <nlohmann/json.hpp>

#include "base/quoted.h"
#include "llm/text/jinja/interpreter.h"
#include "llm/text/jinja/json.h"
#include "llm/text/jinja/parser.h"

namespace ingot {
namespace {

// A template's words may come from a model file, and its messages from a template.
Failure failure(Error error) {
    constexpr size_t kLongestMessage = 1000;
    error.message = printable(error.message, kLongestMessage);
    return Failure(with_context(std::move(error), "chat template"));
}

}  // namespace

struct ChatTemplate::Impl {
    jinja::Body body;
    ChatTemplateLimits limits;
};

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, ChatTemplateLimits limits) {
    auto body = jinja::parse(source, limits.max_depth);
    if (!body) return failure(std::move(body).error());
    return ChatTemplate(std::make_unique<Impl>(Impl{*std::move(body), limits}));
}

Result<std::string> ChatTemplate::render(const nlohmann::ordered_json& variables,
                                         std::optional<std::tm> now) const {
    if (!variables.is_object()) {
        return fail(ErrorKind::kInvalidArgument,
                    "the variables of a chat template must be a JSON object, not {}", variables.type_name());
    }
    if (!now) {
        const std::time_t seconds = std::time(nullptr);
        now.emplace();
        localtime_r(&seconds, &*now);
    }
    jinja::Heap heap(impl_->limits);
    const auto render_now = [&]() -> Result<std::string> {
        INGOT_ASSIGN(const jinja::Value names, jinja::from_json(heap, variables));
        return jinja::Interpreter(heap, *now).render(impl_->body, names);
    };
    auto text = render_now();
    if (!text) return failure(std::move(text).error());
    return text;
}

}  // namespace ingot
