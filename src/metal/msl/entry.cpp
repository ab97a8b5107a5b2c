#include "metal/msl/entry.h"

#include <algorithm>
#include <array>

namespace ingot::metal::msl {
namespace {

// Index arguments with three components; the others are one number.
constexpr std::array<std::string_view, 7> kThreeComponents{
    "thread_position_in_grid",         "threads_per_grid",        "threadgroup_position_in_grid",
    "threadgroups_per_grid",           "threads_per_threadgroup", "thread_position_in_threadgroup",
    "dispatch_threads_per_threadgroup"};

bool has_three_components(std::string_view kind) {
    return std::find(kThreeComponents.begin(), kThreeComponents.end(), kind) != kThreeComponents.end();
}

bool is_memory(const KernelParameter& parameter) {
    return parameter.kind == "buffer" || parameter.kind == "threadgroup";
}

std::string qualified(const std::string& scope, std::string_view name) {
    return scope.empty() ? fmt::format("::{}", name) : fmt::format("::{}::{}", scope, name);
}

// Attribute expressions may depend on the kernel's template parameters: a struct with the same parameters
// holds them.
std::string attribute_struct(const Source& source, const Kernel& kernel, const Edits& edits) {
    const Declaration& declaration = source.outline.declarations()[kernel.declaration];
    std::string text;
    for (const Range header : declaration.template_headers) text += edits.text(header) + " ";
    text += fmt::format("struct ingot_kernel_{} {{ static constexpr unsigned max_threads = unsigned({});",
                        kernel.name,
                        kernel.max_threads.empty() ? "1024" : source.tokens.text(kernel.max_threads));
    std::string next_buffer = "0", next_threadgroup = "0";
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
        const KernelParameter& parameter = kernel.parameters[i];
        std::string slot = "0";
        if (is_memory(parameter)) {
            std::string& next = parameter.kind == "buffer" ? next_buffer : next_threadgroup;
            slot = parameter.slot.empty() ? next : source.tokens.text(parameter.slot);
            next = fmt::format("slot_{} + 1", i);
        }
        text += fmt::format(" static constexpr unsigned slot_{} = unsigned({});", i, slot);
    }
    return text + " }; ";
}

std::string guard_address(const KernelParameter& parameter,
                          const std::vector<FunctionConstantDeclaration>& constants) {
    for (const FunctionConstantDeclaration& constant : constants) {
        if (constant.name == parameter.guard) return "&" + qualified(constant.scope, constant.name);
    }
    return parameter.guard.empty() ? "nullptr" : "&" + parameter.guard;
}

std::string argument_table(const Kernel& kernel, const std::vector<FunctionConstantDeclaration>& constants) {
    std::string text =
        "extern \"C\" { extern const ::ingot_msl::Argument ingot_arguments[]; "
        "const ::ingot_msl::Argument ingot_arguments[] = {";
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
        const KernelParameter& parameter = kernel.parameters[i];
        if (parameter.kind == kGridOrigin) continue;
        text += fmt::format(
            "::ingot_msl::describe<::ingot_msl::parameter<{}, decltype(ingot_requested::function)>>(\"{}\", "
            "{}, "
            "ingot_requested::attributes::slot_{}, \"{}\", {}, {}), ",
            i, parameter.kind, unsigned(parameter.space), i, parameter.name,
            guard_address(parameter, constants), parameter.is_restrict);
    }
    return text +
           "{}}; extern const unsigned ingot_max_threads; "
           "const unsigned ingot_max_threads = ingot_requested::attributes::max_threads; ";
}

std::string constant_table(const std::vector<FunctionConstantDeclaration>& constants) {
    std::string text =
        "extern const ::ingot_msl::Constant ingot_constants[]; "
        "const ::ingot_msl::Constant ingot_constants[] = {";
    for (const FunctionConstantDeclaration& constant : constants) {
        const auto name = [&](std::string_view prefix) {
            return qualified(constant.scope, fmt::format("{}{}", prefix, constant.name));
        };
        text += fmt::format("::ingot_msl::describe_constant({}, {}, {}, \"{}\"), ", name(""),
                            name("ingot_is_defined_"), name("ingot_index_of_"), constant.name);
    }
    return text + "{}}; ";
}

std::string entry_function(const Kernel& kernel) {
    std::string parameters, arguments;
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
        const KernelParameter& parameter = kernel.parameters[i];
        const char *comma = i == 0 ? "" : ", ", *separator = parameters.empty() ? "" : ", ";
        const std::string type =
            fmt::format("::ingot_msl::parameter<{}, decltype(ingot_requested::function)>", i);
        if (parameter.kind == kGridOrigin) {
            arguments += fmt::format("{}::ingot_msl::bind_index<{}>(::ingot_msl::Index3{{}})", comma, type);
        } else if (is_memory(parameter)) {
            parameters += fmt::format("{}__attribute__((address_space({}))) void* a{}", separator,
                                      unsigned(parameter.space), i);
            arguments += fmt::format("{}::ingot_msl::bind_memory<{}>((void*)a{})", comma, type, i);
        } else {
            const char* index = has_three_components(parameter.kind) ? "::ingot_msl::Index3" : "unsigned";
            parameters += fmt::format("{}{} a{}", separator, index, i);
            arguments += fmt::format("{}::ingot_msl::bind_index<{}>(a{})", comma, type, i);
        }
    }
    return fmt::format("void ingot_entry_function({}) {{ ingot_requested::function({}); }} }}\n", parameters,
                       arguments);
}

}  // namespace

Result<std::string> write_entry(const Source& source, const Kernel& kernel, const EntryPoint& entry,
                                const std::vector<FunctionConstantDeclaration>& constants, Edits& edits) {
    for (const KernelParameter& parameter : kernel.parameters) {
        if (parameter.unsupported.empty()) continue;
        return fail(ErrorKind::kUnsupported, "{}: error: parameter '{}': {}",
                    source.tokens.place(parameter.place), parameter.name, parameter.unsupported);
    }
    const Declaration& declaration = source.outline.declarations()[kernel.declaration];
    edits.insert_before(entry.place, entry.definition);
    // Ahead of everything that stands before the kernel already.
    edits.prepend(declaration.range.begin, attribute_struct(source, kernel, edits));
    return fmt::format("\n# {} \"{}\"\nusing ingot_requested = {};\n", source.tokens[declaration.head].line,
                       source.tokens.file_of(declaration.head), qualified(entry.scope, "ingot_entry")) +
           argument_table(kernel, constants) + constant_table(constants) + entry_function(kernel);
}

}  // namespace ingot::metal::msl
