#include "metal/jit/object_jit.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include "base/check.h"
#include "base/half.h"
#include "metal/jit/host_target.h"
#include "metal/jit/lanes/vector_math.h"
#include "metal/jit/pass.h"

namespace ingot::metal::jit {
namespace {

namespace orc = llvm::orc;

// The half or bfloat result travels in the low 16 bits of a vector register: return it as a float with those
// bits.
float low_bits(uint16_t bits) {
    const uint32_t word = bits;
    return std::bit_cast<float>(word);
}
float float_to_bfloat_register(float value) {
    return low_bits(float_to_bfloat16(value));
}
float double_to_bfloat_register(double value) {
    return low_bits(float_to_bfloat16(float(value)));
}
float float_to_half_register(float value) {
    return low_bits(float_to_half(value));
}
float double_to_half_register(double value) {
    return low_bits(float_to_half(float(value)));
}
float half_register_to_float(float bits) {
    return half_to_float(uint16_t(std::bit_cast<uint32_t>(bits)));
}

template <typename... Arguments, typename Return>
void* address_of(Return (*function)(Arguments...)) {
    return reinterpret_cast<void*>(function);
}

using UnaryDouble = double (*)(double);

const RuntimeSymbol kLibrarySymbols[] = {
    {"acosf", address_of<float>(::acosf)},
    {"acoshf", address_of<float>(::acoshf)},
    {"asinf", address_of<float>(::asinf)},
    {"asinhf", address_of<float>(::asinhf)},
    {"atanf", address_of<float>(::atanf)},
    {"atan2f", address_of<float, float>(::atan2f)},
    {"atanhf", address_of<float>(::atanhf)},
    {"ceilf", address_of<float>(::ceilf)},
    {"cosf", address_of<float>(::cosf)},
    {"coshf", address_of<float>(::coshf)},
    {"expf", address_of<float>(::expf)},
    {"exp2f", address_of<float>(::exp2f)},
    {"exp10f", address_of<float>(::exp10f)},
    {"fdimf", address_of<float, float>(::fdimf)},
    {"floorf", address_of<float>(::floorf)},
    {"fmaf", address_of<float, float, float>(::fmaf)},
    {"fmaxf", address_of<float, float>(::fmaxf)},
    {"fminf", address_of<float, float>(::fminf)},
    {"fmodf", address_of<float, float>(::fmodf)},
    {"frexpf", address_of<float, int*>(static_cast<float (*)(float, int*)>(::frexpf))},
    {"ldexpf", address_of<float, int>(::ldexpf)},
    {"logf", address_of<float>(::logf)},
    {"log2f", address_of<float>(::log2f)},
    {"log10f", address_of<float>(::log10f)},
    {"nearbyintf", address_of<float>(::nearbyintf)},
    {"nextafterf", address_of<float, float>(::nextafterf)},
    {"powf", address_of<float, float>(::powf)},
    {"rintf", address_of<float>(::rintf)},
    {"roundf", address_of<float>(::roundf)},
    {"roundevenf", address_of<float>(::roundevenf)},
    {"sinf", address_of<float>(::sinf)},
    {"sinhf", address_of<float>(::sinhf)},
    {"sqrtf", address_of<float>(::sqrtf)},
    {"tanf", address_of<float>(::tanf)},
    {"tanhf", address_of<float>(::tanhf)},
    {"truncf", address_of<float>(::truncf)},
    {"sincos", address_of(::sincos)},
    {"sincosf", address_of(::sincosf)},
    {"sin", address_of(static_cast<UnaryDouble>(::sin))},
    {"cos", address_of(static_cast<UnaryDouble>(::cos))},
    {"memcpy", address_of(::memcpy)},
    {"memmove", address_of(::memmove)},
    {"memset", address_of(::memset)},
    {"__truncsfbf2", address_of(float_to_bfloat_register)},
    {"__truncdfbf2", address_of(double_to_bfloat_register)},
    {"__truncsfhf2", address_of(float_to_half_register)},
    {"__truncdfhf2", address_of(double_to_half_register)},
    {"__extendhfsf2", address_of(half_register_to_float)},
};

llvm::orc::JITTargetMachineBuilder host_builder() {
    static std::once_flag once;
    std::call_once(once, [] {
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
        llvm::InitializeNativeTargetAsmParser();
        // Blocks of vectorised kernels are long, a scheduler's time grows with the square of their length,
        // and out-of-order machines gain little from it.
        const char* options[] = {"ingot", "-enable-misched=false", "-disable-post-ra",
                                 "-pre-RA-sched=source"};
        llvm::cl::ParseCommandLineOptions(int(std::size(options)), options);
    });
    auto builder = llvm::cantFail(orc::JITTargetMachineBuilder::detectHost());
    builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
    builder.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Standard;
    // What is undefined ends the launch instead of running into whatever code comes next.
    builder.getOptions().TrapUnreachable = true;
    return builder;
}

}  // namespace

llvm::TargetMachine& host_target() {
    static thread_local const std::unique_ptr<llvm::TargetMachine> target =
        llvm::cantFail(host_builder().createTargetMachine());
    return *target;
}

std::string describe_host() {
    auto builder = host_builder();
    return fmt::format("{} {} {}", builder.getTargetTriple().str(), builder.getCPU(),
                       builder.getFeatures().getString());
}

struct ObjectJit::State {
    std::unique_ptr<orc::LLJIT> jit;
    orc::SymbolMap symbols;
    std::atomic<uint64_t> last_number{0};
};

ObjectJit::ObjectJit(std::span<const RuntimeSymbol> runtime) : state_(std::make_shared<State>()) {
    state_->jit = llvm::cantFail(orc::LLJITBuilder().setJITTargetMachineBuilder(host_builder()).create());
    const auto define = [&](const RuntimeSymbol& symbol) {
        state_->symbols[state_->jit->mangleAndIntern(
            llvm::StringRef(symbol.name.data(), symbol.name.size()))] = {
            orc::ExecutorAddr::fromPtr(symbol.address), llvm::JITSymbolFlags::Exported};
    };
    for (const RuntimeSymbol& symbol : runtime) define(symbol);
    for (const RuntimeSymbol& symbol : kLibrarySymbols) define(symbol);
    for (const RuntimeSymbol& symbol : lanes::vector_math_symbols()) define(symbol);
}

ObjectJit::~ObjectJit() = default;

// A frame larger than the guard page below a stack mustn't jump over it.
static void probe_stacks(llvm::Module& module) {
    for (llvm::Function& function : module) {
        if (!function.isDeclaration()) function.addFnAttr("probe-stack", "inline-asm");
    }
}

Result<std::string> ObjectJit::assembly(llvm::Module& module) {
    probe_stacks(module);
    llvm::SmallVector<char, 0> text;
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager passes;
    if (host_target().addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
        return fail(ErrorKind::kUnsupported, "LLVM can't write assembly for this machine");
    }
    passes.run(module);
    return std::string(text.begin(), text.end());
}

Result<std::vector<char>> ObjectJit::generate(llvm::Module& module) {
    probe_stacks(module);
    llvm::SmallVector<char, 0> object;
    llvm::raw_svector_ostream stream(object);
    llvm::legacy::PassManager passes;
    llvm::MCContext* context = nullptr;
    if (host_target().addPassesToEmitMC(passes, context, stream)) {
        return fail(ErrorKind::kUnsupported, "LLVM can't emit code for this machine");
    }
    passes.run(module);
    return std::vector<char>(object.begin(), object.end());
}

Result<ObjectJit::Linked> ObjectJit::link(std::span<const char> object, std::string_view name) {
    auto& session = state_->jit->getExecutionSession();
    auto made = session.createJITDylib(fmt::format("{}#{}", name, ++state_->last_number));
    if (!made) return fail(ErrorKind::kUnsupported, "{}", llvm::toString(made.takeError()));
    orc::JITDylib* dylib = &*made;
    // Runs when the last reference goes; keeps the JIT alive until then.
    std::shared_ptr<void> code(dylib, [state = state_](void* pointer) {
        auto& d = *static_cast<orc::JITDylib*>(pointer);
        llvm::consumeError(state->jit->getExecutionSession().removeJITDylib(d));
    });
    const auto failed = [&](llvm::Error error) {
        return fail(ErrorKind::kUnsupported, "can't link kernel '{}': {}", name,
                    llvm::toString(std::move(error)));
    };
    if (auto error = dylib->define(orc::absoluteSymbols(state_->symbols))) return failed(std::move(error));
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()),
                                                       llvm::StringRef(name.data(), name.size()));
    if (auto error = state_->jit->addObjectFile(*dylib, std::move(buffer))) return failed(std::move(error));
    auto address = state_->jit->lookup(*dylib, kEntryName);
    if (!address) return failed(address.takeError());
    return Linked{address->toPtr<void*>(), std::move(code)};
}

}  // namespace ingot::metal::jit
