#include "metal/jit/metadata.h"

#include <optional>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>

#include "metal/jit/pass.h"

namespace ingot::metal::jit {
namespace {

// A node's operands, read front to back.
class NodeReader {
  public:
    explicit NodeReader(const llvm::MDNode& node) : node_(node) {}

    bool done() const { return at_ >= node_.getNumOperands(); }
    std::optional<llvm::StringRef> text() {
        const auto* string = llvm::dyn_cast_or_null<llvm::MDString>(next());
        return string ? std::optional<llvm::StringRef>(string->getString()) : std::nullopt;
    }
    std::optional<uint64_t> number() {
        const auto* value = llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(next());
        return value ? std::optional<uint64_t>(value->getZExtValue()) : std::nullopt;
    }
    const llvm::MDNode* node() { return llvm::dyn_cast_or_null<llvm::MDNode>(next()); }
    void skip() { ++at_; }

  private:
    const llvm::Metadata* next() { return done() ? nullptr : node_.getOperand(at_++).get(); }

    const llvm::MDNode& node_;
    unsigned at_ = 0;
};

std::string string_operand(const llvm::MDNode& node, unsigned index) {
    if (index >= node.getNumOperands()) return {};
    const auto* string = llvm::dyn_cast_or_null<llvm::MDString>(node.getOperand(index).get());
    return string ? string->getString().str() : std::string();
}

void set_kind(Argument& argument, llvm::StringRef kind, std::string& unknown) {
    if (kind == "buffer") {
        argument.kind = ArgumentKind::kBuffer;
    } else if (kind == "indirect_buffer") {
        argument.kind = ArgumentKind::kIndirectBuffer;
    } else if (const auto index = index_kind_from_name({kind.data(), kind.size()})) {
        argument.kind = *index;
    } else {
        unknown = kind.str();
    }
}

// !{i32 position, [!"air.function_constant", !guard,] !"air.KIND", attributes...}
Result<Argument> read_argument(const llvm::MDNode& node) {
    Argument argument;
    NodeReader reader(node);
    const auto position = reader.number();
    if (!position) return fail(ErrorKind::kCorrupt, "an argument's metadata has no position");
    argument.position = uint32_t(*position);
    bool has_kind = false;
    std::string unknown;
    while (!reader.done()) {
        const auto key = reader.text();
        if (!key) continue;
        const auto number = [&] { return uint32_t(reader.number().value_or(0)); };
        if (*key == "air.function_constant") {
            argument.guarded = true;
            if (const auto* guard = reader.node()) argument.guard = string_operand(*guard, 2);
        } else if (*key == "air.buffer_size") {
            argument.reference_size_bytes = number();
        } else if (*key == "air.location_index") {
            argument.slot = number();
            reader.skip();
        } else if (*key == "air.address_space") {
            const uint32_t space = number();
            argument.in_constant_space = space == 2;
            if (space == 3) argument.kind = ArgumentKind::kThreadgroup;
        } else if (*key == "air.read") {
            argument.access = Access::kRead;
        } else if (*key == "air.write") {
            argument.access = Access::kWrite;
        } else if (*key == "air.read_write") {
            argument.access = Access::kReadWrite;
        } else if (*key == "air.struct_type_info") {
            reader.skip();
        } else if (*key == "air.arg_type_size") {
            argument.type_size_bytes = number();
        } else if (*key == "air.arg_type_align_size") {
            argument.type_align_bytes = number();
        } else if (*key == "air.arg_type_name") {
            argument.type_name = reader.text().value_or("").str();
        } else if (*key == "air.arg_name") {
            argument.name = reader.text().value_or("").str();
        } else if (*key == "air.arg_unused") {
            argument.unused = true;
        } else if (!has_kind && key->starts_with("air.")) {
            has_kind = true;
            set_kind(argument, key->drop_front(4), unknown);
        }
    }
    if (!unknown.empty() && !argument.unused) {
        return fail(ErrorKind::kUnsupported, "argument {} ('{}') is a '{}', which this device doesn't serve",
                    *position, argument.name, unknown);
    }
    if (!has_kind) return fail(ErrorKind::kCorrupt, "argument {} has no kind", *position);
    return argument;
}

}  // namespace

Result<KernelMetadata> read_kernel_metadata(llvm::Module& module) {
    const llvm::NamedMDNode* kernels = module.getNamedMetadata("air.kernel");
    if (kernels == nullptr || kernels->getNumOperands() != 1) {
        return fail(ErrorKind::kUnsupported, "the module has {} kernels, exactly one is accepted",
                    kernels == nullptr ? 0 : kernels->getNumOperands());
    }
    const llvm::MDNode& node = *kernels->getOperand(0);
    KernelMetadata result;
    if (node.getNumOperands() >= 3) {
        if (auto* value = llvm::dyn_cast_or_null<llvm::ValueAsMetadata>(node.getOperand(0).get())) {
            result.function = llvm::dyn_cast<llvm::Function>(value->getValue()->stripPointerCasts());
        }
    }
    const auto* arguments =
        result.function ? llvm::dyn_cast_or_null<llvm::MDNode>(node.getOperand(2).get()) : nullptr;
    if (arguments == nullptr || result.function->isDeclaration()) {
        return fail(ErrorKind::kCorrupt, "!air.kernel names no function with arguments");
    }
    result.info.name = result.function->getName().str();
    for (const llvm::MDOperand& operand : arguments->operands()) {
        const auto* argument_node = llvm::dyn_cast_or_null<llvm::MDNode>(operand.get());
        if (argument_node == nullptr) return fail(ErrorKind::kCorrupt, "an argument's metadata is no node");
        INGOT_ASSIGN(Argument argument, read_argument(*argument_node));
        if (argument.position >= result.function->arg_size()) {
            return fail(ErrorKind::kCorrupt, "metadata for argument {}, the function takes {}",
                        argument.position, result.function->arg_size());
        }
        const auto promises = result.function->getAttributes().getParamAttrs(argument.position);
        argument.is_restrict =
            promises.hasAttribute(llvm::Attribute::NoAlias) || promises.hasAttribute(kRestrictAttribute);
        result.info.arguments.push_back(std::move(argument));
    }
    for (unsigned i = 3; i < node.getNumOperands(); ++i) {
        const auto* extra = llvm::dyn_cast_or_null<llvm::MDNode>(node.getOperand(i).get());
        if (extra == nullptr || string_operand(*extra, 0) != "air.max_work_group_size") continue;
        NodeReader reader(*extra);
        reader.skip();
        result.info.max_threads_per_threadgroup = uint32_t(reader.number().value_or(1024));
    }
    for (const ConstantGlobal& constant : read_function_constants(module)) {
        result.info.constants.push_back(constant.constant);
    }
    return result;
}

std::vector<ConstantGlobal> read_function_constants(llvm::Module& module) {
    std::vector<ConstantGlobal> constants;
    const llvm::NamedMDNode* list = module.getNamedMetadata("air.function_constants");
    if (list == nullptr) return constants;
    for (const llvm::MDNode* node : list->operands()) {
        if (node->getNumOperands() < 4) continue;
        const auto* value = llvm::dyn_cast_or_null<llvm::ValueAsMetadata>(node->getOperand(0).get());
        const auto* index = llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(node->getOperand(3));
        auto* global =
            value ? llvm::dyn_cast<llvm::GlobalVariable>(value->getValue()->stripPointerCasts()) : nullptr;
        if (global == nullptr || index == nullptr) continue;
        const auto* required =
            node->getNumOperands() > 4
                ? llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(node->getOperand(4))
                : nullptr;
        constants.push_back({global,
                             {.name = string_operand(*node, 2),
                              .type_name = string_operand(*node, 1),
                              .index = uint32_t(index->getZExtValue()),
                              .required = required == nullptr || !required->isZero()}});
    }
    return constants;
}

}  // namespace ingot::metal::jit
