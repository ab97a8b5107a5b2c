// What stands behind the API's objects. Public classes have no state of their own: each method casts to the
// implementation below. Owned references are released in destructors; a device lives as long as anything made
// by it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "Metal/Metal.hpp"
#include "metal/air/library_file.h"
#include "metal/api/foundation.h"
#include "metal/exec/compiler.h"
#include "metal/exec/executor.h"
#include "metal/msl/source_library.h"

namespace ingot::metal::api {

class Watch;  // watch.h

class DeviceImpl final : public MTL::Device {
  public:
    DeviceImpl() : executor(make_fiber_executor()) {}

    std::unique_ptr<Executor> executor;
    std::atomic<uint64_t> allocated_bytes{0};
    CooperativeLayout layout = CooperativeLayout::kNax;
    bool reconverge = true;
    bool trust_files = trusts_files();
    bool strict = false;
    std::atomic<bool> warned_of_pages{false};
    ExecutorKind executor_kind = default_executor();
    double time_limit_seconds = 60;
    std::shared_ptr<Watch> watch;  // null: nobody watches
};
inline DeviceImpl& impl(const MTL::Device* device) {
    return *static_cast<DeviceImpl*>(const_cast<MTL::Device*>(device));
}

std::span<const std::byte> bytes_of(dispatch_data_t data);

// Memory that a buffer or heap owns or borrows.
struct Memory {
    ~Memory();

    DeviceImpl* device = nullptr;  // retained
    std::byte* address = nullptr;
    uint64_t size_bytes = 0;
    bool owned = true;
    std::atomic<bool> has_contents{true};  // something was written to it, as far as is known
    std::function<void(void*, NS::UInteger)> deallocator;
};
std::shared_ptr<Memory> allocate(DeviceImpl& device, uint64_t size_bytes);

class BufferImpl final : public MTL::Buffer {
  public:
    ~BufferImpl() override;

    std::shared_ptr<Memory> memory;
    uint64_t offset = 0;  // in a heap's memory
    uint64_t length = 0;
    MTL::ResourceOptions options = 0;
    class HeapImpl* heap = nullptr;  // retained
    std::string label;

    std::byte* address() const { return memory->address + offset; }
};
inline BufferImpl& impl(const MTL::Buffer* buffer) {
    return *static_cast<BufferImpl*>(const_cast<MTL::Buffer*>(buffer));
}

class HeapImpl final : public MTL::Heap {
  public:
    std::shared_ptr<Memory> memory;
    MTL::HeapType type = MTL::HeapTypeAutomatic;
    std::string label;
    std::mutex mutex;
    // Offset -> size. Buffers of a placement heap may begin at one offset.
    std::multimap<uint64_t, uint64_t> taken;

    void give_back(uint64_t offset, uint64_t length);
};

// Kernels of a compiled library, or of Metal source: those are compiled when their module is asked for.
class LibraryImpl final : public MTL::Library {
  public:
    ~LibraryImpl() override { device->release(); }

    DeviceImpl* device = nullptr;
    LibraryFile file;
    std::string label;

    void set_source(msl::SourceLibrary library);
    // The source's text, or the library's bytes: what a recording keeps.
    std::string text;
    std::span<const std::byte> bytes() const {
        return source ? std::as_bytes(std::span(text)) : file.bytes();
    }
    bool is_from_source() const { return source != nullptr; }
    const std::vector<LibraryFunction>& functions() const {
        return source ? source->functions : file.functions();
    }
    // kNotFound, naming others.
    Result<const LibraryFunction*> require(std::string_view name) const;
    Result<std::span<const std::byte>> module_of(const LibraryFunction& function);
    Result<KernelInfo> reflect(const LibraryFunction& function);
    // Of a source: a record for visible_function_table.
    Result<std::vector<std::byte>> function_table(std::span<const std::string_view> names) const;

  private:
    struct Source {
        msl::SourceLibrary library;
        std::vector<std::string> names;
        std::vector<LibraryFunction> functions;  // without bitcode
        std::mutex mutex;
        std::map<std::string_view, std::vector<std::byte>> modules;
    };
    std::unique_ptr<Source> source;
};

class FunctionImpl final : public MTL::Function {
  public:
    ~FunctionImpl() override { library->release(); }

    LibraryImpl* library = nullptr;
    const LibraryFunction* function = nullptr;
    Constants constants;
    std::string label;
};

class PipelineImpl final : public MTL::ComputePipelineState {
  public:
    ~PipelineImpl() override {
        library->release();
        device->release();
    }

    DeviceImpl* device = nullptr;
    std::shared_ptr<const Kernel> kernel;
    LibraryImpl* library = nullptr;  // retained
    Constants constants;
    uint32_t max_threads = kMaxThreadsPerThreadgroup;
    std::string label;
};
inline PipelineImpl& impl(const MTL::ComputePipelineState* state) {
    return *static_cast<PipelineImpl*>(const_cast<MTL::ComputePipelineState*>(state));
}

// What compile options say about Metal source; null: the defaults.
msl::SourceOptions source_options_of(const MTL::CompileOptions* options);

// The constants that a FunctionConstantValues object holds.
const Constants& constants_of(const MTL::FunctionConstantValues* values);

// "bool" -> DataTypeBool; DataTypeNone for what is no scalar.
MTL::DataType data_type_named(std::string_view name);

// What running a command yields; a message ends the command buffer with an error.
struct CommandResult {
    MTL::CommandBufferError code = MTL::CommandBufferErrorNone;
    std::string message;
};
using Command = std::function<CommandResult(std::chrono::steady_clock::time_point deadline)>;

class QueueImpl;
class Capture;  // capture.h

class CommandBufferImpl final : public MTL::CommandBuffer {
  public:
    CommandBufferImpl(QueueImpl& owner, bool retains);
    ~CommandBufferImpl() override;

    void keep(const NS::Object* object);  // until the command buffer is gone, if it retains references
    void add(Command command) { commands.push_back(std::move(command)); }
    void describe(std::string line);  // in the capture, if there is one
    void execute();                   // on the queue's thread

    QueueImpl* queue;
    const bool retains;
    std::string label;
    std::vector<Command> commands;
    std::vector<NS::Object*> kept;
    std::set<const BufferImpl*> written;  // kept where somebody watches: what commands may write
    bool encoding = false;                // an encoder is open
    uint32_t open_groups = 0;
    std::shared_ptr<Capture> capture;  // that was active when this was made
    std::vector<std::string> description;

    std::mutex mutex;
    std::condition_variable changed;
    MTL::CommandBufferStatus status = MTL::CommandBufferStatusNotEnqueued;
    bool handlers_done = false;
    NS::Error* error = nullptr;
    double start_seconds = 0, end_seconds = 0;
    std::vector<MTL::HandlerFunction> scheduled_handlers, completed_handlers;
};
inline CommandBufferImpl& impl(const MTL::CommandBuffer* buffer) {
    return *static_cast<CommandBufferImpl*>(const_cast<MTL::CommandBuffer*>(buffer));
}

// Autoreleased.
MTL::ComputeCommandEncoder* make_compute_encoder(CommandBufferImpl& buffer, MTL::DispatchType type);
MTL::BlitCommandEncoder* make_blit_encoder(CommandBufferImpl& buffer);

// Runs command buffers one after the other, in the order they were enqueued, on a thread of its own.
class QueueImpl final : public MTL::CommandQueue {
  public:
    explicit QueueImpl(DeviceImpl& owner);
    ~QueueImpl() override;

    void enqueue(CommandBufferImpl& buffer);  // reserves its place
    void committed();                         // something may have become ready to run

    DeviceImpl* device;
    std::string label;

  private:
    // What the thread works on; outlives the queue, whose last reference a command buffer may hold.
    struct Line {
        std::mutex mutex;
        std::condition_variable changed;
        std::deque<CommandBufferImpl*> waiting;  // retained
        bool ending = false;
    };
    static void serve(const std::shared_ptr<Line>& line);

    std::shared_ptr<Line> line_ = std::make_shared<Line>();
    std::thread thread_;
};

// What a listener of shared events has to call, one after the other on a thread of its own, which starts with
// the first call and outlives the listener until the last is done.
class Notifications : public std::enable_shared_from_this<Notifications> {
  public:
    void add(std::function<void()> call);
    void close();  // no more come

  private:
    void serve();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;
    bool started_ = false, closed_ = false;
};

class EventImpl final : public MTL::SharedEvent {
  public:
    ~EventImpl() override { device->release(); }
    void signal(uint64_t value);
    // False when the deadline came first.
    bool wait(uint64_t value, std::chrono::steady_clock::time_point deadline);

    struct Listener {
        uint64_t value;
        MTL::SharedEventNotificationFunction function;
        std::shared_ptr<Notifications> notifications;
    };

    DeviceImpl* device = nullptr;
    std::string label;
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t value = 0;
    std::vector<Listener> listeners;
};
inline EventImpl& impl(const MTL::Event* event) {
    return *static_cast<EventImpl*>(const_cast<MTL::Event*>(event));
}

}  // namespace ingot::metal::api
