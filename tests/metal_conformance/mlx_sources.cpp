// MLX's kernels from the headers that its wheel ships: what of the compiled library can be instantiated from
// source, and how. One row a family; a kernel's name gives the template's arguments. Entries of
// mlx_source_list.h are kernels too.
#include <map>
#include <optional>
#include <regex>
#include <sstream>

#include "metal/msl/source_library.h"
#include "metal_conformance/checked.h"
#include "metal_conformance/corpora.h"
#include "metal_conformance/mlx_source_list.h"

namespace ingot::metal::conformance {
namespace {

struct SourceRow {
    const char* name;       // of a kernel; {T} is a type, {OP} an operation, {N} a number, {X} n or t
    const char* headers;    // below mlx/backend/metal/kernels, separated by spaces
    const char* arguments;  // of instantiate_kernel after the name; $1 is what the first brace stood for
};

constexpr SourceRow kRows[] = {
    {"v_copy{T}{T}", "utils.h copy.h", "copy_v, $1, $2, 1"},
    {"g2_copy{T}{T}", "utils.h copy.h", "copy_g_nd2, $1, $2, int"},
    {"v_{OP}{T}{T}", "utils.h unary_ops.h unary.h", "unary_v, $2, $3, $1, 1"},
    {"vn_{OP}{T}{T}", "utils.h unary_ops.h unary.h", "unary_v, $2, $3, $1"},
    {"gn1_{OP}{T}{T}", "utils.h unary_ops.h unary.h", "unary_g, $2, $3, $1, 1, int"},
    {"vv_{CMP}{T}", "utils.h binary_ops.h binary.h", "binary_vv, $2, bool, $1, 1"},
    {"vvn_{CMP}{T}", "utils.h binary_ops.h binary.h", "binary_vv, $2, bool, $1"},
    {"vv_{OP}{T}", "utils.h binary_ops.h binary.h", "binary_vv, $2, $2, $1, 1"},
    {"vvn_{OP}{T}", "utils.h binary_ops.h binary.h", "binary_vv, $2, $2, $1"},
    {"sv_{OP}{T}", "utils.h binary_ops.h binary.h", "binary_sv, $2, $2, $1, 1"},
    {"vs_{OP}{T}", "utils.h binary_ops.h binary.h", "binary_vs, $2, $2, $1, 1"},
    {"ss_{OP}{T}", "utils.h binary_ops.h binary.h", "binary_ss, $2, $2, $1"},
    {"g{N}_{OP}{T}", "utils.h binary_ops.h binary.h", "binary_g_nd$1, $3, $3, $2, int"},
    {"gn2_{OP}{T}", "utils.h binary_ops.h binary.h", "binary_g, $2, $2, $1, 2, int"},
    {"block_softmax_{T}", "utils.h softmax.h", "softmax_single_row, $1"},
    {"looped_softmax_{T}", "utils.h softmax.h", "softmax_looped, $1"},
    {"block_softmax_precise_{T}", "utils.h softmax.h", "softmax_single_row, $1, float"},
    {"looped_softmax_precise_{T}", "utils.h softmax.h", "softmax_looped, $1, float"},
    {"block_logsumexp_{T}", "utils.h logsumexp.h", "logsumexp, $1"},
    {"looped_logsumexp_{T}", "utils.h logsumexp.h", "logsumexp_looped, $1"},
    {"contig_scan_{DIR}_{FOLD}_{T}_{T}", "defines.h utils.h scan.h",
     "contiguous_scan, $3, $4, $2<$4>, 4, $1"},
    {"strided_scan_{DIR}_{FOLD}_{T}_{T}", "defines.h utils.h scan.h", "strided_scan, $3, $4, $2<$4>, 4, $1"},
    {"sdpa_vector_{C}_{N}_{N}", "utils.h sdpa_vector.h", "sdpa_vector, $1, $2, $3"},
    {"seq_gated_delta_{C}_{N}_{N}_{N}_{N}_{N}", "gated_delta_update.h",
     "gated_delta_seq, $1, $2, $3, $4, $5, $6"},
    {"steel_attention_{T}_bq32_bk{N}_bd{N}_bv{N}_wm{N}_wn{N}_mask{T}",
     "utils.h steel/attn/kernels/steel_attention.h", "attention, $1, 32, $2, $3, $4, $5, $6, $7"},
    {"steel_attention_{T}_bq64_bk{N}_bd{N}_bv{N}_wm{N}_wn{N}_mask{T}",
     "utils.h steel/attn/kernels/steel_attention_nax.h", "attention_nax, $1, 64, $2, $3, $4, $5, $6, $7"},
    {"fft_mem_{N}_float2_float2", "utils.h fft.h", "fft, $1, float2, float2"},
    {"steel_gemm_fused_{X}{X}_{T}_{T}_bm{N}_bn{N}_bk{N}_wm{N}_wn{N}",
     "utils.h steel/gemm/gemm.h steel/gemm/kernels/steel_gemm_fused.h",
     "gemm, $3, $5, $6, $7, $8, $9, $1, $2, float"},
    {"steel_gemm_fused_nax_{X}{X}_{T}_{T}_bm{N}_bn{N}_bk{N}_wm{N}_wn{N}",
     "utils.h steel/gemm/gemm_nax.h steel/gemm/kernels/steel_gemm_fused_nax.h",
     "gemm, $3, $5, $6, $7, $8, $9, $1, $2, float"},
};

const std::map<std::string, std::string>& spellings() {
    static const std::map<std::string, std::string> all = {{"float32", "float"},
                                                           {"float16", "half"},
                                                           {"bfloat16", "bfloat16_t"},
                                                           {"bool_", "bool"},
                                                           {"int8", "int8_t"},
                                                           {"uint8", "uint8_t"},
                                                           {"int16", "int16_t"},
                                                           {"uint16", "uint16_t"},
                                                           {"int32", "int32_t"},
                                                           {"uint32", "uint32_t"},
                                                           {"int64", "int64_t"},
                                                           {"uint64", "uint64_t"},
                                                           {"n", "false"},
                                                           {"t", "true"},
                                                           {"sum", "CumSum"},
                                                           {"prod", "CumProd"},
                                                           {"max", "CumMax"},
                                                           {"min", "CumMin"},
                                                           {"inclusive", "true, false"},
                                                           {"exclusive", "false, false"},
                                                           {"reverse_inclusive", "true, true"},
                                                           {"reverse_exclusive", "false, true"}};
    return all;
}

std::regex pattern_of(const SourceRow& row) {
    static const std::pair<const char*, const char*> kinds[] = {
        {"{T}", "(bfloat16|float16|float32|bool_|u?int(?:8|16|32|64))"},
        {"{OP}", "([A-Z][A-Za-z0-9]*?)"},
        {"{CMP}", "((?:Not)?Equal|Greater(?:Equal)?|Less(?:Equal)?|Logical(?:And|Or))"},
        {"{C}", "(bfloat16_t|float16_t|float)"},
        {"{N}", "([0-9]+)"},
        {"{X}", "([nt])"},
        {"{DIR}", "((?:reverse_)?(?:inclusive|exclusive))"},
        {"{FOLD}", "(sum|prod|max|min)"}};
    std::string text = row.name;
    for (const auto& [kind, expression] : kinds) {
        for (size_t at = text.find(kind); at != std::string::npos; at = text.find(kind)) {
            text.replace(at, std::string(kind).size(), expression);
        }
    }
    return std::regex(text);
}

std::string includes(const std::string& names) {
    std::string text = "#include <metal_stdlib>\nusing namespace metal;\n";
    std::istringstream headers(names);
    for (std::string header; headers >> header;)
        text += "#include \"mlx/backend/metal/kernels/" + header + "\"\n";
    return text;
}

// The source of the list's entry `name`.
std::optional<std::string> listed_source(const std::string& name) {
    static const std::vector<SourceEntry> list = mlx_source_list();
    for (const SourceEntry& entry : list) {
        if (entry.name != name) continue;
        return includes(entry.headers) +
               (entry.instantiation.empty()
                    ? ""
                    : "instantiate_kernel(\"" + name + "\", " + entry.instantiation + ")\n");
    }
    return std::nullopt;
}

// The source whose only kernel is `name`, one of the compiled library.
std::optional<std::string> source_of(const std::string& name) {
    static const std::vector<std::regex> patterns = [] {
        std::vector<std::regex> all;
        for (const SourceRow& row : kRows) all.push_back(pattern_of(row));
        return all;
    }();
    // Results in pairs, and a scan that reads two elements at a time, are instantiated another way.
    if (name.find("DivMod") != std::string::npos ||
        (name.find("scan") != std::string::npos && name.find("int64") != std::string::npos))
        return std::nullopt;
    std::smatch match;
    for (size_t i = 0; i < std::size(kRows); ++i) {
        if (!std::regex_match(name, match, patterns[i])) continue;
        std::string arguments = kRows[i].arguments;
        for (size_t group = 1; group < match.size(); ++group) {
            const auto known = spellings().find(match[group]);
            const std::string mark = "$" + std::to_string(group),
                              value = known == spellings().end() ? match[group].str() : known->second;
            for (size_t at = arguments.find(mark); at != std::string::npos; at = arguments.find(mark)) {
                arguments.replace(at, mark.size(), value);
            }
        }
        return includes(kRows[i].headers) + "instantiate_kernel(\"" + name + "\", " + arguments + ")\n";
    }
    return std::nullopt;
}

class MlxSourceCorpus : public Corpus {
  public:
    std::string_view name() const override { return "mlxsource"; }
    bool has(const std::string& kernel) const override { return source_of(kernel).has_value(); }

    Result<std::shared_ptr<const Kernel>> kernel(const std::string& kernel,
                                                 const ConstantMap& constants) override {
        auto source = source_of(kernel);
        if (!source) source = listed_source(kernel);
        if (!source) return fail(ErrorKind::kNotFound, "no row of the table instantiates '{}'", kernel);
        msl::SourceOptions options;
        options.include_folders = {cache_folder() + "metal/mlx-26.0/include"};
        options.standard = "metal4.0";
        INGOT_ASSIGN(const msl::SourceLibrary library, msl::SourceLibrary::open(*source, options));
        INGOT_ASSIGN(const std::vector<std::byte> module, library.compile(kernel));
        INGOT_ASSIGN(Compiler * compiler, metal::compiler());
        CompileOptions compile_options = options_of_runs();
        compile_options.constants.by_index = constants;
        return compiler->compile(module, kernel, compile_options);
    }
};

}  // namespace

std::unique_ptr<Corpus> mlx_source_corpus() {
    return std::make_unique<MlxSourceCorpus>();
}

}  // namespace ingot::metal::conformance
