#include "cli/options.h"

#include <charconv>
#include <cmath>
#include <memory>
#include <random>

#include <CLI/App.hpp>

#include "llm/graph/pipeline.h"

namespace ingot::cli {
namespace {

constexpr const char* kModelGroup = "Model";
constexpr const char* kSamplingGroup = "Sampling";

// The whole of `text` as a number; nullopt if anything is left over.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// CLI11 reads a number again after its check, one that begins with 0 in base 8.
bool is_octal_to_cli11(std::string_view text) {
    const size_t digit = text.find_first_not_of("+-");
    return digit + 1 < text.size() && text[digit] == '0';
}

std::string kv_format_names() {
    std::string names = "auto";
    for (const kv::FormatTraits& row : kv::kFormats) names += fmt::format(", {}", row.name);
    return names;
}

// "build, assign, ..., all"
std::string pass_names() {
    std::string names = "build, ";
    for (const graph::Pass& pass : graph::kPipeline) names += fmt::format("{}, ", pass.name);
    return names + "all";
}

void add_sampler_field(CLI::App& app, const SamplerField& field, SamplerOptions& options) {
    const std::string flag = fmt::format("--{}", field.name);
    const std::string help(field.help);
    const auto add = [&](auto member) {
        using Value = std::remove_reference_t<decltype(options.*member)>;
        CLI::Option* option = app.add_option(flag, options.*member, help)->group(kSamplingGroup);
        if constexpr (std::is_integral_v<Value>)
            option->check(whole_number((long long)field.min, (long long)field.max));
        else
            option->check(number(field.min, field.max));
        option->option_text(fmt::format("N [{:g}]", double(options.*member)));
    };
    std::visit(add, field.member);
}

}  // namespace

CLI::Validator whole_number(long long min, long long max) {
    return CLI::Validator(
        [=](std::string& text) -> std::string {
            const auto value = parse_number<long long>(text);
            if (value && is_octal_to_cli11(text))
                return fmt::format("'{}' begins with 0, write {}", text, *value);
            if (value && *value >= min && *value <= max) return {};
            return fmt::format("'{}' is not a whole number from {} to {}", text, min, max);
        },
        "");
}

CLI::Validator number(double min, double max) {
    return CLI::Validator(
        [=](std::string& text) -> std::string {
            const auto value = parse_number<double>(text);
            if (value && *value >= min && *value <= max) return {};
            return fmt::format("'{}' is not a number from {:g} to {:g}", text, min, max);
        },
        "");
}

Result<std::pair<TokenId, float>> parse_logit_bias(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals != std::string::npos) {
        const auto id = parse_number<TokenId>(std::string_view(text).substr(0, equals));
        const auto bias = parse_number<float>(std::string_view(text).substr(equals + 1));
        if (id && *id >= 0 && bias && *bias < std::numeric_limits<float>::infinity())
            return std::pair(*id, *bias);
    }
    return fail(ErrorKind::kInvalidArgument,
                "'{}' is not TOKEN_ID=BIAS with a number or -inf, like 15043=-2.5", text);
}

void add_model_flags(CLI::App& app, ModelFlags& flags, bool model_required) {
    const char* help = model_required
                           ? "Path of a GGUF file, or the name of one in the model folder"
                           : "Path of a GGUF file, or the name of one in the model folder; without it "
                             "the demo model";
    CLI::Option* model = app.add_option("MODEL", flags.model, help);
    if (model_required) model->required();
    app.add_option("-t,--threads", flags.engine.threads, "Threads; 0: one per core")
        ->check(whole_number(0, 1024))
        ->option_text("N [0]")
        ->group(kModelGroup);
    app.add_option("-c,--ctx", flags.engine.context, "Context in tokens; 0: the model's own, at most 4096")
        ->check(whole_number(0, 1 << 24))
        ->option_text("N [0]")
        ->group(kModelGroup);
    app.add_option("--device", flags.engine.device, "Where to run it; `ingot devices` lists what is there")
        ->check(CLI::Validator(
            [](std::string& device) -> std::string {
                if (std::ranges::find(kDevices, device) != kDevices.end()) return {};
                return fmt::format("unknown device '{}'; this program has: {}", device,
                                   fmt::join(kDevices, ", "));
            },
            ""))
        ->option_text("DEVICE [cpu]")
        ->group(kModelGroup);
    app.add_option_function<std::string>(
           "--kv-format",
           [&flags](const std::string& name) {
               if (name != "auto" && !kv::format_from_name(name)) {
                   throw CLI::ValidationError("--kv-format", fmt::format("'{}' is no format; {} are accepted",
                                                                         name, kv_format_names()));
               }
               flags.engine.kv_format = kv::format_from_name(name);
           },
           "How cached keys and values are stored: " + kv_format_names())
        ->option_text("FORMAT [auto]")
        ->group(kModelGroup);
    app.add_option_function<std::string>(
           "--gpu-layers",
           [&flags](const std::string& text) {
               flags.engine.gpu_layers_auto = text == "auto";
               flags.engine.gpu_layers =
                   flags.engine.gpu_layers_auto ? std::nullopt : parse_number<uint32_t>(text);
               if (!flags.engine.gpu_layers && !flags.engine.gpu_layers_auto) {
                   throw CLI::ValidationError("--gpu-layers",
                                              fmt::format("'{}' is not auto or a number of layers", text));
               }
           },
           "Layers on the metal device, from the first on, the others on the cpu; auto: as many as fit")
        ->option_text("N|auto [all]")
        ->group(kModelGroup);
    app.add_option_function<uint64_t>(
           "--gpu-memory", [&flags](uint64_t mib) { flags.engine.gpu_memory_bytes = mib << 20; },
           "Most memory that the metal device may take, in MiB; 0: what it recommends")
        ->check(whole_number(0, 1 << 24))
        ->option_text("MIB [0]")
        ->group(kModelGroup);
    app.add_flag("--profile", flags.engine.profile, "Say at the end where the metal device's time went")
        ->group(kModelGroup);
    app.add_option("--set", flags.engine.settings,
                   "Choose a kernel of the metal device, like attn.decode=classic; may be repeated")
        ->allow_extra_args(false)
        ->option_text("NAME=VALUE")
        ->group(kModelGroup);
    app.add_option("--dump-graph", flags.engine.dump_graph, "Write the compute graphs to a Graphviz file")
        ->option_text("FILE.dot")
        ->group(kModelGroup);
    app.add_option("--trace", flags.engine.trace, "Write each node's shape, device, time and value range")
        ->option_text("FILE.json")
        ->group(kModelGroup);
    app.add_option("--print-after", flags.engine.print_after,
                   "Print the compute graphs after a pass: " + pass_names())
        ->option_text("PASS")
        ->group(kModelGroup);
}

void add_sampling_flags(CLI::App& app, SamplingFlags& flags) {
    for (const SamplerField& field : sampler_fields()) add_sampler_field(app, field, flags.sampler);
    app.add_flag("--greedy", flags.sampler.greedy, "Always take the most likely token")
        ->group(kSamplingGroup);
    app.add_option("--seed", flags.seed, "Seed of the draw; the same seed gives the same text")
        ->check(whole_number(0, std::numeric_limits<long long>::max()))
        ->option_text("N [random]")
        ->group(kSamplingGroup);
    const auto add_bias = [&flags](const std::string& text) {
        const auto bias = parse_logit_bias(text);
        if (!bias) throw CLI::ValidationError("--logit-bias", bias.error().message);
        flags.sampler.logit_bias.push_back(*bias);
    };
    app.add_option_function<std::vector<std::string>>(
           "--logit-bias", [add_bias](const auto& texts) { std::ranges::for_each(texts, add_bias); },
           "Add BIAS to the logit of a token; may be repeated")
        ->allow_extra_args(false)
        ->option_text("ID=BIAS")
        ->group(kSamplingGroup);
    app.add_option("--stop", flags.stop, "End the answer in front of this text; may be repeated")
        ->check(CLI::Validator(
            [](std::string& text) {
                return text.empty() ? std::string("an empty text ends nothing") : std::string();
            },
            ""))
        ->allow_extra_args(false)
        ->option_text("TEXT")
        ->group(kSamplingGroup);
}

Result<SamplerOptions> SamplingFlags::options() const {
    SamplerOptions all = sampler;
    all.seed = seed ? *seed : std::random_device()();
    INGOT_TRY(all.validate());
    return all;
}

}  // namespace ingot::cli
