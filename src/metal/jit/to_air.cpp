#include "metal/jit/to_air.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/InferAddressSpaces.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Scalar/TailRecursionElimination.h>

#include "metal/exec/air_form.h"
#include "metal/jit/address_spaces.h"
#include "metal/jit/analyses.h"
#include "metal/jit/convergence.h"
#include "metal/jit/define_arithmetic.h"
#include "metal/jit/import_module.h"
#include "metal/jit/language_rules.h"
#include "metal/jit/pass.h"
#include "metal/jit/passes/watcher.h"

namespace ingot::metal::jit {
namespace {

constexpr const char *kEntryFunction = "ingot_entry_function", *kArguments = "ingot_arguments",
                     *kConstants = "ingot_constants", *kMaxThreads = "ingot_max_threads";

// The structs of include/ingot_msl/entry.h, by position.
enum ArgumentField : unsigned {
    kKind,
    kName,
    kTypeName,
    kGuard,
    kSpace,
    kSlot,
    kSize,
    kAlign,
    kReference,
    kWritable,
    kRestrict
};
enum ConstantField : unsigned { kValue, kDefined, kConstantName, kConstantType, kIndex };

std::string string_at(const llvm::Constant* pointer) {
    const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(pointer->stripPointerCasts());
    if (global == nullptr || !global->hasInitializer()) return "";
    const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(global->getInitializer());
    return data != nullptr && data->isCString() ? data->getAsCString().str() : "";
}

uint64_t number_at(const llvm::Constant* value) {
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(value);
    return number == nullptr ? 0 : number->getZExtValue();
}

// "const char *ingot_msl::type_name() [T = metal::vec<float, 4>]" -> "float4"
std::string type_name(const std::string& pretty) {
    const size_t begin = pretty.find("T = "), end = pretty.rfind(']');
    if (begin == std::string::npos || end == std::string::npos || end < begin + 4) return pretty;
    std::string name = pretty.substr(begin + 4, end - begin - 4);
    constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
        {"_Float16", "half"},
        {"__bf16", "bfloat"},
        {"unsigned char", "uchar"},
        {"unsigned short", "ushort"},
        {"unsigned int", "uint"},
        {"unsigned long", "ulong"},
        {"metal::packed_vec", "packed_vec"}};
    for (const auto& [from, to] : kSpellings) {
        for (size_t at = name.find(from); at != std::string::npos; at = name.find(from, at)) {
            name.replace(at, from.size(), to);
        }
    }
    for (const auto& [prefix, packed] : {std::pair("metal::vec<", ""), std::pair("packed_vec<", "packed_")}) {
        const size_t comma = name.rfind(", ");
        if (!name.starts_with(prefix) || !name.ends_with('>') || comma == std::string::npos) continue;
        const size_t first = std::string_view(prefix).size();
        name = packed + name.substr(first, comma - first) + name.substr(comma + 2, name.size() - comma - 3);
    }
    return name;
}

// Rows of a table that the front end left, one constant struct each.
std::vector<llvm::Constant*> rows(llvm::Module& module, const char* table) {
    std::vector<llvm::Constant*> rows;
    llvm::GlobalVariable* global = module.getGlobalVariable(table, true);
    if (global == nullptr || !global->hasInitializer()) return rows;
    llvm::Constant* array = global->getInitializer();
    for (unsigned i = 0; llvm::Constant* row = array->getAggregateElement(i); ++i) {
        if (!row->isNullValue()) rows.push_back(row);  // the last is all zeros: no C++ array is empty
    }
    return rows;
}

class MetadataWriter {
  public:
    explicit MetadataWriter(llvm::Module& module) : module_(module), context_(module.getContext()) {}

    llvm::MDNode* argument(unsigned position, llvm::Constant* row);
    void kernel(llvm::Function& function, const std::vector<llvm::Metadata*>& arguments,
                uint64_t max_threads);
    void function_constants();

  private:
    llvm::Metadata* number(uint64_t value) {
        return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context_), value));
    }
    llvm::Metadata* text(llvm::StringRef value) { return llvm::MDString::get(context_, value); }
    llvm::MDNode* node(llvm::ArrayRef<llvm::Metadata*> operands) {
        return llvm::MDNode::get(context_, operands);
    }
    llvm::Metadata* guard(llvm::Constant* global);

    llvm::Module& module_;
    llvm::LLVMContext& context_;
};

llvm::Metadata* MetadataWriter::guard(llvm::Constant* global) {
    for (const llvm::Constant* row : rows(module_, kConstants)) {
        if (row->getAggregateElement(kValue)->stripPointerCasts() != global) continue;
        return node({llvm::ConstantAsMetadata::get(global), text("bool"),
                     text(string_at(row->getAggregateElement(kConstantName)))});
    }
    return node({llvm::ConstantAsMetadata::get(global), text("bool"), text(global->getName())});
}

llvm::MDNode* MetadataWriter::argument(unsigned position, llvm::Constant* row) {
    const auto field = [&](unsigned index) { return row->getAggregateElement(index); };
    std::vector<llvm::Metadata*> operands{number(position)};
    const std::string kind = string_at(field(kKind));
    llvm::Constant* guarded_by = field(kGuard)->stripPointerCasts();
    if (!guarded_by->isNullValue()) {
        operands.push_back(text("air.function_constant"));
        operands.push_back(guard(guarded_by));
    }
    const bool is_memory = kind == "buffer" || kind == "threadgroup";
    operands.push_back(text(is_memory ? "air.buffer" : "air." + kind));
    if (is_memory) {
        if (const uint64_t bytes = number_at(field(kReference)); bytes != 0) {
            operands.push_back(text("air.buffer_size"));
            operands.push_back(number(bytes));
        }
        operands.insert(operands.end(),
                        {text("air.location_index"), number(number_at(field(kSlot))), number(1),
                         text(number_at(field(kWritable)) != 0 ? "air.read_write" : "air.read"),
                         text("air.address_space"), number(number_at(field(kSpace))),
                         text("air.arg_type_size"), number(number_at(field(kSize))),
                         text("air.arg_type_align_size"), number(number_at(field(kAlign)))});
    }
    operands.insert(operands.end(), {text("air.arg_type_name"), text(type_name(string_at(field(kTypeName)))),
                                     text("air.arg_name"), text(string_at(field(kName)))});
    return node(operands);
}

void MetadataWriter::kernel(llvm::Function& function, const std::vector<llvm::Metadata*>& arguments,
                            uint64_t max_threads) {
    std::vector<llvm::Metadata*> operands{llvm::ConstantAsMetadata::get(&function), node({}),
                                          node(arguments)};
    if (max_threads != 0 && max_threads < kMaxThreadsPerThreadgroup) {
        operands.push_back(node({text("air.max_work_group_size"), number(max_threads)}));
    }
    module_.getOrInsertNamedMetadata("air.kernel")->addOperand(node(operands));
}

// External globals become what Apple's compiler makes of function constants.
void MetadataWriter::function_constants() {
    const auto prepare = [](llvm::Constant* pointer) {
        auto* global = llvm::dyn_cast<llvm::GlobalVariable>(pointer->stripPointerCasts());
        if (global == nullptr || !global->isDeclaration()) return static_cast<llvm::GlobalVariable*>(nullptr);
        global->setConstant(true);
        global->setExternallyInitialized(true);
        global->setSection("air.fc_initializer");
        global->setDSOLocal(false);
        return global;
    };
    for (llvm::Constant* row : rows(module_, kConstants)) {
        llvm::GlobalVariable* value = prepare(row->getAggregateElement(kValue));
        llvm::GlobalVariable* defined = prepare(row->getAggregateElement(kDefined));
        if (value == nullptr || defined == nullptr) continue;
        llvm::Metadata* index = number(number_at(row->getAggregateElement(kIndex)));
        llvm::Metadata* name = text(string_at(row->getAggregateElement(kConstantName)));
        module_.getOrInsertNamedMetadata("air.function_constants")
            ->addOperand(node({llvm::ConstantAsMetadata::get(value),
                               text(type_name(string_at(row->getAggregateElement(kConstantType)))), name,
                               index, number(1)}));
        module_.getOrInsertNamedMetadata("ingot.function_constants_defined")
            ->addOperand(node({llvm::ConstantAsMetadata::get(defined), name, index}));
    }
}

Result<llvm::Function*> describe(llvm::Module& module, std::string_view name) {
    llvm::Function* entry = module.getFunction(kEntryFunction);
    if (entry == nullptr || entry->isDeclaration()) {
        return fail(ErrorKind::kCorrupt, "the module has no {}", kEntryFunction);
    }
    MetadataWriter writer(module);
    std::vector<llvm::Metadata*> arguments;
    for (llvm::Constant* row : rows(module, kArguments)) {
        const unsigned position = unsigned(arguments.size());
        arguments.push_back(writer.argument(position, row));
        if (number_at(row->getAggregateElement(kRestrict)) != 0 && position < entry->arg_size())
            entry->addParamAttr(position, llvm::Attribute::get(module.getContext(), kRestrictAttribute));
    }
    if (arguments.size() != entry->arg_size()) {
        return fail(ErrorKind::kCorrupt, "{} arguments are described, the entry has {}", arguments.size(),
                    entry->arg_size());
    }
    const llvm::GlobalVariable* max_threads = module.getGlobalVariable(kMaxThreads, true);
    entry->setName(llvm::StringRef(name.data(), name.size()));
    writer.kernel(*entry, arguments,
                  max_threads != nullptr && max_threads->hasInitializer()
                      ? number_at(max_threads->getInitializer())
                      : 0);
    writer.function_constants();
    for (const char* table : {kArguments, kConstants, kMaxThreads}) {
        if (llvm::GlobalVariable* global = module.getGlobalVariable(table, true)) {
            if (!global->use_empty()) return fail(ErrorKind::kCorrupt, "the source uses '{}'", table);
            global->eraseFromParent();
        }
    }
    return entry;
}

// One kernel and its helpers; all of these go into it.
void internalise(llvm::Module& module, llvm::Function& entry) {
    for (const char* name : {"llvm.used", "llvm.compiler.used"}) {
        if (llvm::GlobalVariable* global = module.getGlobalVariable(name, true)) global->eraseFromParent();
    }
    for (llvm::Function& function : module) {
        function.setComdat(nullptr);
        if (function.isDeclaration()) continue;
        function.removeFnAttr(llvm::Attribute::NoInline);
        function.removeFnAttr(llvm::Attribute::OptimizeNone);
        function.removeFnAttr("target-cpu");
        function.removeFnAttr("target-features");
        if (&function == &entry) continue;
        function.setLinkage(llvm::GlobalValue::InternalLinkage);
        function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
    for (llvm::GlobalVariable& global : module.globals()) {
        global.setComdat(nullptr);
        if (global.isDeclaration() || global.getName().starts_with("llvm.")) continue;
        // Optimisers mustn't conclude from an internal variable that nobody else writes it: other threads do.
        const bool shared = global.getAddressSpace() == kThreadgroupSpace;
        global.setLinkage(shared ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage);
    }
}

// A constant isn't required if the kernel asks whether it has a value.
void mark_required(llvm::Module& module) {
    llvm::NamedMDNode* list = module.getNamedMetadata("air.function_constants");
    const llvm::NamedMDNode* defined = module.getNamedMetadata("ingot.function_constants_defined");
    if (list == nullptr || defined == nullptr) return;
    std::set<const llvm::Metadata*> asked;  // indices: equal numbers are one node
    for (const llvm::MDNode* node : defined->operands()) asked.insert(node->getOperand(2).get());
    llvm::Metadata* no =
        llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(module.getContext()), 0));
    for (llvm::MDNode* node : list->operands()) {
        if (asked.contains(node->getOperand(3).get())) node->replaceOperandWith(4, no);
    }
}

// The scalars and vectors of a variable, at most `kMostMarks`; false if there are more, or others.
constexpr size_t kMostMarks = 64;
bool find_leaves(llvm::Type* type, llvm::SmallVectorImpl<llvm::Value*>& path,
                 std::vector<std::pair<llvm::SmallVector<llvm::Value*>, llvm::Type*>>& leaves) {
    const auto* array = llvm::dyn_cast<llvm::ArrayType>(type);
    const auto* record = llvm::dyn_cast<llvm::StructType>(type);
    if (array == nullptr && record == nullptr) {
        if (!type->isIntOrIntVectorTy() && !type->isFPOrFPVectorTy()) return true;
        leaves.emplace_back(llvm::SmallVector<llvm::Value*>(path.begin(), path.end()), type);
        return leaves.size() <= kMostMarks;
    }
    const uint64_t count = array != nullptr ? array->getNumElements() : record->getNumElements();
    for (uint64_t i = 0; i < count; ++i) {
        path.push_back(llvm::ConstantInt::get(llvm::Type::getInt32Ty(type->getContext()), i));
        const bool few = find_leaves(
            array != nullptr ? array->getElementType() : record->getElementType(unsigned(i)), path, leaves);
        path.pop_back();
        if (!few) return false;
    }
    return true;
}

// What a variable of the type holds at first. Three elements lie in memory as four, of which the last is
// nobody's.
llvm::Value* undefined_mark(llvm::Module& module, llvm::IRBuilder<>& b, llvm::Type* type) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    const bool is_three = vector != nullptr && vector->getNumElements() == 3;
    if (is_three) type = llvm::FixedVectorType::get(vector->getElementType(), 4);
    std::string name = kUndefinedMark;
    llvm::raw_string_ostream(name) << *type;
    auto* function = llvm::cast<llvm::Function>(
        module.getOrInsertFunction(name, llvm::FunctionType::get(type, false)).getCallee());
    function->setDoesNotAccessMemory();
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr(llvm::Attribute::WillReturn);
    llvm::Value* mark = b.CreateCall(function);
    return is_three ? b.CreateInsertElement(mark, llvm::Constant::getNullValue(vector->getElementType()), 3)
                    : mark;
}

// Where the program comes to a variable's declaration: in a loop, each time.
std::vector<llvm::Instruction*> beginnings(llvm::AllocaInst& variable) {
    std::vector<llvm::Instruction*> found;
    for (llvm::User* user : variable.users()) {
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user);
        if (call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::lifetime_start)
            found.push_back(call);
    }
    if (found.empty()) found.push_back(&variable);
    return found;
}

// Where the front end asks for it (SourceOptions::watch_locals), variables begin with marks that
// passes/watch_undefined.cpp follows.
void mark_variables(llvm::Module& module) {
    llvm::GlobalVariable* asked = module.getGlobalVariable("ingot_watch_locals", true);
    if (asked == nullptr) return;
    if (asked->use_empty()) asked->eraseFromParent();
    std::vector<llvm::AllocaInst*> variables;
    for (llvm::Function& function : module) {
        for (llvm::Instruction& instruction : llvm::instructions(function)) {
            if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
                variables.push_back(variable);
        }
    }
    for (llvm::AllocaInst* variable : variables) {
        llvm::SmallVector<llvm::Value*> path{
            llvm::ConstantInt::get(llvm::Type::getInt32Ty(module.getContext()), 0)};
        std::vector<std::pair<llvm::SmallVector<llvm::Value*>, llvm::Type*>> leaves;
        if (variable->isArrayAllocation() || !find_leaves(variable->getAllocatedType(), path, leaves))
            continue;
        for (llvm::Instruction* beginning : beginnings(*variable)) {
            llvm::IRBuilder<> b(beginning->getParent(), std::next(beginning->getIterator()));
            b.SetCurrentDebugLocation(llvm::DebugLoc());
            for (const auto& [where, type] : leaves) {
                b.CreateAlignedStore(undefined_mark(module, b, type),
                                     b.CreateInBoundsGEP(variable->getAllocatedType(), variable, where),
                                     llvm::Align(1));
            }
        }
    }
}

// Says of a constant with an initialiser at run time that it is constant from there on.
void drop_invariant_markers(llvm::Module& module) {
    for (llvm::Function& function : module) {
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
            const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
            if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::invariant_start) continue;
            if (call->use_empty()) instruction.eraseFromParent();
        }
    }
}

// What is left of function constants that the kernel doesn't use.
void drop_unused_constants(llvm::Module& module) {
    for (const char* name : {"air.function_constants", "ingot.function_constants_defined"}) {
        llvm::NamedMDNode* list = module.getNamedMetadata(name);
        if (list == nullptr) continue;
        std::vector<llvm::MDNode*> kept;
        for (llvm::MDNode* node : list->operands()) {
            const auto* value = llvm::dyn_cast_or_null<llvm::ValueAsMetadata>(node->getOperand(0).get());
            if (value != nullptr && !value->getValue()->use_empty()) kept.push_back(node);
        }
        list->clearOperands();
        for (llvm::MDNode* node : kept) list->addOperand(node);
        if (kept.empty()) list->eraseFromParent();
    }
}

void simplify(llvm::Module& module) {
    constexpr unsigned kGeneric = 0;
    Analyses analyses;
    llvm::ModulePassManager passes;
    passes.addPass(llvm::GlobalDCEPass());
    // A function that calls itself last is a loop, also for Apple's compiler.
    llvm::FunctionPassManager loops;
    loops.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    loops.addPass(llvm::SimplifyCFGPass());
    loops.addPass(llvm::TailCallElimPass());
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(loops)));
    passes.addPass(analyses.builder.buildModuleSimplificationPipeline(llvm::OptimizationLevel::O1,
                                                                      llvm::ThinOrFullLTOPhase::None));
    llvm::FunctionPassManager finish;
    finish.addPass(llvm::InferAddressSpacesPass(kGeneric));
    finish.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    finish.addPass(llvm::EarlyCSEPass(true));
    finish.addPass(llvm::InstCombinePass());
    finish.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(finish)));
    passes.addPass(llvm::GlobalDCEPass());
    passes.run(module, analyses.modules);
}

}  // namespace

Result<void> to_air(llvm::Module& module, std::string_view name) {
    INGOT_ASSIGN(llvm::Function * entry, describe(module, name));
    internalise(module, *entry);
    const bool strict = take_strict_mark(module);
    INGOT_TRY(refuse_program_variables(module, ProgramVariables::kDeclared));
    // Optimising makes loops of functions that call themselves last, and folds calls whose depth is constant.
    if (strict) INGOT_TRY(refuse_recursion(module));
    drop_invariant_markers(module);
    mark_variables(module);
    INGOT_TRY(define_arithmetic(module));
    mark_convergent(module);
    simplify(module);
    INGOT_TRY(refuse_recursion(module));
    INGOT_TRY(refuse_program_variables(module, ProgramVariables::kWritten));
    // Threadgroup variables stay external: later optimisers mustn't reason about who writes them either.
    for (llvm::GlobalVariable& global : llvm::make_early_inc_range(module.globals())) {
        global.removeDeadConstantUsers();
        if (global.getAddressSpace() == kThreadgroupSpace && global.use_empty()) global.eraseFromParent();
    }
    INGOT_TRY(check_declared_spaces(module));
    INGOT_TRY(settle_address_spaces(module));
    drop_unused_constants(module);
    mark_required(module);
    module.setTargetTriple("air64_v28-apple-macosx26.0.0");
    return {};
}

namespace {

AirModule air_module(std::span<const std::byte> bytes, std::string_view name) {
    llvm::LLVMContext context;
    const llvm::StringRef data(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(data, "source"), context);
    if (!module) return fail(ErrorKind::kCorrupt, "not LLVM bitcode: {}", llvm::toString(module.takeError()));
    INGOT_TRY(to_air(**module, name));
    INGOT_TRY(check_module(**module));
    INGOT_TRY(verify(**module, "the steps to AIR"));
    llvm::SmallVector<char> bitcode;
    llvm::raw_svector_ostream stream(bitcode);
    llvm::WriteBitcodeToFile(**module, stream);
    const auto written = std::as_bytes(std::span(bitcode.data(), bitcode.size()));
    return std::vector<std::byte>(written.begin(), written.end());
}

}  // namespace
}  // namespace ingot::metal::jit

extern "C" __attribute__((visibility("default"))) void ingot_metal_to_air(std::span<const std::byte> module,
                                                                          std::string_view name,
                                                                          ingot::metal::AirModule* result) {
    *result = ingot::metal::jit::air_module(module, name);
}
