// `ingot bench`: how fast a model evaluates prompts (ppN) and generates tokens (tgN), measured as llama-bench
// does: random tokens, no sampling, the same context (empty, or of a given depth) before each repetition, one
// repetition that doesn't count. With several streams as many sequences do the same together.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>

#include <sys/resource.h>

#include "cli/bench_report.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/model_facts.h"
#include "cli/progress.h"

namespace ingot::cli {
namespace {

constexpr uint32_t kMostStreams = 64;

struct BenchFlags {
    ModelFlags model;
    std::vector<uint32_t> prompts = {512}, generations = {128};
    uint32_t depth = 0;
    std::vector<uint32_t> streams = {1};
    uint32_t repetitions = 3;
    std::string output = "md";
};

using Printer = std::string (*)(const BenchReport&);
struct Format {
    std::string_view name;
    Printer print;
};
constexpr Format kFormats[] = {{"md", to_markdown}, {"csv", to_csv}, {"json", to_json}};

uint64_t peak_memory_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
    return uint64_t(usage.ru_maxrss);
#else
    return uint64_t(usage.ru_maxrss) * 1024;
#endif
}

std::vector<TokenId> random_tokens(size_t count, uint32_t vocab_size) {
    std::mt19937 random(1);
    std::vector<TokenId> tokens(count);
    for (TokenId& token : tokens) token = TokenId(random() % vocab_size);
    return tokens;
}

// The same tokens in each of the sequences 0, 1, ...
Result<void> run_in_all(Engine& engine, uint32_t streams, std::span<const TokenId> tokens) {
    std::vector<SequenceTokens> batch;
    for (uint32_t i = 0; i < streams; ++i) batch.push_back({i, tokens});
    return engine.forward_batch(batch, [](size_t, std::span<const float>) {});
}

// Seconds for one repetition of `test`, after each sequence has its depth.
Result<double> seconds_of(Engine& engine, const BenchTest& test) {
    const size_t count = std::max(test.prompt_tokens, test.generated_tokens);
    const std::vector<TokenId> tokens = random_tokens(count, engine.vocab_size());
    // All of one length, and those of a test before of none.
    uint32_t present = test.depth;
    for (kv::SequenceId i = 0; i < test.streams; ++i) present = std::min(present, engine.num_tokens(i));
    for (kv::SequenceId i = 0; i < kMostStreams; ++i) engine.truncate(i < test.streams ? present : 0, i);
    if (present < test.depth)
        INGOT_TRY(run_in_all(engine, test.streams, random_tokens(test.depth - present, engine.vocab_size())));
    const auto start = std::chrono::steady_clock::now();
    if (test.prompt_tokens) {
        INGOT_TRY(run_in_all(engine, test.streams, tokens));
    } else {
        for (const TokenId& token : tokens) INGOT_TRY(run_in_all(engine, test.streams, {&token, 1}));
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<void> run_tests(Engine& engine, uint32_t repetitions, BenchReport& report) {
    ProgressBar bar("measuring");
    const double steps = double(report.tests.size()) * (repetitions + 1);
    double done = 0;
    for (BenchTest& test : report.tests) {
        bar.update(done++ / steps, test.name());
        // Doesn't count, but of the first test it is the time to the first token after loading.
        INGOT_ASSIGN(const double warm_up, seconds_of(engine, test));
        if (&test == &report.tests.front()) {
            report.first_token_seconds = test.prompt_tokens ? warm_up : warm_up / test.tokens();
            report.first_token_prompt = std::max(test.prompt_tokens, 1u);
        }
        for (uint32_t i = 0; i < repetitions; ++i) {
            bar.update(done++ / steps, test.name());
            INGOT_ASSIGN(const double seconds, seconds_of(engine, test));
            test.seconds.push_back(seconds);
        }
    }
    return {};
}

Result<void> bench(BenchFlags flags) {
    BenchReport report;
    for (const uint32_t streams : flags.streams) {
        for (const uint32_t n : flags.prompts)
            if (n > 0) report.tests.push_back({.prompt_tokens = n, .depth = flags.depth, .streams = streams});
        for (const uint32_t n : flags.generations)
            if (n > 0)
                report.tests.push_back({.generated_tokens = n, .depth = flags.depth, .streams = streams});
    }
    if (report.tests.empty())
        return fail(ErrorKind::kInvalidArgument, "nothing to measure: -p and -n are both 0");
    if (flags.model.engine.context == 0) {
        for (const BenchTest& test : report.tests)
            flags.model.engine.context =
                std::max(flags.model.engine.context, test.depth * test.streams + uint32_t(test.tokens()));
    }

    INGOT_ASSIGN(const auto loaded, load_engine(flags.model));
    Engine& engine = *loaded;
    const ModelFacts facts = model_facts(engine.file());
    report.file_name = std::filesystem::path(engine.file().path()).filename().string();
    report.model = facts.name;
    report.quant = facts.quant;
    report.weight_bytes = facts.weight_bytes;
    report.parameters = facts.parameters;
    report.backend = engine.stats().backend;
    report.threads = engine.threads();
    report.load_seconds = engine.stats().load_seconds;
    INGOT_TRY(run_tests(engine, flags.repetitions, report));
    report.peak_memory_bytes = peak_memory_bytes();

    const auto format = std::ranges::find(kFormats, flags.output, &Format::name);
    fmt::print("{}", format->print(report));
    print_profile(engine);
    return {};
}

std::string format_names(std::string_view separator) {
    std::vector<std::string_view> names;
    for (const Format& format : kFormats) names.push_back(format.name);
    return fmt::format("{}", fmt::join(names, separator));
}

std::string known_format(const std::string& name) {
    if (std::ranges::find(kFormats, name, &Format::name) != std::end(kFormats)) return {};
    return fmt::format("unknown format '{}'; accepted are {}", name, format_names(", "));
}

}  // namespace

Action add_bench(CLI::App& app) {
    auto flags = std::make_shared<BenchFlags>();
    add_model_flags(app, flags->model, false);
    app.add_option("-p,--prompt", flags->prompts, "Prompt lengths to measure; 0: none")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(whole_number(0, 1 << 20))
        ->option_text("N,... [512]");
    app.add_option("-n,--max-tokens", flags->generations, "Numbers of generated tokens to measure; 0: none")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(whole_number(0, 1 << 20))
        ->option_text("N,... [128]");
    app.add_option("-d,--depth", flags->depth, "Tokens in the context before each test")
        ->check(whole_number(0, 1 << 20))
        ->option_text("N [0]");
    app.add_option("-s,--streams", flags->streams, "Numbers of sequences to run together in each test")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(whole_number(1, kMostStreams))
        ->option_text("N,... [1]");
    app.add_option("-r,--repetitions", flags->repetitions, "How often each test is repeated")
        ->check(whole_number(1, 1000))
        ->option_text("N [3]");
    app.add_option("-o,--output", flags->output, "How to print the figures")
        ->check(CLI::Validator([](std::string& name) { return known_format(name); }, ""))
        ->option_text(fmt::format("{} [{}]", format_names("|"), flags->output));
    return [flags] { return bench(*flags); };
}

}  // namespace ingot::cli
