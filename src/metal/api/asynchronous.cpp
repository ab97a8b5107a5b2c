// The calls that take a completion handler: the work of their blocking counterparts, on a thread of its own.
#include <thread>

#include "metal/api/objects.h"

namespace ingot::metal::api {
namespace {

// Runs `work` on another thread, inside an autorelease pool; `objects` live until it is done.
template <typename Work>
void run_elsewhere(std::initializer_list<const NS::Object*> objects, Work work) {
    std::vector<NS::Object*> kept;
    for (const NS::Object* object : objects) {
        if (object != nullptr) kept.push_back(const_cast<NS::Object*>(object)->retain());
    }
    std::thread([kept = std::move(kept), work = std::move(work)] {
        const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        work();
        for (NS::Object* object : kept) object->release();
    }).detach();
}

}  // namespace
}  // namespace ingot::metal::api

namespace MTL {

using ingot::metal::api::run_elsewhere;

void Device::newLibrary(const NS::String* source, const CompileOptions* options,
                        const NewLibraryCompletionHandlerFunction& handler) {
    run_elsewhere({this, source, options}, [=, this] {
        NS::Error* error = nullptr;
        const auto library = NS::TransferPtr(newLibrary(source, options, &error));
        handler(library.get(), error);
    });
}

void Device::newComputePipelineState(const Function* function,
                                     const NewComputePipelineStateCompletionHandlerFunction& handler) {
    run_elsewhere({this, function}, [=, this] {
        NS::Error* error = nullptr;
        const auto state = NS::TransferPtr(newComputePipelineState(function, &error));
        handler(state.get(), error);
    });
}

void Device::newComputePipelineState(
    const Function* function, PipelineOption options,
    const NewComputePipelineStateWithReflectionCompletionHandlerFunction& handler) {
    run_elsewhere({this, function}, [=, this] {
        NS::Error* error = nullptr;
        ComputePipelineReflection* reflection = nullptr;
        const auto state = NS::TransferPtr(newComputePipelineState(function, options, &reflection, &error));
        handler(state.get(), reflection, error);
    });
}

void Device::newComputePipelineState(
    const ComputePipelineDescriptor* descriptor, PipelineOption options,
    const NewComputePipelineStateWithReflectionCompletionHandlerFunction& handler) {
    const auto copy = NS::TransferPtr(descriptor->copy());  // the caller may change the original
    run_elsewhere({this, copy.get()}, [=, this] {
        NS::Error* error = nullptr;
        ComputePipelineReflection* reflection = nullptr;
        const auto state = NS::TransferPtr(newComputePipelineState(copy.get(), options, &reflection, &error));
        handler(state.get(), reflection, error);
    });
}

void Library::newFunction(const NS::String* name, const FunctionConstantValues* values,
                          const FunctionCompletionHandlerFunction& handler) {
    const auto copy = values != nullptr ? NS::TransferPtr(values->copy()) : nullptr;
    run_elsewhere({this, name}, [=, this] {
        NS::Error* error = nullptr;
        const auto function = NS::TransferPtr(newFunction(name, copy.get(), &error));
        handler(function.get(), error);
    });
}

void Library::newFunction(const FunctionDescriptor* descriptor,
                          const FunctionCompletionHandlerFunction& handler) {
    const auto copy = NS::TransferPtr(descriptor->copy());
    run_elsewhere({this}, [=, this] {
        NS::Error* error = nullptr;
        const auto function = NS::TransferPtr(newFunction(copy.get(), &error));
        handler(function.get(), error);
    });
}

}  // namespace MTL
