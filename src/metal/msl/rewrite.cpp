#include "metal/msl/rewrite.h"

#include "metal/msl/entry.h"
#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {

namespace {

struct Parsed {
    std::unique_ptr<const Tokens> tokens;
    std::unique_ptr<const Outline> outline;
    std::vector<EntryPoint> refused;
};

Result<Parsed> parse(std::string text, std::string_view file) {
    INGOT_ASSIGN(Tokens tokens, Tokens::lex(std::move(text), file));
    Parsed parsed;
    parsed.tokens = std::make_unique<const Tokens>(std::move(tokens));
    INGOT_ASSIGN(Outline outline, Outline::parse(*parsed.tokens));
    parsed.outline = std::make_unique<const Outline>(std::move(outline));
    return parsed;
}

// Kernels among what isn't served. Errors: no other kernel is there.
Result<std::vector<EntryPoint>> refused_entries(const Source& source,
                                                const std::map<size_t, Unsupported>& unsupported) {
    INGOT_ASSIGN(const std::vector<Kernel> kernels, find_kernels(source));
    Edits edits(source.tokens);
    const auto& declarations = source.outline.declarations();
    std::map<size_t, const Unsupported*> by_place;
    for (const auto& [index, why] : unsupported) by_place[declarations[index].range.begin] = &why;
    std::vector<EntryPoint> refused;
    bool all = true;
    for (const EntryPoint& entry : find_entries(source, kernels, edits)) {
        const Declaration& kernel = declarations[kernels[entry.kernel].declaration];
        auto why = by_place.find(kernel.range.begin);
        const bool is_instantiation = !kernel.template_headers.empty();
        if (why == by_place.end() && is_instantiation) why = by_place.find(entry.place);
        if (why == by_place.end()) {
            all = false;
            continue;
        }
        EntryPoint one;
        one.name = entry.name;
        one.refusal = fmt::format("{}: error: {}", why->second->place, why->second->message);
        refused.push_back(std::move(one));
    }
    const Unsupported& first = unsupported.begin()->second;
    if (all) return fail(ErrorKind::kUnsupported, "{}: error: {}", first.place, first.message);
    return refused;
}

// Parses what this device serves of a source.
Result<Parsed> parse_served(std::string text, std::string_view file) {
    INGOT_ASSIGN(Parsed parsed, parse(std::move(text), file));
    const Source source{*parsed.tokens, *parsed.outline};
    INGOT_ASSIGN(const auto unsupported, find_unsupported(source));
    if (unsupported.empty()) return parsed;
    INGOT_ASSIGN(std::vector<EntryPoint> refused, refused_entries(source, unsupported));
    INGOT_ASSIGN(Parsed served, parse(without(source, unsupported), file));
    served.refused = std::move(refused);
    return served;
}

}  // namespace

Result<Program> Program::rewrite(std::string text, std::string_view file, bool strict) {
    INGOT_ASSIGN(Parsed parsed, parse_served(std::move(text), file));
    Program program;
    program.tokens_ = std::move(parsed.tokens);
    program.outline_ = std::move(parsed.outline);
    const Source source{*program.tokens_, *program.outline_};
    if (strict) INGOT_TRY(require_address_spaces(source));
    INGOT_ASSIGN(program.kernels_, find_kernels(source));
    Edits edits(source.tokens);
    drop_pragmas(source, edits);
    erase_address_spaces(source, edits);
    erase_attributes(source, edits);
    give_literals_float(source, edits);
    rewrite_casts(source, edits);
    rewrite_swizzles(source, edits);
    INGOT_TRY(place_threadgroup_variables(source, edits));
    program.constants_ = declare_function_constants(source, edits);
    program.entries_ = find_entries(source, program.kernels_, edits);
    program.entries_.insert(program.entries_.end(), parsed.refused.begin(), parsed.refused.end());
    program.visible_functions_ = find_visible_functions(source, edits);
    if (strict) note_declared_spaces(source, edits);
    INGOT_TRY(drop_duplicates(source, edits));
    program.edits_ = std::make_unique<const Edits>(std::move(edits));
    return program;
}

const EntryPoint* Program::find(std::string_view name) const {
    for (const EntryPoint& entry : entries_) {
        if (entry.name == name) return &entry;
    }
    return nullptr;
}

Result<std::string> Program::translation_unit(const EntryPoint* entry) const {
    constexpr const char* kHeader = "#include <ingot_msl/all.h>\n#include <ingot_msl/entry.h>\n";
    const std::string calls = define_visible_calls(visible_functions_);
    if (entry == nullptr) return kHeader + edits_->print() + calls;
    if (!entry->refusal.empty()) return fail(ErrorKind::kUnsupported, "{}", entry->refusal);
    Edits edits = *edits_;
    const Source source{*tokens_, *outline_};
    INGOT_ASSIGN(const std::string wrapper,
                 write_entry(source, kernels_[entry->kernel], *entry, constants_, edits));
    return kHeader + edits.print() + calls + wrapper;
}

}  // namespace ingot::metal::msl
