// A loaded model ready to run: file, weights on their backend, compute graphs and a KV cache, which one
// sequence of tokens has for itself or several share. Text is not its business (llm/text); neither is
// choosing tokens. One caller at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/gguf/gguf.h"
#include "llm/kv/cells.h"
#include "llm/kv/format.h"
#include "llm/text/tokenizer.h"

namespace ingot {

// What EngineOptions::device may name: this machine's CPU, or its Metal device (on Linux the virtual one).
inline constexpr std::array<std::string_view, 2> kDevices = {"cpu", "metal"};

struct EngineOptions {
    uint32_t threads = 0;  // of the cpu; 0: one per physical core that this process may use
    uint32_t context = 0;  // KV cells; 0: the model's training context, at most 4096
    uint32_t batch = 512;  // most tokens per graph; longer input is run in chunks
    std::string device = "cpu";
    std::string isa =
        {};  // of the cpu, as kernels/isa.h spells it; empty: the best one, or what INGOT_ISA says
    std::vector<std::string> settings = {};  // of the metal device's kernels: "attn.decode=classic"
    // Blocks on the metal device, from the first on, the others on the cpu; none: all or an Error.
    std::optional<uint32_t> gpu_layers = {};
    bool gpu_layers_auto = false;   // as many as fit its memory, with a quarter left free
    uint64_t gpu_memory_bytes = 0;  // that the metal device may take; 0: what it recommends
    bool profile = false;           // Stats::profile
    bool fuse = true;
    // Of cached keys and values; none: chosen by their size (model/memory.h).
    std::optional<kv::Format> kv_format = {};
    std::string dump_graph = {};   // path of a .dot file, written once per distinct graph; empty: off
    std::string trace = {};        // path of a .json file; empty: off
    std::string print_after = {};  // pass whose graphs are printed to stderr, or "all"; empty: off
    // Called while weights are prepared, with a fraction 0..1; returning false cancels (kCancelled).
    std::function<bool(float)> progress = {};
};

// Tokens that continue a sequence. Sequences need no making: one that nothing was run for is empty.
struct SequenceTokens {
    kv::SequenceId sequence = 0;
    std::span<const TokenId> tokens;
};

// What speaks of one sequence without naming it means sequence 0.
class Engine {
  public:
    static Result<std::unique_ptr<Engine>> load(const std::string& path, EngineOptions options = {});
    virtual ~Engine() = default;

    virtual const gguf::File& file() const = 0;
    virtual uint32_t vocab_size() const = 0;
    virtual uint32_t context() const = 0;  // cells
    // Of a sequence in the KV cache now; the next token's position.
    virtual uint32_t num_tokens(kv::SequenceId sequence = 0) const = 0;
    virtual uint32_t threads() const = 0;  // of the cpu; 0 on another device

    // Runs `tokens` after what is cached. Returns the logits of the last one, [vocab_size], valid until the
    // next call. kLimit if they don't fit the context (nothing is run), kInvalidArgument if empty or an id is
    // outside the vocabulary.
    virtual Result<std::span<const float>> forward(std::span<const TokenId> tokens) = 0;
    // The same with the logits of tokens [first_output, tokens.size()), rows of [vocab_size], handed to `row`
    // (index into tokens, logits) chunk by chunk.
    virtual Result<void> forward_all(std::span<const TokenId> tokens, size_t first_output,
                                     const std::function<void(size_t, std::span<const float>)>& row) = 0;
    // Runs the tokens of several sequences together, each after what is cached of its own: the weights are
    // read once for all of them. Hands the logits of each sequence's last token to `row` (index into batch,
    // [vocab_size]). All or, on an error, none of them: the errors are forward()'s, and kInvalidArgument if a
    // sequence is named twice.
    virtual Result<void> forward_batch(std::span<const SequenceTokens> batch,
                                       const std::function<void(size_t, std::span<const float>)>& row) = 0;
    // Lets sequence `target`, which must be empty, begin with the first `length` cached tokens of `source`:
    // no token is run and no cell taken. kInvalidArgument if one is not so.
    virtual Result<void> share(kv::SequenceId source, kv::SequenceId target, uint32_t length) = 0;
    // Forgets a sequence's cached tokens from position `count` on; no effect if there are none.
    virtual void truncate(uint32_t count, kv::SequenceId sequence = 0) = 0;

    // Forgets cached tokens [begin, end), as if those behind them had come right after those before: their
    // keys are turned to their new positions. kInvalidArgument if there are none; an error of a device
    // empties the cache.
    virtual Result<void> remove(uint32_t begin, uint32_t end) = 0;
    // Writes what is cached to a session file; `tokens` are the cached ones, all of them. The note comes back
    // with them.
    virtual Result<void> save_session(const std::string& path, std::span<const TokenId> tokens,
                                      std::string_view note) = 0;
    // Replaces what is cached by the first tokens of a session file, as many as begin `tokens` too, and
    // returns how many. kInvalidArgument for a file with a note: it is more than a text. An error of the file
    // (kv/session.h) leaves the cache as it was; one of a device empties it.
    virtual Result<uint32_t> load_session(const std::string& path, std::span<const TokenId> tokens) = 0;
    // The same with all of the file's tokens, as many as the context has cells for.
    struct SavedText {
        std::vector<TokenId> tokens;
        std::string note;
    };
    virtual Result<SavedText> load_session(const std::string& path) = 0;

    // Facts for `ingot info`, `bench` and tests.
    struct Stats {
        std::string backend;  // "cpu (avx512-vnni)"
        uint64_t weight_bytes = 0, kv_bytes = 0, compute_bytes = 0;
        uint64_t graphs_built = 0;  // distinct graphs built so far; decode steps reuse one
        // Of the decode step's graph, nodes that execute, by the device they are on: {"metal", 211}.
        std::map<std::string, size_t> placement;
        double load_seconds = 0;
        std::string profile = {};  // where time went, as lines of text; empty unless asked for
    };
    virtual Stats stats() const = 0;
};

}  // namespace ingot
