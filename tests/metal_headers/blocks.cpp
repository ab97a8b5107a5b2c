// Blocks wherever metal-cpp takes them. Compiled against both header sets; linked and run with ours.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <cstdio>
#include <cstdlib>

#include <Metal/Metal.hpp>

namespace {

// Calls that a program makes with blocks; true if each was called back.
bool use_blocks(MTL::Device* device) {
    __block int calls = 0;
    NS::SharedPtr<MTL::CommandQueue> queue = NS::TransferPtr(device->newCommandQueue());
    MTL::CommandBuffer* commands = queue->commandBuffer();
    const int step = 1;
    commands->addScheduledHandler(^(MTL::CommandBuffer*) {
      calls += step;
    });
    commands->addCompletedHandler(^(MTL::CommandBuffer*) {
      calls += step;
    });
    commands->commit();
    commands->waitUntilCompleted();
    NS::SharedPtr<MTL::SharedEvent> event = NS::TransferPtr(device->newSharedEvent());
    NS::SharedPtr<MTL::SharedEventListener> listener =
        NS::TransferPtr(MTL::SharedEventListener::alloc()->init());
    event->notifyListener(listener.get(), 1, ^(MTL::SharedEvent* signaled, std::uint64_t) {
      calls += step;
      signaled->setSignaledValue(2);  // listeners have a thread of their own
    });
    event->setSignaledValue(1);
    if (!event->waitUntilSignaledValue(2, 10000)) return false;
    void* memory = std::aligned_alloc(16384, 16384);
    NS::SharedPtr<MTL::Buffer> buffer = NS::TransferPtr(
        device->newBuffer(memory, 16384, MTL::ResourceStorageModeShared, ^(void* pointer, NS::UInteger) {
          std::free(pointer);
          calls += step;
        }));
    buffer.reset();
    return calls == 4;
}

}  // namespace

// What newLibrary and its kind take, compiled only.
void make_in_background(MTL::Device* device, MTL::Library* library, MTL::Function* function,
                        NS::String* source) {
    device->newLibrary(source, static_cast<const MTL::CompileOptions*>(nullptr),
                       ^(MTL::Library*, NS::Error*){
                       });
    device->newComputePipelineState(function, ^(MTL::ComputePipelineState*, NS::Error*){
                                    });
    library->newFunction(source, static_cast<const MTL::FunctionConstantValues*>(nullptr),
                         ^(MTL::Function*, NS::Error*){
                         });
}

int main() {
    NS::SharedPtr<NS::AutoreleasePool> pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    NS::SharedPtr<MTL::Device> device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    const bool all = use_blocks(device.get());
    std::printf("blocks were %s\n", all ? "called back" : "lost");
    return all ? 0 : 1;
}

#if defined(INGOT_BLOCKS_MAIN)
// As much of a blocks runtime as this program needs: copies of blocks whose captures are plain values. (A
// __block variable stays on the stack, which outlives the blocks here.)
#include <cstring>

extern "C" {

struct BlockDescriptor {
    unsigned long reserved, size;
};
struct BlockLayout {
    void* isa;
    int flags, reserved;
    void (*invoke)(void*, ...);
    BlockDescriptor* descriptor;
};

void* _NSConcreteStackBlock[32];
void* _NSConcreteGlobalBlock[32];

void* _Block_copy(const void* block) {
    const unsigned long size = static_cast<const BlockLayout*>(block)->descriptor->size;
    return std::memcpy(std::malloc(size), block, size);
}
void _Block_release(const void* block) {
    std::free(const_cast<void*>(block));
}
void _Block_object_assign(void* to, const void* object, const int) {
    std::memcpy(to, &object, sizeof object);
}
void _Block_object_dispose(const void*, const int) {}
}
#endif
