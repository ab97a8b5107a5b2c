#include "llm/backend/cpu/kernels/isa.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#include "base/check.h"
#include "llm/backend/cpu/kernels/kernel_table.h"
#include "llm/backend/cpu/kernels/tables.h"

namespace ingot::cpu {
namespace {

bool always() {
    return true;
}

#if defined(__x86_64__)
bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

bool has_avx_vnni() {
    return has_avx2() && __builtin_cpu_supports("avxvnni");
}

bool has_avx512_vnni() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
}
#elif defined(__aarch64__)
bool has_neon_dot() {
#if defined(__linux__)
    constexpr unsigned long kDotProducts = 1ul << 20;  // HWCAP_ASIMDDP
    return (getauxval(AT_HWCAP) & kDotProducts) != 0;
#else
    return true;  // every Apple processor that runs macOS has them
#endif
}
#endif

struct IsaRow {
    Isa isa;
    std::string_view name;
    bool (*available)();  // null: this build has no kernels for it
    const KernelTable& (*table)();
};

// Worst first.
constexpr IsaRow kIsas[] = {
    {Isa::kPlain, "plain", always, plain_table},
#if defined(__x86_64__)
    {Isa::kAvx2, "avx2", has_avx2, avx2_table},
    {Isa::kAvxVnni, "avx-vnni", has_avx_vnni, avx_vnni_table},
    {Isa::kAvx512Vnni, "avx512-vnni", has_avx512_vnni, avx512_vnni_table},
#else
    {Isa::kAvx2, "avx2", nullptr, nullptr},
    {Isa::kAvxVnni, "avx-vnni", nullptr, nullptr},
    {Isa::kAvx512Vnni, "avx512-vnni", nullptr, nullptr},
#endif
#if defined(__aarch64__)
    {Isa::kNeonDot, "neon-dotprod", has_neon_dot, neon_dot_table},
#else
    {Isa::kNeonDot, "neon-dotprod", nullptr, nullptr},
#endif
};

// "avx512vnni" and "avx512-vnni" are the same name.
std::string without_dashes(std::string_view name) {
    std::string plain(name);
    std::erase(plain, '-');
    return plain;
}

std::string available_names() {
    std::string names;
    for (const Isa isa : available_isas()) names += (names.empty() ? "" : ", ") + std::string(to_string(isa));
    return names;
}

}  // namespace

std::string_view to_string(Isa isa) {
    for (const IsaRow& row : kIsas) {
        if (row.isa == isa) return row.name;
    }
    return "unknown";
}

std::vector<Isa> available_isas() {
    std::vector<Isa> isas;
    for (const IsaRow& row : kIsas) {
        if (row.available != nullptr && row.available()) isas.push_back(row.isa);
    }
    return isas;
}

Result<Isa> choose_isa(std::string_view name) {
    for (const IsaRow& row : kIsas) {
        if (without_dashes(row.name) != without_dashes(name)) continue;
        if (row.available != nullptr && row.available()) return row.isa;
        return fail(ErrorKind::kUnsupported, "instruction set '{}': this machine can run {}", name,
                    available_names());
    }
    return fail(ErrorKind::kInvalidArgument, "instruction set '{}' is unknown; this machine can run {}", name,
                available_names());
}

Result<Isa> choose_isa() {
    if (const char* name = std::getenv("INGOT_ISA"); name != nullptr && *name != '\0')
        return choose_isa(name);
    return available_isas().back();
}

const KernelTable& kernel_table(Isa isa) {
    for (const IsaRow& row : kIsas) {
        if (row.isa == isa && row.table != nullptr) return row.table();
    }
    check_failed(__FILE__, __LINE__, "kernel_table",
                 fmt::format("this build has no kernels for {}", to_string(isa)));
}

}  // namespace ingot::cpu
