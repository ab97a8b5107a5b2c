// Any bytes as a chat template, rendered over one conversation: an answer or an Error, within the limits.
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "llm/text/chat_template.h"

namespace {

const nlohmann::ordered_json& variables() {
    static const auto json = nlohmann::ordered_json::parse(R"({
        "messages": [{"role": "system", "content": "Be brief. \u00e9\u4f60"},
                     {"role": "user", "content": "Hi <there> & 'you'\n"},
                     {"role": "assistant", "content": null,
                      "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, 2.5, true, null]}}}]}],
        "tools": [{"name": "f", "items": {"x": "y"}}],
        "add_generation_prompt": true, "bos_token": "<s>", "n": 3, "text": "a b  c", "f": -0.5
    })");
    return json;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const ingot::ChatTemplateLimits limits{
        .max_steps = 20'000, .max_depth = 64, .max_output_bytes = 1 << 18, .max_heap_bytes = 8 << 20};
    const auto parsed = ingot::ChatTemplate::parse({reinterpret_cast<const char*>(data), size}, limits);
    if (!parsed) return 0;
    const auto text = parsed->render(variables());
    if (text && text->size() > limits.max_output_bytes) __builtin_trap();
    return 0;
}
