// Gives function constants their values and folds everything that follows from them. Apple's compiler leaves
// each as an `externally_initialized` global in section "air.fc_initializer", and a static initialiser that
// copies it and derives the predicates that guard arguments: with values in place, GlobalOpt evaluates that
// at compile time. A required constant without a value is refused where the options say so, and 0 elsewhere.
#include <map>

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/GlobalOpt.h>

#include "metal/jit/analyses.h"
#include "metal/jit/metadata.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

using Scalar = std::variant<bool, int64_t, float>;

std::vector<Scalar> elements_of(const ConstantValue& value) {
    return std::visit(
        [](const auto& held) {
            if constexpr (requires { held.begin(); }) {
                return std::vector<Scalar>(held.begin(), held.end());
            } else {
                return std::vector<Scalar>{held};
            }
        },
        value);
}

bool holds_numbers(const llvm::Type* type) {
    if (type->isIntegerTy() || type->isFloatingPointTy()) return true;
    if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
        return holds_numbers(vector->getElementType());
    return (type->isArrayTy() || type->isStructTy()) && llvm::all_of(type->subtypes(), holds_numbers);
}

// Takes elements from the front of `left`; 0 when there are none, as for the fourth of a vector of three.
llvm::Constant* constant_of(llvm::Type* type, llvm::ArrayRef<Scalar>& left) {
    if (type->isIntegerTy() || type->isFloatingPointTy()) {
        if (left.empty()) return llvm::Constant::getNullValue(type);
        const Scalar value = left.front();
        left = left.drop_front();
        const double number = std::visit([](auto v) { return double(v); }, value);
        if (type->isFloatingPointTy()) return llvm::ConstantFP::get(type, number);
        const int64_t integer =
            std::holds_alternative<int64_t>(value) ? std::get<int64_t>(value) : int64_t(number);
        return llvm::ConstantInt::get(type, uint64_t(integer), true);
    }
    std::vector<llvm::Constant*> parts;
    if (auto* record = llvm::dyn_cast<llvm::StructType>(type)) {
        for (llvm::Type* element : record->elements()) parts.push_back(constant_of(element, left));
        return llvm::ConstantStruct::get(record, parts);
    }
    auto* array = llvm::dyn_cast<llvm::ArrayType>(type);
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    const uint64_t count = array != nullptr ? array->getNumElements() : vector->getNumElements();
    llvm::Type* element = array != nullptr ? array->getElementType() : vector->getElementType();
    for (uint64_t i = 0; i < count; ++i) parts.push_back(constant_of(element, left));
    return array != nullptr ? llvm::ConstantArray::get(array, parts) : llvm::ConstantVector::get(parts);
}

// "float3" -> 3
size_t num_elements(const FunctionConstant& constant) {
    const char last = constant.type_name.empty() ? '\0' : constant.type_name.back();
    return last >= '2' && last <= '4' ? size_t(last - '0') : 1;
}

const ConstantValue* value_for(const Constants& constants, const FunctionConstant& constant) {
    if (const auto found = constants.by_index.find(constant.index); found != constants.by_index.end()) {
        return &found->second;
    }
    const auto found = constants.by_name.find(constant.name);
    return found == constants.by_name.end() ? nullptr : &found->second;
}

bool used_by_code(const llvm::Value& value) {
    return llvm::any_of(value.users(), [](const llvm::User* user) {
        return llvm::isa<llvm::Instruction>(user) ||
               (llvm::isa<llvm::ConstantExpr>(user) && used_by_code(*user));
    });
}

// Constants of modules from source that tell whether another one was given a value.
void add_definedness(llvm::Module& module, const Constants& constants,
                     std::map<llvm::GlobalVariable*, const ConstantValue*>& values) {
    static const ConstantValue kDefined(true);
    const llvm::NamedMDNode* list = module.getNamedMetadata("ingot.function_constants_defined");
    if (list == nullptr) return;
    for (const llvm::MDNode* node : list->operands()) {
        if (node->getNumOperands() < 3) continue;
        const auto* value = llvm::dyn_cast_or_null<llvm::ValueAsMetadata>(node->getOperand(0).get());
        const auto* name = llvm::dyn_cast_or_null<llvm::MDString>(node->getOperand(1).get());
        const auto* index = llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(node->getOperand(2));
        auto* global = value ? llvm::dyn_cast<llvm::GlobalVariable>(value->getValue()) : nullptr;
        if (global == nullptr || name == nullptr || index == nullptr) continue;
        const FunctionConstant constant{name->getString().str(), "", uint32_t(index->getZExtValue())};
        if (value_for(constants, constant) != nullptr) values[global] = &kDefined;
    }
}

// air.normalize_function_constant_predicate.T(x) is x != 0.
void define_normalisers(llvm::Module& module) {
    for (llvm::Function& function : module) {
        if (!function.isDeclaration() ||
            !function.getName().starts_with("air.normalize_function_constant_predicate")) {
            continue;
        }
        llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "", &function));
        llvm::Value* x = function.getArg(0);
        b.CreateRet(b.CreateZExt(b.CreateICmpNE(x, llvm::ConstantInt::get(x->getType(), 0)),
                                 function.getReturnType()));
        function.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
}

void evaluate_initialisers(llvm::Module& module) {
    Analyses analyses;
    llvm::ModulePassManager passes;
    passes.addPass(llvm::GlobalOptPass());
    passes.addPass(llvm::GlobalDCEPass());
    passes.run(module, analyses.modules);
}

}  // namespace

Result<void> specialise_constants(llvm::Module& module, PassState& state) {
    std::map<llvm::GlobalVariable*, const ConstantValue*> values;
    std::string missing;
    for (const ConstantGlobal& entry : read_function_constants(module)) {
        const FunctionConstant& constant = entry.constant;
        const ConstantValue* value = value_for(state.options.constants, constant);
        values[entry.global] = value;
        if (value != nullptr && elements_of(*value).size() != num_elements(constant)) {
            return fail(ErrorKind::kInvalidArgument,
                        "function constant '{}' of type {} was given {} elements", constant.name,
                        constant.type_name, elements_of(*value).size());
        }
        if (value == nullptr && constant.required && used_by_code(*entry.global)) {
            missing += fmt::format("{}{} {} (index {})", missing.empty() ? "" : ", ", constant.type_name,
                                   constant.name, constant.index);
        }
    }
    if (state.options.require_constants && !missing.empty()) {
        return fail(ErrorKind::kInvalidArgument, "function constants without a value: {}", missing);
    }
    add_definedness(module, state.options.constants, values);
    for (llvm::GlobalVariable& global : module.globals()) {
        if (global.getSection() != "air.fc_initializer") continue;
        llvm::Type* type = global.getValueType();
        if (!holds_numbers(type)) {
            return fail(ErrorKind::kUnsupported,
                        "function constant '{}' is no number, bool, or vector of them",
                        global.getName().str());
        }
        const auto found = values.find(&global);
        const ConstantValue* value = found == values.end() ? nullptr : found->second;
        const std::vector<Scalar> elements = value != nullptr ? elements_of(*value) : std::vector<Scalar>();
        llvm::ArrayRef<Scalar> left = elements;
        global.setInitializer(constant_of(type, left));
        global.setExternallyInitialized(false);
        global.setSection("");
        global.setConstant(true);
        global.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
    for (llvm::Function& function : module) {
        if (function.getSection() == "air.static_init") function.setSection("");
    }
    // They would keep the globals alive, and mean nothing here.
    for (const char* name : {"llvm.compiler.used", "llvm.used"}) {
        if (llvm::GlobalVariable* global = module.getGlobalVariable(name, true)) global->eraseFromParent();
    }
    if (llvm::GlobalVariable* initialisers = module.getGlobalVariable("llvm.global_ctors", true)) {
        define_normalisers(module);
        evaluate_initialisers(module);
        initialisers = module.getGlobalVariable("llvm.global_ctors", true);
        if (initialisers != nullptr) {
            const auto* type = llvm::dyn_cast<llvm::ArrayType>(initialisers->getValueType());
            if (type != nullptr && type->getNumElements() != 0) {
                return fail(ErrorKind::kUnsupported,
                            "a static initialiser can't be evaluated at compile time");
            }
            initialisers->eraseFromParent();
        }
    }
    return {};
}

}  // namespace ingot::metal::jit
