#include "metal/air/kernel_info.h"
#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

bool has_attribute(const std::vector<const Attribute*>& attributes, std::string_view name) {
    for (const Attribute* attribute : attributes) {
        if (attribute->name == name) return true;
    }
    return false;
}

bool is_kernel(const Source& source, const Declaration& declaration) {
    for (size_t i = declaration.head; i < declaration.parameters.begin; ++i) {
        if (source.tokens[i].is("kernel")) return true;
    }
    return false;
}

// "a" "b" -> ab
std::string string_value(const Tokens& tokens, Range range) {
    std::string text;
    for (size_t i = range.begin; i < range.end; ++i) {
        const Token& token = tokens[i];
        if (token.kind == TokenKind::kString) text += token.text.substr(1, token.text.size() - 2);
    }
    return text;
}

std::string host_name_in(const Source& source, Range range) {
    for (const Attribute* attribute : source.outline.attributes_in(range)) {
        if (attribute->name == "host_name") return string_value(source.tokens, attribute->arguments);
    }
    return "";
}

KernelParameter read_parameter(const Source& source, Range range) {
    const Tokens& tokens = source.tokens;
    KernelParameter parameter;
    parameter.range = range;
    parameter.place = range.begin;
    bool in_threadgroup = false;
    for (size_t i = range.begin; i < range.end; ++i) {
        const Token& token = tokens[i];
        const auto list = source.outline.attribute_lists().find(i);
        if (list != source.outline.attribute_lists().end()) {
            i = list->second.range.end - 1;
        } else if (token.is("=")) {
            break;
        } else if (token.is("[") || token.is("(")) {
            i = tokens.closing(i);
        } else if (token.is("constant")) {
            parameter.space = AddressSpace::kConstant;
        } else if (token.is("threadgroup")) {
            in_threadgroup = true;
        } else if (token.is_word()) {
            parameter.name = token.text;
        }
    }
    if (in_threadgroup) parameter.space = AddressSpace::kThreadgroup;
    parameter.kind = in_threadgroup ? "threadgroup" : "buffer";
    for (const Attribute* attribute : source.outline.attributes_in(range)) {
        if (attribute->name == "buffer" || attribute->name == "threadgroup") {
            parameter.kind = attribute->name;
            parameter.slot = attribute->arguments;
            if (attribute->name == "threadgroup") parameter.space = AddressSpace::kThreadgroup;
        } else if (attribute->name == "function_constant") {
            parameter.guard = source.tokens.text(attribute->arguments);
        } else if (index_kind_from_name(attribute->name)) {
            parameter.kind = attribute->name;
        } else if (attribute->name != "maybe_unused") {
            parameter.unsupported = fmt::format("attribute '{}' is not supported", attribute->name);
        }
    }
    return parameter;
}

Result<Kernel> read_kernel(const Source& source, size_t index) {
    const Declaration& declaration = source.outline.declarations()[index];
    Kernel kernel;
    kernel.declaration = index;
    kernel.name = source.tokens[declaration.name].text;
    kernel.scope = source.outline.scope_of(source.tokens, declaration);
    const Range before{declaration.range.begin, declaration.parameters.begin};
    const Range all{declaration.range.begin,
                    declaration.body.empty() ? declaration.range.end : declaration.body.begin};
    kernel.host_name = host_name_in(source, before);
    for (const Attribute* attribute : source.outline.attributes_in(all)) {
        if (attribute->name == "max_total_threads_per_threadgroup") kernel.max_threads = attribute->arguments;
    }
    const Range inside{declaration.parameters.begin + 1, declaration.parameters.end - 1};
    for (const Range range : split_at_commas(source.tokens, inside)) {
        if (source.tokens.text(range) == "void") continue;
        kernel.parameters.push_back(read_parameter(source, range));
    }
    return kernel;
}

// The parts of `template [[host_name("x")]] kernel void ns::f<T>(device T* p);`
struct Instantiation {
    size_t callee = kNone;  // first token of "ns::f<T>"
    size_t name = kNone;    // "f"
    Range arguments;        // "<T>"
    Range parameters;       // "(device T* p)"; empty where a typedef names the function's type
};

Instantiation read_instantiation(const Source& source, const Declaration& declaration) {
    const Tokens& tokens = source.tokens;
    Instantiation parts;
    for (size_t i = declaration.head; i < declaration.range.end; ++i) {
        const auto list = source.outline.attribute_lists().find(i);
        if (list != source.outline.attribute_lists().end()) {
            i = list->second.range.end - 1;
        } else if (tokens[i].is("(")) {
            if (parts.name != kNone) {
                parts.parameters = {i, tokens.closing(i) + 1};
                break;
            }
            i = tokens.closing(i);
        } else if (tokens[i].is("<")) {
            const size_t close = tokens.closing_angle(i);
            if (close >= declaration.range.end) break;
            parts.name = i - 1;
            parts.arguments = {i, close + 1};
            i = close;
        }
    }
    parts.callee = parts.name;
    while (parts.callee != kNone && parts.callee >= declaration.head + 2 &&
           tokens[parts.callee - 1].is("::")) {
        parts.callee -= 2;
    }
    return parts;
}

std::string attributes_type(const Kernel& kernel, const std::string& arguments) {
    return (kernel.scope.empty() ? "" : "::" + kernel.scope) + "::ingot_kernel_" + kernel.name + arguments;
}

// A pointer with the function's written type picks the right one of several overloads.
std::string define_entry(const std::string& type, const std::string& parameters, const std::string& callee,
                         const std::string& attributes) {
    const std::string pointer = parameters.empty() ? type + "* function" : type + " (*function)" + parameters;
    return fmt::format("struct ingot_entry {{ static constexpr {} = &{}; using attributes = {}; }}; ",
                       pointer, callee, attributes);
}

}  // namespace

Result<std::vector<Kernel>> find_kernels(const Source& source) {
    std::vector<Kernel> kernels;
    const auto& declarations = source.outline.declarations();
    for (size_t i = 0; i < declarations.size(); ++i) {
        const Declaration& declaration = declarations[i];
        if (declaration.kind != DeclarationKind::kFunction || declaration.body.empty()) continue;
        const Range before{declaration.range.begin, declaration.parameters.begin};
        if (!is_kernel(source, declaration) &&
            !has_attribute(source.outline.attributes_in(before), "kernel")) {
            continue;
        }
        INGOT_ASSIGN(Kernel kernel, read_kernel(source, i));
        kernels.push_back(std::move(kernel));
    }
    return kernels;
}

std::vector<EntryPoint> find_entries(const Source& source, const std::vector<Kernel>& kernels, Edits& edits) {
    std::vector<EntryPoint> entries;
    const auto& declarations = source.outline.declarations();
    for (size_t k = 0; k < kernels.size(); ++k) {
        const Kernel& kernel = kernels[k];
        const Declaration& declaration = declarations[kernel.declaration];
        if (!declaration.template_headers.empty()) continue;
        std::string name = kernel.host_name;
        if (name.empty()) name = (kernel.scope.empty() ? "" : kernel.scope + "::") + kernel.name;
        const std::string definition =
            define_entry(edits.text({declaration.head, declaration.name}), edits.text(declaration.parameters),
                         kernel.name, attributes_type(kernel, ""));
        // Only the requested entry shall be compiled.
        edits.insert_before(declaration.head, "static ");
        entries.push_back({std::move(name), k, kernel.scope, definition, declaration.range.end});
    }
    for (const Declaration& declaration : declarations) {
        if (declaration.kind != DeclarationKind::kInstantiation) continue;
        const Instantiation parts = read_instantiation(source, declaration);
        size_t k = kernels.size();
        while (parts.name != kNone && k-- > 0) {
            if (kernels[k].name == source.tokens[parts.name].text) break;
        }
        if (parts.name != kNone && k < kernels.size()) {
            std::string name = host_name_in(source, declaration.range);
            const std::string arguments = edits.text(parts.arguments);
            const std::string definition = define_entry(
                edits.text({declaration.head + 1, parts.callee}), edits.text(parts.parameters),
                edits.text({parts.callee, parts.arguments.end}), attributes_type(kernels[k], arguments));
            entries.push_back({name.empty() ? kernels[k].name : std::move(name), k,
                               source.outline.scope_of(source.tokens, declaration), definition,
                               declaration.range.begin});
        }
        edits.erase(declaration.range);
    }
    return entries;
}

}  // namespace ingot::metal::msl
