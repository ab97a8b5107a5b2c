// The declarations of a Metal source: namespaces, classes, functions with their parts, explicit
// instantiations, and every [[attribute]]. Just enough structure for the rewriting passes: expressions and
// function bodies stay token ranges, types aren't resolved. A parser of shapes, not of C++: what it can't
// place is kOther up to its semicolon, and the compiler that reads the rewritten text has the last word on
// errors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "metal/msl/lexer.h"

namespace ingot::metal::msl {

constexpr size_t kNone = ~size_t{0};

enum class DeclarationKind : uint8_t { kNamespace, kClass, kEnum, kFunction, kInstantiation, kOther };

struct Declaration {
    DeclarationKind kind = DeclarationKind::kOther;
    Range range;                          // all of it, template headers and the final ";" or "}" included
    std::vector<Range> template_headers;  // "template <...>"
    size_t head = 0;                      // first token after template headers
    size_t name = kNone;                  // a token; the operator's symbol, "~" aside; kNone if unnamed
    Range parameters;                     // "( ... )" of a function
    Range qualifiers;                     // between the parameters and the body or the end
    Range body;                           // "{ ... }"; empty for a declaration
    size_t parent = kNone;                // enclosing namespace or class
};

// One entry of an attribute list: "buffer(2)" in [[buffer(2), function_constant(f)]].
struct Attribute {
    std::string_view name;
    Range arguments;  // between the parentheses
    size_t place = 0;
};

struct AttributeList {
    Range range;  // "[[" to "]]"
    std::vector<Attribute> attributes;
};

class Outline {
  public:
    // Errors: kCorrupt, kLimit (nesting).
    static Result<Outline> parse(const Tokens& tokens);

    const std::vector<Declaration>& declarations() const { return declarations_; }
    // By their first token.
    const std::map<size_t, AttributeList>& attribute_lists() const { return attribute_lists_; }
    // Those that start in a range.
    std::vector<const Attribute*> attributes_in(Range range) const;
    // "outer::inner" of what encloses a declaration; unnamed namespaces don't show.
    std::string scope_of(const Tokens& tokens, const Declaration& declaration) const;

  private:
    friend class OutlineParser;

    std::vector<Declaration> declarations_;
    std::map<size_t, AttributeList> attribute_lists_;
};

// Comma-separated parts of a range; brackets and template argument lists count as one.
std::vector<Range> split_at_commas(const Tokens& tokens, Range range);

// The word of an address space: device, constant, threadgroup, thread...
bool is_address_space(const Token& token);

}  // namespace ingot::metal::msl
