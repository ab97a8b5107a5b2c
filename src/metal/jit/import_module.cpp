#include "metal/jit/import_module.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace ingot::metal::jit {
namespace {

// Prefixes of external functions; each must still be known to a lowering.
constexpr llvm::StringRef kKnownPrefixes[] = {"air.", "__tensorops_impl_"};
// Functions of the device: passes put in calls of them.
constexpr llvm::StringRef kOwnPrefixes[] = {"ingot.", "ingot_"};

bool starts_with_one_of(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> prefixes) {
    return llvm::any_of(prefixes, [&](llvm::StringRef prefix) { return name.starts_with(prefix); });
}

bool known_intrinsic(llvm::Intrinsic::ID id) {
    using namespace llvm;
    switch (id) {
        case Intrinsic::abs:
        case Intrinsic::assume:
        case Intrinsic::bitreverse:
        case Intrinsic::bswap:
        case Intrinsic::ceil:
        case Intrinsic::copysign:
        case Intrinsic::cos:
        case Intrinsic::ctlz:
        case Intrinsic::ctpop:
        case Intrinsic::cttz:
        case Intrinsic::dbg_declare:
        case Intrinsic::dbg_label:
        case Intrinsic::dbg_value:
        case Intrinsic::exp:
        case Intrinsic::exp10:
        case Intrinsic::exp2:
        case Intrinsic::expect:
        case Intrinsic::experimental_noalias_scope_decl:
        case Intrinsic::fabs:
        case Intrinsic::floor:
        case Intrinsic::fma:
        case Intrinsic::fmuladd:
        case Intrinsic::fptosi_sat:
        case Intrinsic::fptoui_sat:
        case Intrinsic::fshl:
        case Intrinsic::fshr:
        case Intrinsic::is_fpclass:
        case Intrinsic::ldexp:
        case Intrinsic::lifetime_end:
        case Intrinsic::lifetime_start:
        case Intrinsic::log:
        case Intrinsic::log10:
        case Intrinsic::log2:
        case Intrinsic::maximum:
        case Intrinsic::maxnum:
        case Intrinsic::memcpy:
        case Intrinsic::memmove:
        case Intrinsic::memset:
        case Intrinsic::minimum:
        case Intrinsic::minnum:
        case Intrinsic::nearbyint:
        case Intrinsic::pow:
        case Intrinsic::powi:
        case Intrinsic::rint:
        case Intrinsic::round:
        case Intrinsic::roundeven:
        case Intrinsic::sadd_sat:
        case Intrinsic::sadd_with_overflow:
        case Intrinsic::sin:
        case Intrinsic::smax:
        case Intrinsic::smin:
        case Intrinsic::smul_with_overflow:
        case Intrinsic::sqrt:
        case Intrinsic::ssub_sat:
        case Intrinsic::ssub_with_overflow:
        case Intrinsic::tan:
        case Intrinsic::trunc:
        case Intrinsic::uadd_sat:
        case Intrinsic::uadd_with_overflow:
        case Intrinsic::umax:
        case Intrinsic::umin:
        case Intrinsic::umul_with_overflow:
        case Intrinsic::usub_sat:
        case Intrinsic::usub_with_overflow:
        case Intrinsic::vector_reduce_add:
        case Intrinsic::vector_reduce_and:
        case Intrinsic::vector_reduce_fadd:
        case Intrinsic::vector_reduce_or:
        case Intrinsic::vector_reduce_xor:
            return true;
        default:
            return false;
    }
}

Result<void> check_function(const llvm::Function& function, Origin origin) {
    const llvm::StringRef name = function.getName();
    if (function.hasPersonalityFn())
        return fail(ErrorKind::kUnsupported, "'{}' handles exceptions", name.str());
    if (function.isIntrinsic()) {
        if (known_intrinsic(function.getIntrinsicID())) return {};
        return fail(ErrorKind::kUnsupported, "the module calls '{}', which no Metal compiler emits",
                    name.str());
    }
    if (function.isDeclaration()) {
        if (starts_with_one_of(name, kKnownPrefixes)) return {};
        if (origin == Origin::kPass && starts_with_one_of(name, kOwnPrefixes)) return {};
        return fail(ErrorKind::kUnsupported, "the module calls '{}', which is no function of Metal",
                    name.str());
    }
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
        if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
            if (!llvm::isa<llvm::CallInst>(call)) {
                return fail(ErrorKind::kUnsupported, "'{}' has a call that may throw or branch", name.str());
            }
            if (call->isInlineAsm())
                return fail(ErrorKind::kUnsupported, "'{}' has inline assembly", name.str());
            if (call->getCalledFunction() == nullptr) {
                return fail(ErrorKind::kUnsupported, "'{}' has an indirect call", name.str());
            }
        }
        if (llvm::isa<llvm::IndirectBrInst, llvm::LandingPadInst, llvm::VAArgInst>(instruction)) {
            return fail(ErrorKind::kUnsupported, "'{}' has a '{}' instruction", name.str(),
                        instruction.getOpcodeName());
        }
    }
    return {};
}

// LLVM reports some broken bitcode through the context instead of a return value; the default handler exits.
class Diagnostics : public llvm::DiagnosticHandler {
  public:
    bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
        return info.getSeverity() == llvm::DS_Error || info.getSeverity() == llvm::DS_Warning;
    }
};

}  // namespace

Result<void> check_module(const llvm::Module& module, Origin origin) {
    if (!module.getModuleInlineAsm().empty())
        return fail(ErrorKind::kUnsupported, "the module has inline assembly");
    if (!module.alias_empty() || !module.ifunc_empty()) {
        return fail(ErrorKind::kUnsupported, "the module has aliases or ifuncs");
    }
    for (const llvm::GlobalVariable& global : module.globals()) {
        if (global.isThreadLocal()) {
            return fail(ErrorKind::kUnsupported, "'{}' is thread-local", global.getName().str());
        }
        // Would be looked up in this process.
        if (global.isDeclaration() && global.getSection() != "air.fc_initializer") {
            return fail(ErrorKind::kUnsupported, "the module needs '{}' from elsewhere",
                        global.getName().str());
        }
    }
    for (const llvm::Function& function : module) INGOT_TRY(check_function(function, origin));
    return {};
}

Result<void> verify(const llvm::Module& module, std::string_view after) {
    constexpr size_t kMaxVerifierText = 400;  // the complaint and the instructions it is about
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (!llvm::verifyModule(module, &stream)) return {};
    return fail(ErrorKind::kCorrupt, "LLVM's verifier refuses the module after {}: {}", after,
                text.substr(0, kMaxVerifierText));
}

namespace {

Result<std::unique_ptr<llvm::Module>> parse_text(std::string_view ir, Origin origin,
                                                 llvm::LLVMContext& context) {
    context.setDiscardValueNames(false);  // the parser needs them
    llvm::SMDiagnostic error;
    const std::string terminated(ir);  // the parser reads up to a zero
    auto module = llvm::parseAssemblyString(terminated, error, context);
    if (!module) {
        return fail(ErrorKind::kCorrupt, "line {}: {}", error.getLineNo(), error.getMessage().str());
    }
    INGOT_TRY(check_module(*module, origin));
    return module;
}

}  // namespace

Result<std::unique_ptr<llvm::Module>> import_module(std::span<const std::byte> bytes, std::string_view name,
                                                    llvm::LLVMContext& context) {
    constexpr llvm::StringRef kMagic = "BC\xC0\xDE", kWrapperMagic = "\xDE\xC0\x17\x0B";
    context.setDiagnosticHandler(std::make_unique<Diagnostics>());
    const llvm::StringRef data(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!data.starts_with(kMagic) && !data.starts_with(kWrapperMagic)) {
        INGOT_ASSIGN(auto parsed, parse_text({data.data(), data.size()}, Origin::kMetal, context));
        INGOT_TRY(verify(*parsed, "reading"));
        return parsed;
    }
    auto module = llvm::parseBitcodeFile(
        llvm::MemoryBufferRef(data, llvm::StringRef(name.data(), name.size())), context);
    if (!module) return fail(ErrorKind::kCorrupt, "not LLVM bitcode: {}", llvm::toString(module.takeError()));
    INGOT_TRY(check_module(**module));
    INGOT_TRY(verify(**module, "reading"));
    return std::move(*module);
}

Result<std::unique_ptr<llvm::Module>> import_text(std::string_view ir, llvm::LLVMContext& context) {
    return parse_text(ir, Origin::kPass, context);
}

}  // namespace ingot::metal::jit
