// Libraries, functions, constants, pipelines and their reflection.
#include "metal/api/watch.h"

namespace ingot::metal::api {
namespace {

LibraryImpl& impl(const MTL::Library* library) {
    return *static_cast<LibraryImpl*>(const_cast<MTL::Library*>(library));
}
FunctionImpl& impl(const MTL::Function* function) {
    return *static_cast<FunctionImpl*>(const_cast<MTL::Function*>(function));
}

class ConstantImpl final : public MTL::FunctionConstant {
  public:
    ingot::metal::FunctionConstant constant;
};

class BindingImpl final : public MTL::BufferBinding {
  public:
    Argument argument;
};

class ReflectionImpl final : public MTL::ComputePipelineReflection {
  public:
    KernelInfo info;
};

MTL::LibraryError library_code(const Error& error) {
    switch (error.kind) {
        case ErrorKind::kNotFound:
            return MTL::LibraryErrorFileNotFound;
        case ErrorKind::kUnsupported:
            return MTL::LibraryErrorUnsupported;
        case ErrorKind::kCorrupt:
            return MTL::LibraryErrorCompileFailure;
        default:
            return MTL::LibraryErrorInternal;
    }
}

void set_library_error(NS::Error** error, const Error& cause) {
    set_error(error, MTL::LibraryErrorDomain, NS::Integer(library_code(cause)), cause.describe());
}

LibraryImpl* empty_library(DeviceImpl& device) {
    auto* library = new LibraryImpl;
    library->device = &device;
    device.retain();
    return library;
}

MTL::Library* make_library(DeviceImpl& device, Result<LibraryFile> file, NS::Error** error) {
    if (!file) {
        set_library_error(error, file.error());
        return nullptr;
    }
    LibraryImpl* library = empty_library(device);
    library->file = std::move(*file);
    return library;
}

// A library whose source was read and checked.
Result<msl::SourceLibrary> checked_source(const std::string& text, const msl::SourceOptions& options) {
    INGOT_ASSIGN(msl::SourceLibrary library, msl::SourceLibrary::open(text, options));
    INGOT_TRY(library.check());
    return library;
}

MTL::ComputePipelineReflection* reflection_of(const KernelInfo& info) {
    auto* reflection = new ReflectionImpl;
    reflection->info = info;
    reflection->autorelease();
    return reflection;
}

// `max_threads` 0: what the kernel allows.
MTL::ComputePipelineState* make_pipeline(DeviceImpl& device, const FunctionImpl& function,
                                         NS::UInteger max_threads, NS::Error** error) {
    const auto loaded = compiler();
    if (!loaded) {
        set_library_error(error, loaded.error());
        return nullptr;
    }
    CompileOptions options;
    options.constants = function.constants;
    options.require_constants = true;
    options.layout = device.layout;
    options.reconverge = device.reconverge && !device.strict;
    const Watch* watch = watch_of(device);
    options.instrument = watch != nullptr && !watch->checkers.empty();
    options.watch_overflow = watch != nullptr && watch->is_on(check::CheckerId::kOverflow);
    // What clang made of source here is no stranger's.
    options.isolate = !function.library->is_from_source() && !device.trust_files;
    const auto module = function.library->module_of(*function.function);
    auto kernel = module ? (*loaded)->compile(*module, function.function->name, options)
                         : Result<std::shared_ptr<const Kernel>>(Failure(module.error()));
    if (!kernel) {
        set_library_error(error,
                          with_context(kernel.error(), fmt::format("kernel '{}'", function.function->name)));
        return nullptr;
    }
    auto* pipeline = new PipelineImpl;
    pipeline->device = &device;
    device.retain();
    pipeline->kernel = std::move(*kernel);
    pipeline->library = function.library;
    pipeline->library->retain();
    pipeline->constants = function.constants;
    pipeline->label = function.label;
    const uint32_t most =
        std::min(kMaxThreadsPerThreadgroup, pipeline->kernel->info.max_threads_per_threadgroup);
    pipeline->max_threads = max_threads == 0 ? most : uint32_t(std::min<NS::UInteger>(most, max_threads));
    return pipeline;
}

}  // namespace

void LibraryImpl::set_source(msl::SourceLibrary library) {
    source = std::make_unique<Source>();
    source->library = std::move(library);
    source->names = source->library.kernel_names();
    for (const std::string& name : source->names) {
        LibraryFunction function;
        function.name = name;
        source->functions.push_back(function);
    }
}

Result<std::vector<std::byte>> LibraryImpl::function_table(std::span<const std::string_view> names) const {
    if (source) return source->library.function_table(names);
    return fail(ErrorKind::kUnsupported, "only libraries from source have visible functions here");
}

Result<const LibraryFunction*> LibraryImpl::require(std::string_view name) const {
    if (!source) return file.require(name);
    for (const LibraryFunction& function : source->functions) {
        if (function.name == name) return &function;
    }
    return fail(ErrorKind::kNotFound, "no function '{}' in the library; there are: {}", name,
                fmt::join(source->names, ", "));
}

Result<std::span<const std::byte>> LibraryImpl::module_of(const LibraryFunction& function) {
    if (!source) return function.bitcode;
    const std::lock_guard lock(source->mutex);
    auto found = source->modules.find(function.name);
    if (found == source->modules.end()) {
        INGOT_ASSIGN(std::vector<std::byte> module, source->library.compile(function.name));
        found = source->modules.emplace(function.name, std::move(module)).first;
    }
    return std::span<const std::byte>(found->second);
}

// Containers state it, but not all of them: PyTorch's don't. Modules always do.
Result<KernelInfo> LibraryImpl::reflect(const LibraryFunction& function) {
    if (!source && function.reflection_offset != LibraryFunction::kNoReflection)
        return file.reflect(function);
    INGOT_ASSIGN(const std::span<const std::byte> module, module_of(function));
    INGOT_ASSIGN(Compiler * loaded, compiler());
    ingot::metal::CompileOptions options;
    options.isolate = !source && !device->trust_files;
    return loaded->inspect(module, function.name, options);
}

}  // namespace ingot::metal::api

namespace MTL {

using namespace ingot::metal::api;
using ingot::ErrorKind;
using ingot::metal::LibraryFile;

const NS::ErrorDomain LibraryErrorDomain = NS::MakeConstantString("MTLLibraryErrorDomain");

Library* Device::newLibrary(const NS::String* path, NS::Error** error) {
    return make_library(impl(this), LibraryFile::open(to_std_string(path)), error);
}

Library* Device::newLibrary(const NS::URL* url, NS::Error** error) {
    return make_library(impl(this), LibraryFile::open(url->fileSystemRepresentation()), error);
}

Library* Device::newLibrary(const dispatch_data_t data, NS::Error** error) {
    return make_library(impl(this), LibraryFile::from_bytes(bytes_of(data), "library in memory"), error);
}

Library* Device::newLibrary(const NS::String* source, const CompileOptions* options, NS::Error** error) {
    ingot::metal::msl::SourceOptions source_options = source_options_of(options);
    source_options.strict = impl(this).strict;
    const Watch* watch = watch_of(impl(this));
    source_options.watch_locals =
        watch != nullptr && watch->is_on(ingot::metal::check::CheckerId::kUninitialised);
    auto checked = checked_source(to_std_string(source), source_options);
    if (!checked) {
        set_library_error(error, checked.error());
        return nullptr;
    }
    LibraryImpl* library = empty_library(impl(this));
    library->set_source(std::move(*checked));
    library->text = to_std_string(source);
    return library;
}

NS::String* Library::label() const {
    return make_string(impl(this).label);
}
void Library::setLabel(const NS::String* label) {
    impl(this).label = to_std_string(label);
}
Device* Library::device() const {
    return impl(this).device;
}

NS::Array* Library::functionNames() const {
    std::vector<NS::Object*> names;
    for (const auto& function : impl(this).functions()) names.push_back(make_string(function.name));
    return make_array(names);
}

Function* Library::newFunction(const NS::String* name) {
    return newFunction(name, nullptr, nullptr);
}

Function* Library::newFunction(const NS::String* name, const FunctionConstantValues* values,
                               NS::Error** error) {
    LibraryImpl& library = impl(this);
    const auto found = library.require(name->utf8String());
    if (!found) {
        set_error(error, LibraryErrorDomain, LibraryErrorFunctionNotFound, found.error().describe());
        return nullptr;
    }
    auto* function = new FunctionImpl;
    function->library = &library;
    library.retain();
    function->function = *found;
    if (values != nullptr) function->constants = constants_of(values);
    return function;
}

Function* Library::newFunction(const FunctionDescriptor* descriptor, NS::Error** error) {
    Function* function = newFunction(descriptor->name(), descriptor->constantValues(), nullptr);
    if (function == nullptr) {
        set_error(error, LibraryErrorDomain, LibraryErrorFunctionNotFound,
                  fmt::format("no function '{}' in the library", descriptor->name()->utf8String()));
    }
    return function;
}

NS::String* Function::label() const {
    return make_string(impl(this).label);
}
void Function::setLabel(const NS::String* label) {
    impl(this).label = to_std_string(label);
}
Device* Function::device() const {
    return impl(this).library->device;
}
FunctionType Function::functionType() const {
    return FunctionType(NS::UInteger(impl(this).function->type) + 1);
}
NS::String* Function::name() const {
    return make_string(impl(this).function->name);
}

NS::Dictionary* Function::functionConstantsDictionary() const {
    const FunctionImpl& function = impl(this);
    const auto info = function.library->reflect(*function.function);
    std::vector<NS::Object*> names, constants;
    for (const auto& constant : info ? info->constants : std::vector<ingot::metal::FunctionConstant>{}) {
        auto* object = new ConstantImpl;
        object->constant = constant;
        constants.push_back(object->autorelease());
        names.push_back(make_string(constant.name));
    }
    return NS::Dictionary::dictionary(constants.data(), names.data(), names.size());
}

static const ingot::metal::FunctionConstant& constant_of(const FunctionConstant* constant) {
    return static_cast<const ConstantImpl*>(constant)->constant;
}
NS::String* FunctionConstant::name() const {
    return make_string(constant_of(this).name);
}
DataType FunctionConstant::type() const {
    return data_type_named(constant_of(this).type_name);
}
NS::UInteger FunctionConstant::index() const {
    return constant_of(this).index;
}
bool FunctionConstant::required() const {
    return constant_of(this).required;
}

static const ingot::metal::Argument& argument_of(const Binding* binding) {
    return static_cast<const BindingImpl*>(binding)->argument;
}
NS::String* Binding::name() const {
    return make_string(argument_of(this).name);
}
BindingType Binding::type() const {
    const bool threadgroup = argument_of(this).kind == ingot::metal::ArgumentKind::kThreadgroup;
    return threadgroup ? BindingTypeThreadgroupMemory : BindingTypeBuffer;
}
BindingAccess Binding::access() const {
    switch (argument_of(this).access) {
        case ingot::metal::Access::kRead:
            return BindingAccessReadOnly;
        case ingot::metal::Access::kWrite:
            return BindingAccessWriteOnly;
        case ingot::metal::Access::kReadWrite:
            break;
    }
    return BindingAccessReadWrite;
}
NS::UInteger Binding::index() const {
    return argument_of(this).slot;
}
bool Binding::used() const {
    return !argument_of(this).unused;
}
bool Binding::argument() const {
    return true;
}
NS::UInteger BufferBinding::bufferAlignment() const {
    return argument_of(this).type_align_bytes;
}
NS::UInteger BufferBinding::bufferDataSize() const {
    return argument_of(this).type_size_bytes;
}

NS::Array* ComputePipelineReflection::bindings() const {
    std::vector<NS::Object*> bindings;
    for (const auto& argument : static_cast<const ReflectionImpl*>(this)->info.arguments) {
        if (argument.kind > ingot::metal::ArgumentKind::kThreadgroup) continue;
        auto* binding = new BindingImpl;
        binding->argument = argument;
        bindings.push_back(static_cast<NS::Object*>(binding)->autorelease());
    }
    return make_array(bindings);
}

ComputePipelineState* Device::newComputePipelineState(const Function* function, NS::Error** error) {
    return make_pipeline(impl(this), impl(function), 0, error);
}
ComputePipelineState* Device::newComputePipelineState(const Function* function, PipelineOption,
                                                      const AutoreleasedComputePipelineReflection* reflection,
                                                      NS::Error** error) {
    ComputePipelineState* pipeline = newComputePipelineState(function, error);
    if (pipeline != nullptr && reflection != nullptr) {
        *const_cast<AutoreleasedComputePipelineReflection*>(reflection) =
            reflection_of(impl(pipeline).kernel->info);
    }
    return pipeline;
}
ComputePipelineState* Device::newComputePipelineState(const ComputePipelineDescriptor* descriptor,
                                                      PipelineOption,
                                                      const AutoreleasedComputePipelineReflection* reflection,
                                                      NS::Error** error) {
    const Function* function = descriptor->computeFunction();
    if (function == nullptr) {
        set_error(error, LibraryErrorDomain, LibraryErrorFunctionNotFound,
                  "the descriptor has no compute function");
        return nullptr;
    }
    ComputePipelineState* pipeline =
        make_pipeline(impl(this), impl(function), descriptor->maxTotalThreadsPerThreadgroup(), error);
    if (pipeline == nullptr) return nullptr;
    if (descriptor->label()->length() != 0) impl(pipeline).label = to_std_string(descriptor->label());
    if (reflection != nullptr) {
        *const_cast<AutoreleasedComputePipelineReflection*>(reflection) =
            reflection_of(impl(pipeline).kernel->info);
    }
    return pipeline;
}

NS::String* ComputePipelineState::label() const {
    return make_string(impl(this).label);
}
Device* ComputePipelineState::device() const {
    return impl(this).device;
}
NS::UInteger ComputePipelineState::maxTotalThreadsPerThreadgroup() const {
    return impl(this).max_threads;
}
NS::UInteger ComputePipelineState::threadExecutionWidth() const {
    return ingot::metal::kSimdWidth;
}
NS::UInteger ComputePipelineState::staticThreadgroupMemoryLength() const {
    return impl(this).kernel->info.static_threadgroup_bytes;
}

}  // namespace MTL

namespace ingot::metal {

Result<void> set_function_table(MTL::ComputeCommandEncoder* encoder, const MTL::Library* library,
                                const std::vector<std::string>& names, NS::UInteger slot) {
    const std::vector<std::string_view> views(names.begin(), names.end());
    const auto& from = *static_cast<const api::LibraryImpl*>(library);
    INGOT_ASSIGN(const std::vector<std::byte> record, from.function_table(views));
    encoder->setBytes(record.data(), record.size(), slot);
    return {};
}

}  // namespace ingot::metal
