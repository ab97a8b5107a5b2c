#include <map>
#include <set>
#include <span>
#include <utility>

#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

struct Rule {
    std::string_view word;
    std::string_view next;  // what must follow; empty: anything, "word": a name
    std::string_view message;
};

constexpr std::string_view kNoTextures = "textures are not supported: this device runs compute on buffers";
constexpr std::string_view kNoSamplers = "samplers are not supported: this device runs compute on buffers";
constexpr std::string_view kNoImageblocks =
    "imageblocks are not supported: this device runs compute on buffers";
constexpr std::string_view kNoGraphics = "only kernel functions are supported";
constexpr std::string_view kNoAssembly = "inline assembly is not accepted";
constexpr std::string_view kNoRayTracing = "ray tracing is not supported";
constexpr std::string_view kNoCommands = "command buffers are not supported: kernels encode no commands";
constexpr std::string_view kNoExceptions = "exceptions are not part of the Metal language";

// What no Metal compiler accepts.
constexpr Rule kForbidden[] = {
    {"asm", "", kNoAssembly},
    {"__asm", "", kNoAssembly},
    {"__asm__", "", kNoAssembly},
    {"throw", "", kNoExceptions},
    {"try", "", kNoExceptions},
    {"typeid", "", "run-time type information is not part of the Metal language"},
    {"dynamic_cast", "", "run-time type information is not part of the Metal language"},
    {"thread_local", "", "thread_local is not part of the Metal language"},
    {"double", "", "double is not a type of the Metal language"},
    {"virtual", "", "virtual functions are not part of the Metal language"},
    {"new", "word", "new is not part of the Metal language"},
    {"goto", "", "goto is not part of the Metal language"},
};

// What Metal has and this device doesn't serve.
constexpr Rule kUnserved[] = {
    {"vertex", "word", kNoGraphics},
    {"fragment", "word", kNoGraphics},
    {"texture1d", "<", kNoTextures},
    {"texture1d_array", "<", kNoTextures},
    {"texture2d", "<", kNoTextures},
    {"texture2d_array", "<", kNoTextures},
    {"texture2d_ms", "<", kNoTextures},
    {"texture2d_ms_array", "<", kNoTextures},
    {"texture3d", "<", kNoTextures},
    {"texturecube", "<", kNoTextures},
    {"texturecube_array", "<", kNoTextures},
    {"texture_buffer", "<", kNoTextures},
    {"depth2d", "<", kNoTextures},
    {"depth2d_array", "<", kNoTextures},
    {"depthcube", "<", kNoTextures},
    {"depthcube_array", "<", kNoTextures},
    {"sampler", "word", kNoSamplers},
    {"imageblock", "<", kNoImageblocks},
    {"threadgroup_imageblock", "", kNoImageblocks},
    {"intersection_function_table", "<", kNoRayTracing},
    {"acceleration_structure", "", kNoRayTracing},
    {"instance_acceleration_structure", "", kNoRayTracing},
    {"primitive_acceleration_structure", "", kNoRayTracing},
    {"intersector", "<", kNoRayTracing},
    {"intersection_query", "<", kNoRayTracing},
    {"intersection_result", "<", kNoRayTracing},
    {"ray_data", "", kNoRayTracing},
    {"command_buffer", "word", kNoCommands},
    {"compute_command", "word", kNoCommands},
    {"render_command", "word", kNoCommands},
    {"object_data", "", kNoGraphics},
    {"compute_pipeline_state", "word", kNoCommands},
    {"render_pipeline_state", "word", kNoCommands},
    {"interpolant", "<", kNoGraphics},
    {"patch_control_point", "<", kNoGraphics},
    {"discard_fragment", "(", kNoGraphics},
    {"dfdx", "(", kNoGraphics},
    {"dfdy", "(", kNoGraphics},
    {"fwidth", "(", kNoGraphics},
};

struct AttributeRule {
    std::string_view name, message;
};

constexpr AttributeRule kAttributeRules[] = {
    {"vertex", kNoGraphics},
    {"fragment", kNoGraphics},
    {"mesh", kNoGraphics},
    {"object", kNoGraphics},
    {"stitchable", "stitchable functions are not supported"},
    {"intersection", kNoRayTracing},
    {"texture", kNoTextures},
    {"sampler", kNoSamplers},
    {"stage_in", kNoGraphics},
};

bool follows(const Rule& rule, const Token& next) {
    return rule.next.empty() || (rule.next == "word" ? next.is_word() : next.is(rule.next));
}

const Rule* find_rule(std::span<const Rule> rules, const Source& source, size_t i) {
    for (const Rule& rule : rules) {
        if (source.tokens[i].text == rule.word && follows(rule, source.tokens[i + 1])) return &rule;
    }
    return nullptr;
}

// Declarations that only namespaces enclose, by their first token.
std::map<size_t, size_t> outer_declarations(const Source& source) {
    std::map<size_t, size_t> outer;
    const auto& declarations = source.outline.declarations();
    for (size_t i = 0; i < declarations.size(); ++i) {
        const size_t parent = declarations[i].parent;
        const bool in_namespace = parent == kNone || declarations[parent].kind == DeclarationKind::kNamespace;
        if (in_namespace && declarations[i].kind != DeclarationKind::kNamespace)
            outer[declarations[i].range.begin] = i;
    }
    return outer;
}

bool is_alias(const Source& source, const Declaration& declaration) {
    const Token& first = source.tokens[declaration.head];
    return first.is("typedef") || (first.is("using") && source.tokens[declaration.head + 2].is("="));
}

bool is_type(const Source& source, const Declaration& declaration) {
    return declaration.kind == DeclarationKind::kClass || declaration.kind == DeclarationKind::kEnum ||
           is_alias(source, declaration);
}

// What a declaration declares; kNone if it isn't seen.
size_t declared_name(const Source& source, const Declaration& declaration) {
    const Tokens& tokens = source.tokens;
    if (tokens[declaration.head].is("typedef")) return declaration.range.end - 2;
    if (is_alias(source, declaration)) return declaration.head + 1;
    if (declaration.kind != DeclarationKind::kOther) return declaration.name;
    size_t name = kNone;
    for (size_t i = declaration.head; i < declaration.range.end; ++i) {
        const auto list = source.outline.attribute_lists().find(i);
        if (list != source.outline.attribute_lists().end()) {
            i = list->second.range.end - 1;
        } else if (tokens[i].is("<")) {
            if (const size_t close = tokens.closing_angle(i); close < declaration.range.end) i = close;
        } else if (tokens[i].is_word()) {
            name = i;
        } else if (!tokens[i].is("::") && !tokens[i].is("*") && !tokens[i].is("&")) {
            break;
        }
    }
    return name;
}

// A function or variable of the name, whose use is an error with the message; of a type there is nothing
// left.
std::string stand_in(const Source& source, const Declaration& declaration, std::string_view message) {
    const size_t name = declared_name(source, declaration);
    if (name == kNone || !source.tokens[name].is_word() || is_type(source, declaration)) return "";
    if (name > 0 && (source.tokens[name - 1].is("::") || source.tokens[name - 1].is("operator"))) return "";
    const std::string attribute = fmt::format("__attribute__((unavailable(\"{}\")))", message);
    if (declaration.kind == DeclarationKind::kOther)
        return fmt::format("extern {} const int {}; ", attribute, source.tokens[name].text);
    if (declaration.kind != DeclarationKind::kFunction) return "";
    std::string headers;
    for (const Range header : declaration.template_headers) headers += source.tokens.text(header) + " ";
    // The worst of all overloads.
    return fmt::format("{}{} void {}(...); ", headers, attribute, source.tokens[name].text);
}

class Finder {
  public:
    explicit Finder(const Source& source) : source_(source), outer_(outer_declarations(source)) {}

    Result<void> add(size_t token, std::string_view message) {
        const std::string place = source_.tokens.place(token);
        auto next = outer_.upper_bound(token);
        const bool is_first = next == outer_.begin();
        const size_t declaration = is_first ? kNone : std::prev(next)->second;
        if (is_first || !source_.outline.declarations()[declaration].range.contains(token))
            return fail(ErrorKind::kUnsupported, "{}: error: {}", place, message);
        const auto [at, is_new] = found_.try_emplace(declaration, Unsupported{place, std::string(message)});
        if (is_new) note_name(declaration, message);
        return {};
    }

    // Declarations that name a type that isn't there, and aliases made of a function that isn't: typedef
    // decltype(f<float>) f_t.
    void add_users() {
        while (!new_names_.empty()) {
            const auto names = std::exchange(new_names_, {});
            for (const auto& [begin, index] : outer_) {
                if (found_.contains(index)) continue;
                const Declaration& declaration = source_.outline.declarations()[index];
                for (size_t i = declaration.range.begin; i < declaration.range.end; ++i) {
                    const auto name = names.find(source_.tokens[i].text);
                    if (!source_.tokens[i].is_word() || name == names.end()) continue;
                    if (!name->second.is_type && !is_alias(source_, declaration)) continue;
                    const std::string message = fmt::format("'{}': {}", name->first, name->second.message);
                    found_.emplace(index, Unsupported{source_.tokens.place(i), message});
                    note_name(index, name->second.message);
                    break;
                }
            }
        }
    }

    std::map<size_t, Unsupported> found() && { return std::move(found_); }

  private:
    struct Missing {
        std::string message;  // why it isn't there
        bool is_type;
    };

    void note_name(size_t index, std::string_view message) {
        const Declaration& declaration = source_.outline.declarations()[index];
        const bool type = is_type(source_, declaration);
        const size_t name = declared_name(source_, declaration);
        if (name != kNone && (type || declaration.kind == DeclarationKind::kFunction))
            new_names_[source_.tokens[name].text] = {std::string(message), type};
    }

    const Source& source_;
    const std::map<size_t, size_t> outer_;
    std::map<size_t, Unsupported> found_;
    std::map<std::string_view, Missing> new_names_;
};

}  // namespace

Result<std::map<size_t, Unsupported>> find_unsupported(const Source& source) {
    Finder finder(source);
    std::set<std::string_view> functions;  // of the source's own, which may have a library's name
    for (const Declaration& declaration : source.outline.declarations()) {
        if (declaration.kind == DeclarationKind::kFunction && declaration.name != kNone)
            functions.insert(source.tokens[declaration.name].text);
    }
    for (size_t i = 0; i < source.tokens.size(); ++i) {
        if (!source.tokens[i].is_word()) continue;
        if (const Rule* rule = find_rule(kForbidden, source, i))
            return fail(ErrorKind::kUnsupported, "{}: error: {}", source.tokens.place(i), rule->message);
        const Rule* rule = find_rule(kUnserved, source, i);
        if (rule == nullptr || (rule->next == "(" && functions.contains(rule->word))) continue;
        INGOT_TRY(finder.add(i, rule->message));
    }
    for (const auto& [begin, list] : source.outline.attribute_lists()) {
        for (const Attribute& attribute : list.attributes) {
            for (const AttributeRule& rule : kAttributeRules) {
                if (attribute.name == rule.name) INGOT_TRY(finder.add(attribute.place, rule.message));
            }
        }
    }
    finder.add_users();
    return std::move(finder).found();
}

std::string without(const Source& source, const std::map<size_t, Unsupported>& unsupported) {
    Edits edits(source.tokens);
    std::set<std::pair<size_t, std::string>> declared;  // once in a namespace: overloads have one stand-in
    for (const auto& [index, why] : unsupported) {
        const Declaration& declaration = source.outline.declarations()[index];
        edits.erase(declaration.range);
        const std::string text = stand_in(source, declaration, why.message);
        if (declared.emplace(declaration.parent, text).second)
            edits.insert_before(declaration.range.begin, text);
    }
    return edits.print();
}

}  // namespace ingot::metal::msl
