#include "metal/msl/rewrite.h"

#include "metal/msl/entry.h"
#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {

Result<Program> Program::rewrite(std::string text, std::string_view file, bool strict) {
    INGOT_ASSIGN(Tokens tokens, Tokens::lex(std::move(text), file));
    Program program;
    program.tokens_ = std::make_unique<const Tokens>(std::move(tokens));
    INGOT_ASSIGN(Outline outline, Outline::parse(*program.tokens_));
    program.outline_ = std::make_unique<const Outline>(std::move(outline));
    const Source source{*program.tokens_, *program.outline_};
    INGOT_TRY(refuse_unsupported(source));
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
    Edits edits = *edits_;
    const Source source{*tokens_, *outline_};
    INGOT_ASSIGN(const std::string wrapper,
                 write_entry(source, kernels_[entry->kernel], *entry, constants_, edits));
    return kHeader + edits.print() + calls + wrapper;
}

std::string Program::place(const EntryPoint& entry) const {
    return tokens_->place(outline_->declarations()[kernels_[entry.kernel].declaration].head);
}

}  // namespace ingot::metal::msl
