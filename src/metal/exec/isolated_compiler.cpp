#include "metal/exec/isolated_compiler.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/quoted.h"
#include "metal/exec/local_compiler.h"
#include "metal/exec/wire.h"

namespace ingot::metal {
namespace {

// A module of MLX's takes under two seconds; the rest is for busy machines.
constexpr std::chrono::seconds kTimeLimit{60};
constexpr std::chrono::minutes kTimeLimitAside{10};  // with what the machine has left
constexpr rlim_t kMemoryLimitBytes = rlim_t{4} << 30;

enum Request : uint8_t { kTranslate, kInspect, kDisassemble };

// What one request yields: an Error, or a value of the type that it asks for, and the text that a pass
// printed.
template <typename Value>
std::vector<std::byte> pack(const Result<Value>& result, const std::string& printed) {
    wire::Writer writer;
    writer(result.has_value());
    if (result) {
        writer(*result, printed);
    } else {
        writer(result.error());
    }
    return writer.take();
}

std::vector<std::byte> answer(std::span<const std::byte> request) {
    uint8_t what = 0;
    std::string name, printed;
    std::vector<std::byte> module;
    CompileOptions options;
    wire::Reader reader(request);
    reader(what, name, module, options);
    options.printed = &printed;
    const auto compiler = reader.ok() ? local_compiler() : fail(ErrorKind::kCorrupt, "a broken request");
    if (!compiler) return pack<std::string>(Failure(compiler.error()), printed);
    switch (what) {
        case kTranslate: {
            const auto result = (*compiler)->translate(module, name, options);
            return pack(result, printed);
        }
        case kInspect:
            return pack((*compiler)->inspect(module, name, options), printed);
        default:
            return pack((*compiler)->disassemble(module, name, options), printed);
    }
}

}  // namespace

template <typename Answer>
Result<Answer> IsolatedCompiler::ask(uint8_t what, std::span<const std::byte> module, std::string_view name,
                                     const CompileOptions& options) {
    wire::Writer writer;
    writer(what, std::string(name), std::vector<std::byte>(module.begin(), module.end()), options);
    const auto bytes =
        pool_.request(writer.take(), options.aside ? kTimeLimitAside : kTimeLimit, options.stop);
    if (!bytes && bytes.error().kind == ErrorKind::kUnsupported) return Failure(bytes.error());
    if (!bytes && bytes.error().kind == ErrorKind::kLimit)
        return fail(ErrorKind::kLimit, "the module of {} isn't compiled: {}", quoted(name),
                    bytes.error().message);
    if (!bytes) {
        return fail(bytes.error().kind,
                    "refused: the module of {} crashes the bitcode reader or the compiler ({})", quoted(name),
                    bytes.error().message);
    }
    wire::Reader reader(*bytes);
    bool good = false;
    reader(good);
    Error error{ErrorKind::kCorrupt, "the compiler's child process answered nonsense", {}};
    Answer value{};
    std::string printed;
    good ? reader(value, printed) : reader(error);
    if (!good || !reader.ok()) return Failure(std::move(error));
    if (options.printed != nullptr) *options.printed = std::move(printed);
    return value;
}

Result<std::vector<std::byte>> IsolatedCompiler::translate(std::span<const std::byte> module,
                                                           std::string_view name,
                                                           const CompileOptions& options) {
    return ask<std::vector<std::byte>>(kTranslate, module, name, options);
}

Result<KernelInfo> IsolatedCompiler::inspect(std::span<const std::byte> module, std::string_view name) {
    return ask<KernelInfo>(kInspect, module, name, {});
}

Result<std::string> IsolatedCompiler::disassemble(std::span<const std::byte> module, std::string_view name,
                                                  const CompileOptions& options) {
    return ask<std::string>(kDisassemble, module, name, options);
}

int run_compiler_worker() {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // their shadow memory is larger than any limit
    const rlimit memory{kMemoryLimitBytes, kMemoryLimitBytes};
    ::setrlimit(RLIMIT_AS, &memory);
#endif
    // What LLVM says on its way down is no news for the user; the parent knows how the child ended.
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
    return serve_requests(STDIN_FILENO, answer) ? 0 : 1;
}

}  // namespace ingot::metal
