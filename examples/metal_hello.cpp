// Runs the kernel v_Expfloat32float32 of MLX's compiled library: y[i] = exp(x[i]). The same source builds
// against Apple's metal-cpp on macOS and against Ingot's headers anywhere: metal_hello mlx.metallib
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <cmath>
#include <cstdint>
#include <cstdio>

#include <Metal/Metal.hpp>

namespace {

int fail(const char* what, NS::Error* error) {
    std::fprintf(stderr, "metal_hello: %s: %s\n", what,
                 error != nullptr ? error->localizedDescription()->utf8String() : "no further reason");
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return fail("usage: metal_hello mlx.metallib", nullptr);
    NS::SharedPtr<NS::AutoreleasePool> pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    NS::SharedPtr<MTL::Device> device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    NS::Error* error = nullptr;
    NS::SharedPtr<MTL::Library> library =
        NS::TransferPtr(device->newLibrary(NS::String::string(argv[1], NS::UTF8StringEncoding), &error));
    if (!library) return fail("library", error);
    NS::SharedPtr<MTL::Function> function = NS::TransferPtr(
        library->newFunction(NS::String::string("v_Expfloat32float32", NS::UTF8StringEncoding)));
    if (!function) return fail("function", nullptr);
    NS::SharedPtr<MTL::ComputePipelineState> pipeline =
        NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
    if (!pipeline) return fail("pipeline", error);

    const std::uint32_t count = 1000;
    NS::SharedPtr<MTL::Buffer> x =
        NS::TransferPtr(device->newBuffer(count * sizeof(float), MTL::ResourceStorageModeShared));
    NS::SharedPtr<MTL::Buffer> y =
        NS::TransferPtr(device->newBuffer(count * sizeof(float), MTL::ResourceStorageModeShared));
    float* values = static_cast<float*>(x->contents());
    for (std::uint32_t i = 0; i < count; ++i) values[i] = float(i) / count;

    NS::SharedPtr<MTL::CommandQueue> queue = NS::TransferPtr(device->newCommandQueue());
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline.get());
    encoder->setBuffer(x.get(), 0, 0);
    encoder->setBuffer(y.get(), 0, 1);
    encoder->setBytes(&count, sizeof count, 2);
    encoder->dispatchThreads(MTL::Size(count, 1, 1), MTL::Size(pipeline->threadExecutionWidth(), 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    if (commands->status() != MTL::CommandBufferStatusCompleted) return fail("run", commands->error());

    const float* results = static_cast<const float*>(y->contents());
    double worst = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        worst = std::fmax(worst, std::fabs(double(results[i]) - std::exp(double(values[i]))));
    }
    std::printf("%s: exp of %u values, largest error %.2g\n", device->name()->utf8String(), count, worst);
    return worst < 1e-6 ? 0 : 1;
}
