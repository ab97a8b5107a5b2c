#include "metal/jit/build_id.h"

#include <cstring>

#include <elf.h>
#include <link.h>

#include "base/sha256.h"

namespace ingot::metal::jit {
namespace {

constexpr size_t round_to_words(size_t size) {
    return (size + 3) & ~size_t{3};
}

// The build ID among the notes in [begin, begin + size), or nothing.
std::string id_in_notes(const char* begin, size_t size) {
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
        ElfW(Nhdr) note;
        std::memcpy(&note, begin + at, sizeof note);
        const size_t name = at + sizeof note, data = name + round_to_words(note.n_namesz);
        if (data + note.n_descsz > size) break;
        if (note.n_type == NT_GNU_BUILD_ID && std::strncmp(begin + name, "GNU", note.n_namesz) == 0) {
            return to_hex(std::as_bytes(std::span(begin + data, note.n_descsz)));
        }
        at = data + round_to_words(note.n_descsz);
    }
    return {};
}

bool contains(const dl_phdr_info& object, uintptr_t address) {
    for (size_t i = 0; i < object.dlpi_phnum; ++i) {
        const auto& segment = object.dlpi_phdr[i];
        const uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && address >= begin && address - begin < segment.p_memsz) return true;
    }
    return false;
}

int find_id(dl_phdr_info* object, size_t, void* result) {
    if (!contains(*object, reinterpret_cast<uintptr_t>(&id_in_notes))) return 0;
    auto& id = *static_cast<std::string*>(result);
    for (size_t i = 0; i < object->dlpi_phnum && id.empty(); ++i) {
        const auto& segment = object->dlpi_phdr[i];
        if (segment.p_type != PT_NOTE) continue;
        id = id_in_notes(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
    }
    return 1;
}

}  // namespace

std::string build_id() {
    std::string id;
    ::dl_iterate_phdr(find_id, &id);
    return id;
}

}  // namespace ingot::metal::jit
