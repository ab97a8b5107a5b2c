// What a device must offer so that graphs run on it. A backend belongs to one engine and owns its buffers,
// its copy or layout of the weights, and the KV regions. It answers at build time whether it serves a node
// (supports_op) and never falls back at run time: what it can't do then is an Error. Placement, memory reuse
// and order of execution are decided elsewhere (llm/graph); see docs/graph.md.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "llm/graph/graph.h"
#include "llm/kv/format.h"

namespace ingot {

using BufferId = Id<struct BufferTag>;

// Where a value lies. `length` counts the elements that are meant; the buffer behind may be longer (size
// classes, reuse) and what lies past the length is garbage that nothing may read.
struct BufferRef {
    BufferId buffer;
    size_t offset_bytes = 0;
    size_t length = 0;
};

struct BoundNode {
    graph::NodeId id;
    BufferRef out;                  // invalid buffer: the node yields no data (KV handles)
    std::vector<BufferRef> inputs;  // by role; an absent or KV operand has an invalid buffer
};

// A run of nodes that execute on one backend without interruption, prepared once and executed many times.
class Program {
  public:
    virtual ~Program() = default;
};

// Receives each node's result while a graph is traced. `values` is empty for nodes without data of their own.
using NodeObserver = std::function<void(graph::NodeId node, double seconds, std::span<const float> values)>;

struct KvLayer {
    uint32_t layer = 0, kv_heads = 0, head_dim = 0;
    auto operator<=>(const KvLayer&) const = default;
};
enum class KvSide : uint8_t { kKey, kValue };

class Backend {
  public:
    virtual ~Backend() = default;

    virtual std::string_view name() const = 0;    // "cpu"; as graph text and --device spell it
    virtual std::string description() const = 0;  // "cpu (avx512-vnni)"

    // Whether `node` could run here. Its inputs are nodes of `graph`; it needs not be one itself. The Error
    // names what was observed and what would be accepted.
    virtual Result<void> supports_op(const graph::Graph& graph, const graph::Node& node) const = 0;

    // alloc_buffer may hand out a freed buffer of exactly the same size; alloc_fresh never does. Contents are
    // unspecified. Ids stay valid for the life of the backend, and so does the memory behind them.
    virtual Result<BufferId> alloc_buffer(size_t size_bytes) = 0;
    virtual Result<BufferId> alloc_fresh(size_t size_bytes) = 0;
    virtual void free_buffer(BufferId buffer) = 0;

    // Host access. A read waits for what has been executed so far and sees its results; a write happens
    // before what is executed next.
    virtual Result<void> write(BufferId buffer, size_t offset_bytes, std::span<const std::byte> data) = 0;
    virtual Result<void> read(BufferId buffer, size_t offset_bytes, std::span<std::byte> data) = 0;
    // The buffer's memory if the host may read it in place once synchronized; nullptr if it has to use
    // read().
    virtual const std::byte* host_view(BufferId) const { return nullptr; }

    // Brings every weight that a node of `graph` placed on `self` uses into the form its op wants; weights
    // prepared before are kept as they are. `progress` gets the bytes prepared so far by this call and its
    // total; returning false cancels.
    using Progress = std::function<bool(uint64_t done_bytes, uint64_t total_bytes)>;
    virtual Result<void> prepare_weights(const graph::Graph& graph, graph::BackendId self,
                                         const Progress& progress) = 0;

    // Makes the regions of these layers, filled with zeros. Layers that exist keep their contents; asking for
    // one with another shape, format or size is an Error.
    virtual Result<void> ensure_kv(std::span<const KvLayer> layers, kv::Format format,
                                   uint32_t num_cells) = 0;
    // Rows of a region in its own format, [rows, kv_heads, head_dim].
    virtual Result<void> read_kv(uint32_t layer, KvSide side, uint32_t first_cell,
                                 std::span<std::byte> rows) = 0;
    virtual Result<void> write_kv(uint32_t layer, KvSide side, uint32_t first_cell,
                                  std::span<const std::byte> rows) = 0;

    // Binds nodes, in order, to memory; whatever can be decided or refused once is decided here. `graph`
    // outlives the program.
    virtual Result<std::unique_ptr<Program>> prepare(const graph::Graph& graph,
                                                     std::vector<BoundNode> nodes) = 0;
    // Runs a program of prepare(). May return before the work is done (see synchronize). With an observer
    // each node is run, timed and reported on its own before this returns.
    virtual Result<void> execute(Program& program, const NodeObserver* observer) = 0;
    // Waits for everything executed so far and reports its failure if it had one.
    virtual Result<void> synchronize() = 0;

    struct Memory {
        uint64_t weight_bytes = 0, kv_bytes = 0, buffer_bytes = 0;
    };
    virtual Memory memory() const = 0;
    // Where time went, as lines of text, if the backend was made to find out.
    virtual std::string profile() const { return {}; }
};

}  // namespace ingot
