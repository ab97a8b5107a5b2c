#include "llm/text/token_roles.h"

namespace ingot {
namespace {

using enum TokenRole;

constexpr NamedRole kNamedRoles[] = {
    // End of a turn, a message or a text.
    {"<|eot_id|>", kEnd},
    {"<|eom_id|>", kEnd},
    {"<|im_end|>", kEnd},
    {"<|end|>", kEnd},
    {"<|return|>", kEnd},
    {"<|call|>", kEnd},
    {"<|calls|>", kEnd},
    {"<|flush|>", kEnd},
    {"<end_of_turn>", kEnd},
    {"<turn|>", kEnd},
    {"<|tool_response>", kEnd},
    {"<|endoftext|>", kEnd},
    {"<|end_of_text|>", kEnd},
    {"<end_of_utterance>", kEnd},
    {"<｜end▁of▁sentence｜>", kEnd},
    {"<EOT>", kEnd},
    {"_<EOT>", kEnd},
    {"[EOT]", kEnd},
    {"[EOS]", kEnd},
    {"<eos>", kEnd},
    {"</s>", kEndIfSpecial},
    {"[e~[", kEnd},
    // Code models: padding and the borders of files and repositories end a completion too.
    {"<|fim_pad|>", kEnd},
    {"<fim-pad>", kEnd},
    {"<fim_pad>", kEnd},
    {"<PAD>", kEnd},
    {"[PAD]", kEnd},
    {"<|fim_repo|>", kEnd},
    {"<|repo_name|>", kEnd},
    {"<fim-repo>", kEnd},
    {"<REPO>", kEnd},
    {"<reponame>", kEnd},
    {"<|file_sep|>", kEnd},
    // The parts of a fill-in-the-middle prompt.
    {"<|fim_prefix|>", kControl},
    {"<fim-prefix>", kControl},
    {"<fim_prefix>", kControl},
    {"<｜fim▁begin｜>", kControl},
    {"<PRE>", kControl},
    {"▁<PRE>", kControl},
    {"<|code_prefix|>", kControl},
    {"<|prefix|>", kControl},
    {"<|fim_suffix|>", kControl},
    {"<fim-suffix>", kControl},
    {"<fim_suffix>", kControl},
    {"<｜fim▁hole｜>", kControl},
    {"<SUF>", kControl},
    {"▁<SUF>", kControl},
    {"<|code_suffix|>", kControl},
    {"<|suffix|>", kControl},
    {"<|fim_middle|>", kControl},
    {"<fim-middle>", kControl},
    {"<fim_middle>", kControl},
    {"<｜fim▁end｜>", kControl},
    {"<MID>", kControl},
    {"▁<MID>", kControl},
    {"<|code_middle|>", kControl},
    {"<|middle|>", kControl},
    // The frame of a message with channels.
    {"<|channel|>", kVisible},
    {"<|message|>", kVisible},
    {"<|start|>", kVisible},
    {"<|constrain|>", kVisible},
};

constexpr ConditionalRole kConditionalRoles[] = {
    // With channels, "<|end|>" only closes one message of several.
    {{"<|return|>", "<|call|>", ""}, {"<|end|>", kVisible}},
    {{"<|calls|>", "<|flush|>", ""}, {"<|end|>", kVisible}},
    // There "</s>" is the tag of struck-out text.
    {{"<end_of_turn>", "<s>", ""}, {"</s>", kPlain}},
    {{"<|tool_response>", "", ""}, {"</s>", kPlain}},
    {{"<|plamo:eos|>", "", ""}, {"</s>", kPlain}},
};

}  // namespace

std::span<const NamedRole> named_roles() {
    return kNamedRoles;
}
std::span<const ConditionalRole> conditional_roles() {
    return kConditionalRoles;
}

}  // namespace ingot
