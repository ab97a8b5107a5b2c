// The rewriting passes. Each reads the tokens and the outline of the source as it was, and adds its changes.
#pragma once

#include <map>

#include "metal/msl/rewrite.h"

namespace ingot::metal::msl {

struct Source {
    const Tokens& tokens;
    const Outline& outline;
};

// Why a declaration isn't served.
struct Unsupported {
    std::string place;  // "file:line"
    std::string message;
};
// The declarations, by index, that this device doesn't serve (textures, other shader stages...), and those
// that name a type among them. Errors: what no Metal compiler accepts (assembly...).
Result<std::map<size_t, Unsupported>> find_unsupported(const Source& source);
// The source's text without them. Using one of their functions or variables is an error that says why.
std::string without(const Source& source, const std::map<size_t, Unsupported>& unsupported);

// Strict mode: an Error for a pointer or reference that doesn't state its address space, with Apple's
// words...
Result<void> require_address_spaces(const Source& source);
// ...and a call for each that does, by which the AIR form sees whether it holds.
void note_declared_spaces(const Source& source, Edits& edits);

// Drops pragmas but a few: their macros aren't expanded, and most are instructions to a compiler.
void drop_pragmas(const Source& source, Edits& edits);
// `constant` becomes const, the other address spaces and `kernel` vanish.
void erase_address_spaces(const Source& source, Edits& edits);
void erase_attributes(const Source& source, Edits& edits);
// threadgroup T a[8]; in a function: storage in address space 3, and a reference to it.
Result<void> place_threadgroup_variables(const Source& source, Edits& edits);
// constant T x [[function_constant(n)]]; becomes an external constant that the AIR form turns into Metal's.
std::vector<FunctionConstantDeclaration> declare_function_constants(const Source& source, Edits& edits);
// v.xyz and v.xyz = w become calls of member templates.
void rewrite_swizzles(const Source& source, Edits& edits);
// 1.5 is a float in Metal, a double in C++.
void give_literals_float(const Source& source, Edits& edits);
// static_cast<T>(x): clang refuses it between half and bfloat.
void rewrite_casts(const Source& source, Edits& edits);
// Functions and specialisations that differ only by address spaces are one function now: the first stays.
// Errors: they don't do the same.
Result<void> drop_duplicates(const Source& source, Edits& edits);

Result<std::vector<Kernel>> find_kernels(const Source& source);
// Entries of kernels and of explicit instantiations, whose text goes.
std::vector<EntryPoint> find_entries(const Source& source, const std::vector<Kernel>& kernels, Edits& edits);

// Those with [[visible]], each with a pointer to it behind it. Templates are only called directly.
std::vector<VisibleFunction> find_visible_functions(const Source& source, Edits& edits);
// What calls one of them by its number, to stand behind the source.
std::string define_visible_calls(const std::vector<VisibleFunction>& functions);

}  // namespace ingot::metal::msl
