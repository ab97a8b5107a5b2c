// What the name of a token says about it. A GGUF file marks few tokens as ends of a generation, and some
// control tokens as plain ones; the names that models use for them are known, so this table completes the
// file.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ingot {

enum class TokenRole : uint8_t {
    kEnd,           // ends a generation; a control token
    kEndIfSpecial,  // the same, unless the file calls it a normal token
    kControl,       // a control token
    kVisible,       // part of the answer's own structure: shown like text, never an end
    kPlain,         // what the file says, and not an end
};

struct NamedRole {
    std::string_view name;
    TokenRole role;
};

// Rules that hold in vocabularies which contain all tokens of `if_present`; they win over those that hold in
// any.
struct ConditionalRole {
    std::string_view if_present[3];  // unused ones are empty
    NamedRole then;
};

std::span<const NamedRole> named_roles();
std::span<const ConditionalRole> conditional_roles();

}  // namespace ingot
