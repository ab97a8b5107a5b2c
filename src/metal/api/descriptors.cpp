// The small objects that calls are described with: function constants' values, descriptors, compile options.
#include <cstring>

#include "base/check.h"
#include "base/half.h"
#include "metal/api/objects.h"

namespace ingot::metal::api {
namespace {

class ConstantValuesImpl final : public MTL::FunctionConstantValues {
  public:
    Constants constants;
};
ConstantValuesImpl& impl(const MTL::FunctionConstantValues* values) {
    return *static_cast<ConstantValuesImpl*>(const_cast<MTL::FunctionConstantValues*>(values));
}

class FunctionDescriptorImpl final : public MTL::FunctionDescriptor {
  public:
    ~FunctionDescriptorImpl() override {
        if (values != nullptr) values->release();
    }
    std::string name, specialized_name;
    MTL::FunctionConstantValues* values = nullptr;
};
FunctionDescriptorImpl& impl(const MTL::FunctionDescriptor* descriptor) {
    return *static_cast<FunctionDescriptorImpl*>(const_cast<MTL::FunctionDescriptor*>(descriptor));
}

class CompileOptionsImpl final : public MTL::CompileOptions {
  public:
    ~CompileOptionsImpl() override {
        if (macros != nullptr) macros->release();
    }
    MTL::LanguageVersion version = MTL::LanguageVersion3_2;
    MTL::MathMode math_mode = MTL::MathModeFast;
    NS::Dictionary* macros = nullptr;
};
CompileOptionsImpl& impl(const MTL::CompileOptions* options) {
    return *static_cast<CompileOptionsImpl*>(const_cast<MTL::CompileOptions*>(options));
}

class PipelineDescriptorImpl final : public MTL::ComputePipelineDescriptor {
  public:
    ~PipelineDescriptorImpl() override {
        if (function != nullptr) function->release();
    }
    std::string label;
    MTL::Function* function = nullptr;
    NS::UInteger max_threads = 0;
    bool multiple_of_width = false;
};
PipelineDescriptorImpl& impl(const MTL::ComputePipelineDescriptor* descriptor) {
    return *static_cast<PipelineDescriptorImpl*>(const_cast<MTL::ComputePipelineDescriptor*>(descriptor));
}

class PassDescriptorImpl final : public MTL::ComputePassDescriptor {
  public:
    MTL::DispatchType type = MTL::DispatchTypeSerial;
};
PassDescriptorImpl& impl(const MTL::ComputePassDescriptor* descriptor) {
    return *static_cast<PassDescriptorImpl*>(const_cast<MTL::ComputePassDescriptor*>(descriptor));
}

struct ScalarType {
    const char* name;
    MTL::DataType type;
    size_t size_bytes;
};
constexpr ScalarType kScalarTypes[] = {
    {"bool", MTL::DataTypeBool, 1},   {"char", MTL::DataTypeChar, 1},     {"uchar", MTL::DataTypeUChar, 1},
    {"short", MTL::DataTypeShort, 2}, {"ushort", MTL::DataTypeUShort, 2}, {"int", MTL::DataTypeInt, 4},
    {"uint", MTL::DataTypeUInt, 4},   {"long", MTL::DataTypeLong, 8},     {"ulong", MTL::DataTypeULong, 8},
    {"half", MTL::DataTypeHalf, 2},   {"float", MTL::DataTypeFloat, 4},   {"bfloat", MTL::DataTypeBFloat, 2},
};

// A scalar, or a vector: the types of two to four elements follow their scalar's.
struct ElementType {
    const ScalarType* scalar = nullptr;
    unsigned count = 0;

    // Three take the place of four.
    size_t size_bytes() const {
        return scalar == nullptr ? 0 : scalar->size_bytes * (count == 3 ? 4 : count);
    }
};

ElementType elements_of(MTL::DataType type) {
    for (const ScalarType& scalar : kScalarTypes) {
        if (type >= scalar.type && type < scalar.type + 4) return {&scalar, unsigned(type - scalar.type) + 1};
    }
    return {};
}

template <typename T>
T read_as(const void* value) {
    T result;
    std::memcpy(&result, value, sizeof result);
    return result;
}

std::variant<bool, int64_t, float> read_scalar(const void* value, MTL::DataType type) {
    switch (type) {
        case MTL::DataTypeBool:
            return read_as<uint8_t>(value) != 0;
        case MTL::DataTypeChar:
            return int64_t(read_as<int8_t>(value));
        case MTL::DataTypeUChar:
            return int64_t(read_as<uint8_t>(value));
        case MTL::DataTypeShort:
            return int64_t(read_as<int16_t>(value));
        case MTL::DataTypeUShort:
            return int64_t(read_as<uint16_t>(value));
        case MTL::DataTypeInt:
            return int64_t(read_as<int32_t>(value));
        case MTL::DataTypeUInt:
            return int64_t(read_as<uint32_t>(value));
        case MTL::DataTypeHalf:
            return half_to_float(read_as<uint16_t>(value));
        case MTL::DataTypeBFloat:
            return bfloat16_to_float(read_as<uint16_t>(value));
        case MTL::DataTypeFloat:
            return read_as<float>(value);
        default:
            return read_as<int64_t>(value);
    }
}

template <typename T>
std::vector<T> read_vector(const std::byte* value, const ElementType& type) {
    std::vector<T> elements;
    for (unsigned i = 0; i < type.count; ++i) {
        std::visit([&](auto element) { elements.push_back(T(element)); },
                   read_scalar(value + i * type.scalar->size_bytes, type.scalar->type));
    }
    return elements;
}

ConstantValue read_constant(const void* value, MTL::DataType type) {
    const ElementType elements = elements_of(type);
    INGOT_CHECK(
        elements.scalar != nullptr,
        "a function constant of MTLDataType {}; bool, integers, half, bfloat, float and their vectors "
        "are accepted",
        NS::UInteger(type));
    if (elements.count == 1) {
        return std::visit([](auto scalar) { return ConstantValue(scalar); }, read_scalar(value, type));
    }
    const auto* bytes = static_cast<const std::byte*>(value);
    const bool is_float = std::holds_alternative<float>(read_scalar(value, elements.scalar->type));
    if (is_float) return read_vector<float>(bytes, elements);
    return read_vector<int64_t>(bytes, elements);
}

}  // namespace

MTL::DataType data_type_named(std::string_view name) {
    const bool is_vector = !name.empty() && name.back() >= '2' && name.back() <= '4';
    const std::string_view scalar_name = name.substr(0, name.size() - is_vector);
    const unsigned count = is_vector ? unsigned(name.back() - '0') : 1;
    for (const ScalarType& scalar : kScalarTypes) {
        if (scalar_name == scalar.name) return MTL::DataType(scalar.type + count - 1);
    }
    return MTL::DataTypeNone;
}

msl::SourceOptions source_options_of(const MTL::CompileOptions* options) {
    msl::SourceOptions result;
    if (options == nullptr) return result;
    const CompileOptionsImpl& given = impl(options);
    result.standard = fmt::format("metal{}.{}", given.version >> 16, given.version & 0xFFFF);
    result.fast_math = given.math_mode != MTL::MathModeSafe;
    for (const auto& [name, value] : string_pairs(given.macros)) {
        result.macros.push_back(value.empty() ? name : fmt::format("{}={}", name, value));
    }
    return result;
}

const Constants& constants_of(const MTL::FunctionConstantValues* values) {
    return impl(values).constants;
}

}  // namespace ingot::metal::api

namespace MTL {

using namespace ingot::metal::api;

FunctionConstantValues* FunctionConstantValues::alloc() {
    return new ConstantValuesImpl;
}
FunctionConstantValues* FunctionConstantValues::init() {
    return this;
}
void FunctionConstantValues::reset() {
    impl(this).constants = {};
}
void FunctionConstantValues::setConstantValue(const void* value, DataType type, NS::UInteger index) {
    impl(this).constants.by_index[uint32_t(index)] = read_constant(value, type);
}
void FunctionConstantValues::setConstantValue(const void* value, DataType type, const NS::String* name) {
    impl(this).constants.by_name[name->utf8String()] = read_constant(value, type);
}
void FunctionConstantValues::setConstantValues(const void* values, DataType type, NS::Range range) {
    const auto* bytes = static_cast<const std::byte*>(values);
    for (NS::UInteger i = 0; i < range.length; ++i) {
        setConstantValue(bytes + i * elements_of(type).size_bytes(), type, range.location + i);
    }
}
FunctionConstantValues* FunctionConstantValues::copy_() const {
    auto* copy = new ConstantValuesImpl;
    copy->constants = impl(this).constants;
    return copy;
}

FunctionDescriptor* FunctionDescriptor::functionDescriptor() {
    FunctionDescriptor* descriptor = alloc();
    descriptor->autorelease();
    return descriptor;
}
FunctionDescriptor* FunctionDescriptor::alloc() {
    return new FunctionDescriptorImpl;
}
FunctionDescriptor* FunctionDescriptor::init() {
    return this;
}
NS::String* FunctionDescriptor::name() const {
    return make_string(impl(this).name);
}
void FunctionDescriptor::setName(const NS::String* name) {
    impl(this).name = to_std_string(name);
}
NS::String* FunctionDescriptor::specializedName() const {
    return make_string(impl(this).specialized_name);
}
void FunctionDescriptor::setSpecializedName(const NS::String* name) {
    impl(this).specialized_name = to_std_string(name);
}
FunctionConstantValues* FunctionDescriptor::constantValues() const {
    return impl(this).values;
}
void FunctionDescriptor::setConstantValues(const FunctionConstantValues* values) {
    assign(impl(this).values, values);
}
FunctionDescriptor* FunctionDescriptor::copy_() const {
    auto* copy = new FunctionDescriptorImpl;
    copy->name = impl(this).name;
    copy->specialized_name = impl(this).specialized_name;
    copy->setConstantValues(impl(this).values);
    return copy;
}

CompileOptions* CompileOptions::alloc() {
    return new CompileOptionsImpl;
}
CompileOptions* CompileOptions::init() {
    return this;
}
LanguageVersion CompileOptions::languageVersion() const {
    return impl(this).version;
}
void CompileOptions::setLanguageVersion(LanguageVersion version) {
    impl(this).version = version;
}
bool CompileOptions::fastMathEnabled() const {
    return impl(this).math_mode == MathModeFast;
}
void CompileOptions::setFastMathEnabled(bool enabled) {
    impl(this).math_mode = enabled ? MathModeFast : MathModeSafe;
}
MathMode CompileOptions::mathMode() const {
    return impl(this).math_mode;
}
void CompileOptions::setMathMode(MathMode mode) {
    impl(this).math_mode = mode;
}
NS::Dictionary* CompileOptions::preprocessorMacros() const {
    return impl(this).macros;
}
void CompileOptions::setPreprocessorMacros(const NS::Dictionary* macros) {
    assign(impl(this).macros, macros);
}
CompileOptions* CompileOptions::copy_() const {
    auto* copy = new CompileOptionsImpl;
    copy->version = impl(this).version;
    copy->math_mode = impl(this).math_mode;
    copy->setPreprocessorMacros(impl(this).macros);
    return copy;
}

ComputePipelineDescriptor* ComputePipelineDescriptor::alloc() {
    return new PipelineDescriptorImpl;
}
ComputePipelineDescriptor* ComputePipelineDescriptor::init() {
    return this;
}
NS::String* ComputePipelineDescriptor::label() const {
    return make_string(impl(this).label);
}
void ComputePipelineDescriptor::setLabel(const NS::String* label) {
    impl(this).label = to_std_string(label);
}
Function* ComputePipelineDescriptor::computeFunction() const {
    return impl(this).function;
}
void ComputePipelineDescriptor::setComputeFunction(const Function* function) {
    assign(impl(this).function, function);
}
NS::UInteger ComputePipelineDescriptor::maxTotalThreadsPerThreadgroup() const {
    return impl(this).max_threads;
}
void ComputePipelineDescriptor::setMaxTotalThreadsPerThreadgroup(NS::UInteger threads) {
    impl(this).max_threads = threads;
}
bool ComputePipelineDescriptor::threadGroupSizeIsMultipleOfThreadExecutionWidth() const {
    return impl(this).multiple_of_width;
}
void ComputePipelineDescriptor::setThreadGroupSizeIsMultipleOfThreadExecutionWidth(bool is_multiple) {
    impl(this).multiple_of_width = is_multiple;
}
void ComputePipelineDescriptor::reset() {
    setComputeFunction(nullptr);
    impl(this).label.clear();
    impl(this).max_threads = 0;
    impl(this).multiple_of_width = false;
}
ComputePipelineDescriptor* ComputePipelineDescriptor::copy_() const {
    auto* copy = new PipelineDescriptorImpl;
    copy->label = impl(this).label;
    copy->max_threads = impl(this).max_threads;
    copy->multiple_of_width = impl(this).multiple_of_width;
    copy->setComputeFunction(impl(this).function);
    return copy;
}

ComputePassDescriptor* ComputePassDescriptor::computePassDescriptor() {
    ComputePassDescriptor* descriptor = alloc();
    descriptor->autorelease();
    return descriptor;
}
ComputePassDescriptor* ComputePassDescriptor::alloc() {
    return new PassDescriptorImpl;
}
ComputePassDescriptor* ComputePassDescriptor::init() {
    return this;
}
DispatchType ComputePassDescriptor::dispatchType() const {
    return impl(this).type;
}
void ComputePassDescriptor::setDispatchType(DispatchType type) {
    impl(this).type = type;
}
ComputePassDescriptor* ComputePassDescriptor::copy_() const {
    auto* copy = new PassDescriptorImpl;
    copy->type = impl(this).type;
    return copy;
}

}  // namespace MTL
