#include "llm/engine/engine.h"

#include <algorithm>
#include <chrono>

#include "base/cpu_topology.h"
#include "llm/backend/cpu/cpu_backend.h"
#include "llm/backend/metal/metal_backend.h"
#include "llm/engine/offload.h"
#include "llm/graph/executor.h"
#include "llm/kv/cells.h"
#include "llm/kv/session.h"
#include "llm/model/fingerprint.h"
#include "llm/model/memory.h"
#include "llm/model/model.h"

namespace ingot {
namespace {

constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxBatch = 1u << 16;
constexpr uint32_t kMaxContext = 1u << 30;  // positions are 32-bit signed
// Logits that one graph yields at most: 256 rows of a vocabulary of 65536. More rows come in several graphs.
constexpr size_t kMaxLogitsBytes = 64u << 20;
constexpr kv::SequenceId kSequence = 0;  // that is meant where none is named

Result<void> check(const EngineOptions& options) {
    if (std::ranges::find(kDevices, options.device) == kDevices.end()) {
        return fail(ErrorKind::kUnsupported, "device '{}' is unknown; {} are accepted", options.device,
                    fmt::join(kDevices, " and "));
    }
    if (!options.settings.empty() && options.device != "metal") {
        return fail(ErrorKind::kInvalidArgument, "'{}' sets something of the metal device; this one is {}",
                    options.settings[0], options.device);
    }
    if ((options.gpu_layers || options.gpu_layers_auto || options.gpu_memory_bytes != 0 || options.profile) &&
        options.device != "metal") {
        return fail(ErrorKind::kInvalidArgument,
                    "layers, memory and profile of the metal device were asked for; this one is {}",
                    options.device);
    }
    if (options.threads > kMaxThreads) {
        return fail(ErrorKind::kInvalidArgument, "{} threads; 1 to {} are accepted", options.threads,
                    kMaxThreads);
    }
    if (options.context > kMaxContext) {
        return fail(ErrorKind::kInvalidArgument, "a context of {} tokens; 1 to {} are accepted",
                    options.context, kMaxContext);
    }
    if (options.batch == 0 || options.batch > kMaxBatch) {
        return fail(ErrorKind::kInvalidArgument, "a batch of {} tokens; 1 to {} are accepted", options.batch,
                    kMaxBatch);
    }
    return {};
}

// What an engine runs on, in order of preference.
struct Devices {
    std::vector<std::unique_ptr<Backend>> backends;
    uint32_t first_blocks = graph::kAllBlocks;  // PassContext::first_backend_blocks
    uint32_t threads = 0;                       // of the cpu; 0 if it has no part

    std::vector<Backend*> all() const {
        std::vector<Backend*> list;
        for (const auto& backend : backends) list.push_back(backend.get());
        return list;
    }
};

class GraphEngine final : public Engine {
  public:
    GraphEngine(EngineOptions options, std::unique_ptr<gguf::File> file, model::Model model, Devices devices,
                uint32_t context)
        : options_(std::move(options)),
          file_(std::move(file)),
          model_(std::move(model)),
          devices_(std::move(devices)),
          executor_(devices_.all(), [this](const graph::GraphParams& p) { return model_.build(p); },
                    {.kv_cells = context,
                     .first_backend_blocks = devices_.first_blocks,
                     .dump_graph = options_.dump_graph,
                     .trace = options_.trace,
                     .print_after = options_.print_after}),
          cells_(context) {}

    // Brings the weights to the backend, builds the graph of a decode step, and takes the memory of the
    // largest batch, in which all shorter ones run.
    Result<void> prepare(const Backend::Progress& progress) {
        INGOT_TRY(executor_.prepare(params(1, 1), progress));
        layer_cells_ = kv::cells_of(*executor_.find(params(1, 1)), devices_.all());
        return executor_.prepare(params(std::min(options_.batch, context()), 1));
    }
    void set_load_seconds(double seconds) { load_seconds_ = seconds; }

    const gguf::File& file() const override { return *file_; }
    uint32_t vocab_size() const override { return model_.hyper().vocab; }
    uint32_t context() const override { return cells_.num_cells(); }
    uint32_t num_tokens(kv::SequenceId sequence = kSequence) const override {
        return cells_.length(sequence);
    }
    uint32_t threads() const override { return devices_.threads; }

    Result<std::span<const float>> forward(std::span<const TokenId> tokens) override {
        std::span<const float> logits;
        const SequenceTokens only{kSequence, tokens};
        INGOT_TRY(
            run({&only, 1}, kLastOnly, [&](size_t, size_t, std::span<const float> row) { logits = row; }));
        return logits;
    }
    Result<void> forward_all(std::span<const TokenId> tokens, size_t first_output,
                             const std::function<void(size_t, std::span<const float>)>& row) override {
        if (first_output >= tokens.size() && !tokens.empty()) {
            return fail(ErrorKind::kInvalidArgument,
                        "the first output is {} of {} tokens; one of them is accepted", first_output,
                        tokens.size());
        }
        const SequenceTokens only{kSequence, tokens};
        return run({&only, 1}, first_output,
                   [&](size_t, size_t token, std::span<const float> logits) { row(token, logits); });
    }
    Result<void> forward_batch(std::span<const SequenceTokens> batch,
                               const std::function<void(size_t, std::span<const float>)>& row) override {
        return run(batch, kLastOnly,
                   [&](size_t index, size_t, std::span<const float> logits) { row(index, logits); });
    }
    Result<void> share(kv::SequenceId source, kv::SequenceId target, uint32_t length) override {
        return cells_.share(source, target, length);
    }
    void truncate(uint32_t count, kv::SequenceId sequence = kSequence) override {
        cells_.truncate(sequence, count);
    }

    Result<void> remove(uint32_t begin, uint32_t end) override {
        INGOT_ASSIGN(const kv::Removal removal, cells_.remove(kSequence, begin, end));
        const std::vector<kv::RowMove> moves = cells_.compact();
        const std::span<const kv::LayerCells> layers = layer_cells_;
        const kv::Format format = params(1, 1).kv_format;
        const auto apply = [&]() -> Result<void> {
            INGOT_TRY(kv::move_rows(layers, format, removal.copies));
            INGOT_TRY(kv::turn_keys(layers, format, removal.turned, int32_t(begin) - int32_t(end)));
            return kv::move_rows(layers, format, moves);
        };
        auto applied = apply();
        if (!applied) cells_.clear();  // some rows are old and some new
        return applied;
    }

    Result<void> save_session(const std::string& path, std::span<const TokenId> tokens,
                              std::string_view note) override {
        if (tokens.size() != num_tokens()) {
            return fail(ErrorKind::kInvalidArgument, "a session of {} tokens, but {} are cached",
                        tokens.size(), num_tokens());
        }
        const std::span<const kv::LayerCells> layers = layer_cells_;
        INGOT_ASSIGN(const kv::SessionShape shape, session_shape(layers));
        return kv::save_session(path, shape, cells_.runs(kSequence), tokens, note);
    }

    Result<uint32_t> load_session(const std::string& path, std::span<const TokenId> tokens) override {
        INGOT_ASSIGN(const kv::Session session, read_session(path));
        if (!session.note().empty())
            return fail(ErrorKind::kInvalidArgument, "'{}' is a session of a conversation, not of a text",
                        path);
        const size_t most = std::min(tokens.size(), session.tokens().size());
        uint32_t same = 0;
        while (same < most && tokens[same] == session.tokens()[same]) ++same;
        return restore(session, same);
    }

    Result<SavedText> load_session(const std::string& path) override {
        INGOT_ASSIGN(const kv::Session session, read_session(path));
        INGOT_ASSIGN(const uint32_t held, restore(session, session.tokens().size()));
        const auto tokens = session.tokens().first(held);
        return SavedText{{tokens.begin(), tokens.end()}, std::string(session.note())};
    }

    Stats stats() const override {
        Stats stats;
        stats.graphs_built = executor_.stats().graphs_built;
        stats.placement = placement();
        stats.load_seconds = load_seconds_;
        for (const auto& backend : devices_.backends) {
            const Backend::Memory memory = backend->memory();
            stats.backend += (stats.backend.empty() ? "" : " and ") + backend->description();
            stats.weight_bytes += memory.weight_bytes;
            stats.kv_bytes += memory.kv_bytes;
            stats.compute_bytes += memory.buffer_bytes;
            stats.profile += backend->profile();
        }
        return stats;
    }

  private:
    // (index into the batch, index into its tokens, [vocab_size])
    using Row = std::function<void(size_t, size_t, std::span<const float>)>;
    // Instead of the first token whose logits are wanted: of each sequence the last one's.
    static constexpr size_t kLastOnly = size_t(-1);

    // Consecutive tokens of one sequence in a graph; the logits of the last `outputs` of them are wanted.
    struct Piece {
        size_t index = 0;  // into the batch
        size_t begin = 0, count = 0;
        size_t outputs = 0;
    };

    graph::GraphParams params(size_t tokens, size_t outputs) const {
        graph::GraphParams params;
        params.tokens = uint32_t(tokens);
        params.outputs = uint32_t(outputs);
        params.kv_format = options_.kv_format.value_or(model::default_kv_format(model_.hyper()));
        if (!options_.fuse) params.fuse = {.glu = false, .qkv = false, .ffn = false};
        return params;
    }

    Result<kv::SessionShape> session_shape(std::span<const kv::LayerCells> layers) const {
        INGOT_ASSIGN(const graph::Graph graph, model_.build({}));
        return kv::SessionShape{
            .model = model::fingerprint(*file_, graph), .format = params(1, 1).kv_format, .layers = layers};
    }

    Result<kv::Session> read_session(const std::string& path) const {
        const std::span<const kv::LayerCells> layers = layer_cells_;
        INGOT_ASSIGN(const kv::SessionShape shape, session_shape(layers));
        return kv::Session::read(path, shape);
    }
    // The first `count` tokens of a session, if the context has so many cells, become what is cached.
    Result<uint32_t> restore(const kv::Session& session, size_t count) {
        const auto held = uint32_t(std::min<size_t>(context(), count));
        cells_.truncate(kSequence, 0);
        if (held == 0) return held;
        const kv::Continuation continuation{kSequence, held};
        INGOT_TRY(cells_.append({&continuation, 1}));
        if (auto restored = session.restore(layer_cells_, cells_.runs(kSequence)); !restored) {
            cells_.truncate(kSequence, 0);
            return Failure(restored.error());
        }
        return held;
    }

    std::map<std::string, size_t> placement() const {
        std::map<std::string, size_t> nodes;
        const graph::Graph* graph = executor_.find(params(1, 1));
        if (graph == nullptr) return nodes;
        for (const graph::Node& node : graph->nodes()) {
            if (node.op == graph::Op::kInput || graph::is_alias(node.op)) continue;
            ++nodes[graph->backends()[node.backend.index()]];
        }
        return nodes;
    }

    Result<void> check(std::span<const SequenceTokens> batch) const {
        if (batch.empty() || std::ranges::any_of(batch, [](const auto& part) { return part.tokens.empty(); }))
            return fail(ErrorKind::kInvalidArgument, "no tokens to run; one or more are accepted");
        size_t total = 0;
        for (const SequenceTokens& part : batch) {
            total += part.tokens.size();
            for (const TokenId token : part.tokens) {
                if (token >= 0 && uint32_t(token) < vocab_size()) continue;
                return fail(ErrorKind::kInvalidArgument, "token id {} is outside the vocabulary of {}", token,
                            vocab_size());
            }
        }
        for (size_t i = 0; i < batch.size(); ++i) {
            for (size_t j = 0; j < i; ++j) {
                if (batch[i].sequence != batch[j].sequence) continue;
                return fail(ErrorKind::kInvalidArgument,
                            "sequence {} stands twice in a batch; each once is accepted", batch[i].sequence);
            }
        }
        const uint32_t taken = cells_.num_used();
        if (total > context() - taken) {
            return fail(ErrorKind::kLimit, "{} tokens don't fit: {} of the context's {} are taken", total,
                        taken, context());
        }
        return {};
    }

    // Runs all tokens of the batch, those of each sequence from index `first_output` on with their logits; on
    // an error none of them.
    Result<void> run(std::span<const SequenceTokens> batch, size_t first_output, const Row& row) {
        INGOT_TRY(check(batch));
        std::vector<uint32_t> before;
        for (const SequenceTokens& part : batch) before.push_back(num_tokens(part.sequence));
        for (const std::vector<Piece>& chunk : chunks(batch, first_output)) {
            auto ran = run_chunk(batch, chunk, row);
            if (ran) continue;
            for (size_t i = 0; i < batch.size(); ++i) truncate(before[i], batch[i].sequence);
            return ran;
        }
        return {};
    }

    // The batch cut into graphs of at most options_.batch tokens and as many logits as they may yield.
    std::vector<std::vector<Piece>> chunks(std::span<const SequenceTokens> batch, size_t first_output) const {
        const size_t max_outputs = std::max<size_t>(1, kMaxLogitsBytes / (sizeof(float) * vocab_size()));
        std::vector<std::vector<Piece>> chunks;
        size_t tokens = options_.batch, outputs = 0;  // of the last chunk, which is full to begin with
        for (size_t i = 0; i < batch.size(); ++i) {
            const size_t size = batch[i].tokens.size();
            const size_t first = std::min(first_output, size - 1);
            for (Piece piece{.index = i}; piece.begin < size; piece.begin += piece.count) {
                if (tokens == options_.batch || outputs == max_outputs) {
                    chunks.emplace_back();
                    tokens = outputs = 0;
                }
                piece.count = std::min(options_.batch - tokens, size - piece.begin);
                const size_t end = piece.begin + piece.count;
                piece.outputs = end - std::min(end, std::max(piece.begin, first));
                const size_t excess = piece.outputs - std::min(piece.outputs, max_outputs - outputs);
                piece.count -= excess;
                piece.outputs -= excess;
                chunks.back().push_back(piece);
                tokens += piece.count;
                outputs += piece.outputs;
            }
        }
        return chunks;
    }

    // Cells for new tokens. There are enough, but a sequence may lie in as many runs as there can be: then
    // all of them are laid out anew.
    Result<kv::Placement> place(std::span<const kv::Continuation> continuations) {
        auto placed = cells_.append(continuations);
        if (placed || placed.error().kind != ErrorKind::kLimit) return placed;
        const auto moved =
            kv::rearrange_rows(layer_cells_, params(1, 1).kv_format, cells_.rearrange(continuations));
        if (moved) return cells_.append(continuations);
        cells_.clear();  // some rows are old and some new
        return Failure(moved.error());
    }

    // One graph.
    Result<void> run_chunk(std::span<const SequenceTokens> batch, std::span<const Piece> chunk,
                           const Row& row) {
        std::vector<kv::Continuation> continuations;
        std::vector<TokenId> tokens;
        std::vector<int32_t> output_rows;
        for (const Piece& piece : chunk) {
            continuations.push_back({batch[piece.index].sequence, uint32_t(piece.count)});
            const auto part = batch[piece.index].tokens.subspan(piece.begin, piece.count);
            tokens.insert(tokens.end(), part.begin(), part.end());
            for (size_t i = piece.outputs; i > 0; --i) output_rows.push_back(int32_t(tokens.size() - i));
        }
        INGOT_ASSIGN(const kv::Placement placement, place(continuations));
        graph::GraphParams p = params(tokens.size(), output_rows.size());
        p.sequences = uint32_t(chunk.size());
        p.window = placement.window;
        const graph::InputData inputs[] = {
            {graph::inputs::kTokens, tokens},
            {graph::inputs::kPositions, placement.positions},
            {graph::inputs::kCells, placement.cells},
            {graph::inputs::kOutputs, output_rows},
            {graph::inputs::kSpan, placement.window_data},  // of the two, the graph has the one of its window
            {graph::inputs::kMap, placement.window_data},
        };
        INGOT_TRY(executor_.run(p, inputs));
        if (output_rows.empty()) return {};
        INGOT_ASSIGN(std::span<const float> logits, executor_.output());
        for (const Piece& piece : chunk) {
            for (size_t i = 0; i < piece.outputs; ++i) {
                row(piece.index, piece.begin + piece.count - piece.outputs + i, logits.first(vocab_size()));
                logits = logits.subspan(vocab_size());
            }
        }
        return {};
    }

    EngineOptions options_;
    std::unique_ptr<gguf::File> file_;  // in place: the model and the backend point into it
    model::Model model_;
    Devices devices_;
    graph::Executor executor_;
    kv::Cells cells_;
    std::vector<kv::LayerCells> layer_cells_;
    double load_seconds_ = 0.0;
};

// A part of loading that reports bytes, as the share [from, to] of all of it.
Backend::Progress share_of(const std::function<bool(float)>& progress, float from, float to) {
    if (!progress) return {};
    return [=](uint64_t done, uint64_t total) {
        return progress(total == 0 ? to : from + (to - from) * float(double(done) / double(total)));
    };
}

Result<std::unique_ptr<Backend>> make_cpu_backend(uint32_t threads, const std::string& isa,
                                                  const gguf::File& file) {
    // A packed weight is not read from the file again.
    const auto release = [&file](std::span<const std::byte> part_of_tensor) { file.release(part_of_tensor); };
    INGOT_ASSIGN(auto backend,
                 cpu::CpuBackend::create({.threads = threads, .isa = isa, .on_packed = release}));
    return backend;
}

Result<void> add_metal(const EngineOptions& options, const gguf::File& file, const model::Model& model,
                       uint32_t context, Devices& devices) {
    INGOT_ASSIGN(const mtl::KernelOptions kernels, mtl::parse_kernel_options(options.settings));
    INGOT_ASSIGN(auto metal, mtl::MetalBackend::create({.mappings = file.mappings(),
                                                        .kernels = kernels,
                                                        .memory_bytes = options.gpu_memory_bytes,
                                                        .profile = options.profile}));
    const uint32_t blocks = model.hyper().layers;
    if (options.gpu_layers && *options.gpu_layers < blocks) devices.first_blocks = *options.gpu_layers;
    if (options.gpu_layers_auto) {
        const kv::Format format = options.kv_format.value_or(model::default_kv_format(model.hyper()));
        const uint64_t kv_bytes = model::kv_size_bytes(model.hyper(), format, context) / blocks;
        devices.first_blocks =
            blocks_that_fit(*model.weights(), blocks, kv_bytes, metal->budget_bytes() / 4 * 3);
    }
    devices.backends.push_back(std::move(metal));
    return {};
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::load(const std::string& path, EngineOptions options) {
    const auto start = std::chrono::steady_clock::now();
    INGOT_TRY(check(options));
    INGOT_ASSIGN(gguf::File opened, gguf::File::open(path));
    auto file = std::make_unique<gguf::File>(std::move(opened));
    // Checking reads the file from the disk if it isn't cached; packing then works on memory.
    INGOT_ASSIGN(model::Model model,
                 model::Model::load(*file, {.progress = share_of(options.progress, 0.0f, 0.5f)}));
    const uint32_t context = options.context != 0 ? options.context : model::default_context(model.hyper());
    Devices devices;
    if (options.device == "metal") {
        options.batch = std::min(options.batch, mtl::MetalBackend::kMaxTokens);
        INGOT_TRY(add_metal(options, *file, model, context, devices));
    }
    if (options.device == "cpu" || devices.first_blocks != graph::kAllBlocks) {
        devices.threads = options.threads != 0 ? options.threads : default_num_threads();
        INGOT_ASSIGN(auto cpu, make_cpu_backend(devices.threads, options.isa, *file));
        devices.backends.push_back(std::move(cpu));
    }
    const auto packing = share_of(options.progress, 0.5f, 1.0f);
    auto engine = std::make_unique<GraphEngine>(std::move(options), std::move(file), std::move(model),
                                                std::move(devices), context);
    INGOT_TRY(engine->prepare(packing));
    engine->file().release_metadata();
    engine->set_load_seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return engine;
}

}  // namespace ingot
