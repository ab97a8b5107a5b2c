#include <algorithm>
#include <iterator>

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
        } else if (token.is("__restrict") || token.is("__restrict__")) {
            parameter.is_restrict = true;
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
        } else if (attribute->name == "thread_execution_width") {
            parameter.kind = "threads_per_simdgroup";  // its later name
        } else if (attribute->name == "grid_size") {
            parameter.kind = "threads_per_grid";  // no host states another region of it
        } else if (attribute->name == "grid_origin") {
            parameter.kind = kGridOrigin;
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

bool is_value(const Token& token) {
    return token.kind == TokenKind::kNumber || token.is("true") || token.is("false");
}

bool is_scalar_type(const Token& token) {
    constexpr std::string_view kNames[] = {"bool",  "char",   "uchar",  "short",    "ushort",
                                           "int",   "uint",   "long",   "ulong",    "half",
                                           "float", "bfloat", "size_t", "ptrdiff_t"};
    return std::find(std::begin(kNames), std::end(kNames), token.text) != std::end(kNames);
}

// Whether a kernel template can take these arguments, "<T, 4>": so overloads are told apart.
bool takes_arguments(const Source& source, const Kernel& kernel, Range arguments) {
    const Declaration& declaration = source.outline.declarations()[kernel.declaration];
    if (declaration.template_headers.empty()) return false;
    const Tokens& tokens = source.tokens;
    const Range header = declaration.template_headers.back();
    const auto parameters = split_at_commas(tokens, {header.begin + 2, header.end - 1}),
               given = split_at_commas(tokens, {arguments.begin + 1, arguments.end - 1});
    if (given.size() > parameters.size()) return false;
    for (size_t i = 0; i < parameters.size(); ++i) {
        const bool is_type =
            tokens[parameters[i].begin].is("typename") || tokens[parameters[i].begin].is("class");
        if (i >= given.size()) {
            bool has_default = false;
            for (size_t at = parameters[i].begin; at < parameters[i].end; ++at)
                has_default = has_default || tokens[at].is("=");
            if (!has_default) return false;
        } else if (given[i].end == given[i].begin + 1) {
            const Token& argument = tokens[given[i].begin];
            if (is_type ? is_value(argument) : is_scalar_type(argument)) return false;
        }
    }
    return true;
}

// The last kernel of the name, of those that take the arguments if there are any.
size_t find_instantiated(const Source& source, const std::vector<Kernel>& kernels, std::string_view name,
                         Range arguments) {
    size_t found = kernels.size();
    for (size_t k = kernels.size(); k-- > 0;) {
        if (kernels[k].name != name) continue;
        if (takes_arguments(source, kernels[k], arguments)) return k;
        if (found == kernels.size()) found = k;
    }
    return found;
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

// extern "C": kernels are static here.
void drop_linkage(const Source& source, const Declaration& declaration, Edits& edits) {
    const Tokens& tokens = source.tokens;
    for (size_t i = declaration.head; i < declaration.name; ++i) {
        if (!tokens[i].is("extern") && !tokens[i].is("static")) continue;
        edits.erase(i);
        if (tokens[i + 1].kind == TokenKind::kString) edits.erase(i + 1);
    }
}

// Only the requested entry shall be compiled.
void make_static(const Declaration& declaration, Edits& edits) {
    edits.insert_before(declaration.head, "static ");
}

// Those that are defined elsewhere in the source.
void make_declarations_static(const Source& source, Edits& edits) {
    for (const Declaration& declaration : source.outline.declarations()) {
        if (declaration.kind != DeclarationKind::kFunction || !declaration.body.empty()) continue;
        if (!declaration.template_headers.empty()) continue;
        const Range before{declaration.range.begin, declaration.parameters.begin};
        if (is_kernel(source, declaration) || has_attribute(source.outline.attributes_in(before), "kernel")) {
            drop_linkage(source, declaration, edits);
            make_static(declaration, edits);
        }
    }
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
    make_declarations_static(source, edits);
    for (size_t k = 0; k < kernels.size(); ++k) {
        const Kernel& kernel = kernels[k];
        const Declaration& declaration = declarations[kernel.declaration];
        if (!declaration.template_headers.empty()) continue;
        std::string name = kernel.host_name;
        if (name.empty()) name = (kernel.scope.empty() ? "" : kernel.scope + "::") + kernel.name;
        drop_linkage(source, declaration, edits);
        const std::string definition =
            define_entry(edits.text({declaration.head, declaration.name}), edits.text(declaration.parameters),
                         kernel.name, attributes_type(kernel, ""));
        make_static(declaration, edits);
        entries.push_back({std::move(name), k, kernel.scope, definition, declaration.range.end, {}});
    }
    for (const Declaration& declaration : declarations) {
        if (declaration.kind != DeclarationKind::kInstantiation) continue;
        const Instantiation parts = read_instantiation(source, declaration);
        const size_t k =
            parts.name == kNone
                ? kernels.size()
                : find_instantiated(source, kernels, source.tokens[parts.name].text, parts.arguments);
        if (k < kernels.size()) {
            std::string name = host_name_in(source, declaration.range);
            const std::string arguments = edits.text(parts.arguments);
            const std::string definition = define_entry(
                edits.text({declaration.head + 1, parts.callee}), edits.text(parts.parameters),
                edits.text({parts.callee, parts.arguments.end}), attributes_type(kernels[k], arguments));
            entries.push_back({name.empty() ? kernels[k].name : std::move(name),
                               k,
                               source.outline.scope_of(source.tokens, declaration),
                               definition,
                               declaration.range.begin,
                               {}});
        }
        edits.erase(declaration.range);
    }
    return entries;
}

}  // namespace ingot::metal::msl
