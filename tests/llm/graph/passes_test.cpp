// Passes as text in, text out. The backends are doubles that refuse what a test tells them to; what the
// passes promise about results is tested with real values in executor_test.cpp and backend/cpu.
#include <fstream>
#include <sstream>

#include "llm/graph/fixture.h"
#include "llm/graph/pipeline.h"
#include "llm/graph/reference_backend.h"
#include "llm/graph/verify.h"

namespace ingot::tests {
namespace {

using namespace graph;

constexpr std::string_view kHeader =
    "graph tokens=2 sequences=1 outputs=1 kv=f16 window=causal fuse=glu,qkv,ffn\n";

std::string with_header(std::string_view body) {
    return std::string(kHeader) + std::string(body);
}

// `text` after the named pass, and all passes before it.
std::string after(std::string_view pass, const std::string& text, std::vector<const Backend*> backends) {
    std::string result;
    const auto compiled =
        compile(value_of(parse(text)), {backends}, [&](std::string_view name, const Module& module) {
            if (name == pass) result = print(module);
        });
    EXPECT_TRUE(compiled) << compiled.error().describe();
    return result;
}

TEST(GraphText, PrintingWhatWasParsedGivesTheSameText) {
    const std::string text = with_header(R"(backends cpu gpu
weight "tok" Q8_0 [512, 64]
weight "norm" F32 [1, 64]
weight "wq" Q4_1 [128, 64]
weight "factors" F32 [1, 8]
%0 = input() {name="tokens"} : i32 [2] @cpu
%1 = input() {name="positions"} : i32 [2] @cpu
%2 = get_rows(rows=%0, table="tok") : f32 [2, 64] @cpu
%3 = rms_norm(x=%2, gain="norm") {epsilon=1e-05} : f32 [2, 64] @gpu
%4 = mat_mul(x=%3, matrix="wq") : f32 [2, 128] @gpu
%5 = reshape(x=%4) : f32 [2, 8, 16] @gpu
%6 = rope(x=%5, positions=%1, factors="factors") {dims=16 base=500000 scaling=linear factor=2.5} : f32 [2, 8, 16] @gpu
%7 = rope(x=%5, positions=%1) {style=interleaved dims=8} : f32 [2, 8, 16] @gpu
%8 = permute(x=%6) {axis0=1 axis1=0} : f32 [8, 2, 16] @gpu
%9 = view(x=%8) {first_row=3} : f32 [2, 2, 16] @gpu
%10 = kvcache_load() {layer=4 kv_heads=2 head_dim=16} : kv [2, 16] @gpu
%11 = attn(q=%7, kv=%10, window=%1) {heads=8 kv_heads=2 head_dim=16 scale=0.25 window=128 softcap=50} : f32 [2, 128] @gpu
%12 = scale(x=%11) {factor=0.125} : f32 [2, 128] @cpu
output %12
output %9
)");
    EXPECT_EQ(text, print(value_of(parse(text))));
}

TEST(GraphText, EveryOpCanBeWrittenAndRead) {
    // The op table and the text form can't drift apart: each op's name parses, and its roles are accepted.
    for (const OpTraits& op : kOps) {
        EXPECT_EQ(op.op, op_from_name(op.name));
        EXPECT_LE(op.inputs.size, 3u);
        EXPECT_LE(op.weights.size, kMaxRoles);
        EXPECT_FALSE(op.doc.empty());
    }
}

// Two blocks between an embedding and a head: nodes without weights go with what they read.
TEST(Assign, OnlyThePrefixOfBlocksIsOnTheFirstBackend) {
    const std::string text = with_header(R"(weight "token_embd.weight" F32 [8, 4]
weight "blk.0.a" F32 [4, 4]
weight "blk.1.a" F32 [4, 4]
weight "output.weight" F32 [8, 4]
%0 = input() {name="tokens"} : i32 [2]
%1 = get_rows(rows=%0, table="token_embd.weight") : f32 [2, 4]
%2 = mat_mul(x=%1, matrix="blk.0.a") : f32 [2, 4]
%3 = add(a=%2, b=%1) : f32 [2, 4]
%4 = mat_mul(x=%3, matrix="blk.1.a") : f32 [2, 4]
%5 = add(a=%4, b=%3) : f32 [2, 4]
%6 = mat_mul(x=%5, matrix="output.weight") : f32 [2, 8]
output %6
)");
    const ReferenceBackend gpu("gpu"), cpu("cpu");
    const std::vector<const Backend*> backends = {&gpu, &cpu};
    const auto places = [&](uint32_t blocks) {
        std::string list;
        const Module module = value_of(compile(value_of(parse(text)), {backends, blocks}));
        for (const Node& node : module.graph.nodes()) {
            if (node.op != Op::kInput) list += module.graph.backends()[node.backend.index()][0];
        }
        return list;
    };
    EXPECT_EQ("gggggg", places(kAllBlocks));
    EXPECT_EQ("cggggc", places(2)) << "embedding and head only with all blocks";
    EXPECT_EQ("cggccc", places(1));
    EXPECT_EQ("cccccc", places(0));

    // A block that its backend can't serve is refused: nothing of it goes elsewhere by itself.
    const ReferenceBackend no_add("gpu", {Op::kAdd});
    const std::vector<const Backend*> without_add = {&no_add, &cpu};
    EXPECT_EQ("no backend runs %3 add; gpu refuses %3 add: told to refuse add",
              error_of(compile(value_of(parse(text)), {without_add, 1})));
    EXPECT_TRUE(compile(value_of(parse(text)), {without_add, 0}));
    EXPECT_TRUE(compile(value_of(parse(text)), {without_add}));
}

TEST(BlockOf, ReadsTheNumberOfABlock) {
    EXPECT_EQ(7u, block_of("blk.7.attn_q.weight"));
    EXPECT_EQ(12u, block_of("blk.12.x"));
    for (const char* name : {"output.weight", "blk.", "blk.x.y", "blk.7", "token_embd.weight", ""})
        EXPECT_EQ(std::nullopt, block_of(name)) << name;
}

TEST(Documentation, ListsTheOpsAsTheTableDoes) {
    std::ifstream file(INGOT_TEST_DATA "/../../docs/graph.md");
    std::stringstream text;
    text << file.rdbuf();
    const auto roles = [](const Roles& list) {
        std::string words;
        for (const Roles::Role& role : list) {
            words += fmt::format("{}{}{}", words.empty() ? "" : " ", role.name, role.optional ? "?" : "");
        }
        return words;
    };
    for (const OpTraits& op : kOps) {
        const std::string row = fmt::format("`{}` | {} | {} | {} | {} |\n", op.name, roles(op.inputs),
                                            roles(op.weights), op.in_place ? "yes" : "", op.doc);
        EXPECT_NE(std::string::npos, text.str().find(row)) << row;
    }
}

TEST(GraphText, MistakesAreReportedWithLineAndStatement) {
    const auto error = [](std::string_view body) { return error_of(parse(with_header(body))); };
    EXPECT_EQ("graph text, line 2: unknown op 'sil': %0 = sil(x=%1) : f32 [1]",
              error("%0 = sil(x=%1) : f32 [1]"));
    EXPECT_EQ("graph text, line 2: %0 is the next node: %1 = input() {name=\"x\"} : f32 [1]",
              error("%1 = input() {name=\"x\"} : f32 [1]"));
    EXPECT_EQ("graph text, line 2: expected ':' before 'f32 [1]': %0 = input() {name=\"x\"} f32 [1]",
              error("%0 = input() {name=\"x\"} f32 [1]"));
    EXPECT_EQ("graph text, line 3: silu has no operand 'y': %1 = silu(y=%0) : f32 [1]",
              error("%0 = input() {name=\"x\"} : f32 [1]\n%1 = silu(y=%0) : f32 [1]"));
    EXPECT_EQ("graph text, line 3: weight \"w\" was not declared: %1 = mat_mul(x=%0, matrix=\"w\") : f32 [1]",
              error("%0 = input() {name=\"x\"} : f32 [1]\n%1 = mat_mul(x=%0, matrix=\"w\") : f32 [1]"));
    EXPECT_EQ("graph text, line 2: silu has no attribute 'factor': %0 = silu() {factor=2} : f32 [1]",
              error("%0 = silu() {factor=2} : f32 [1]"));
    EXPECT_EQ(
        "graph text, line 2: '99999999999' is not a number that fits here: %0 = input() : f32 [99999999999]",
        error("%0 = input() : f32 [99999999999]"));
}

TEST(Verifier, RejectsGraphsThatBreakTheRules) {
    const auto error = [](std::string_view body) { return error_of(parse(with_header(body))); };
    EXPECT_EQ("graph text: %1 silu: declared as f32 [5], yields f32 [4]",
              error("%0 = input() {name=\"x\"} : f32 [4]\n%1 = silu(x=%0) : f32 [5]"));
    EXPECT_EQ("graph text: %0 silu: input 'x' is %0, which is not built yet",
              error("%0 = silu(x=%0) : f32 [4]"));
    EXPECT_EQ("graph text: %1 input: input 'x' exists already",
              error("%0 = input() {name=\"x\"} : f32 [4]\n%1 = input() {name=\"x\"} : f32 [4]"));
    const std::string store = R"(%0 = input() {name="k"} : f32 [2, 1, 8]
%1 = input() {name="cells"} : i32 [2]
)";
    EXPECT_EQ("graph text: %3 stores layer 0 again",
              error(store + R"(%2 = kvcache_store(k=%0, v=%0, cells=%1) {kv_heads=1 head_dim=8} : kv [1, 8]
%3 = kvcache_store(k=%0, v=%0, cells=%1) {kv_heads=1 head_dim=8} : kv [1, 8])"));
    EXPECT_EQ("graph text: %3 stores layer 0 after it was read",
              error(store + R"(%2 = kvcache_load() {kv_heads=1 head_dim=8} : kv [1, 8]
%3 = kvcache_store(k=%0, v=%0, cells=%1) {kv_heads=1 head_dim=8} : kv [1, 8])"));
}

TEST(Assign, NodesGoToTheFirstBackendThatSupportsThem) {
    const ReferenceBackend gpu("gpu", {Op::kSoftmax}), cpu("cpu");
    EXPECT_EQ(with_header(R"(backends gpu cpu
%0 = input() {name="x"} : f32 [2, 4] @gpu
%1 = silu(x=%0) : f32 [2, 4] @gpu
%2 = reshape(x=%1) : f32 [4, 2] @gpu
%3 = softmax(x=%2) : f32 [4, 2] @cpu
%4 = reshape(x=%3) : f32 [2, 4] @cpu
%5 = add(a=%4, b=%0) : f32 [2, 4] @gpu
output %5
)"),
              after("assign", with_header(R"(%0 = input() {name="x"} : f32 [2, 4]
%1 = silu(x=%0) : f32 [2, 4]
%2 = reshape(x=%1) : f32 [4, 2]
%3 = softmax(x=%2) : f32 [4, 2]
%4 = reshape(x=%3) : f32 [2, 4]
%5 = add(a=%4, b=%0) : f32 [2, 4]
output %5
)"),
                    {&gpu, &cpu}));
}

constexpr std::string_view kAttention = R"(%0 = input() {name="q"} : f32 [2, 2, 8]
%1 = input() {name="cells"} : i32 [2]
%2 = kvcache_store(k=%0, v=%0, cells=%1) {kv_heads=2 head_dim=8} : kv [2, 8]
%3 = kvcache_load(after=%2) {kv_heads=2 head_dim=8} : kv [2, 8]
%4 = attn(q=%0, kv=%3, window=%1) {heads=2 kv_heads=2 head_dim=8 scale=1} : f32 [2, 16]
output %4
)";

TEST(Assign, TheNodesOfALayersCellsStayTogether) {
    const ReferenceBackend gpu("gpu", {Op::kAttn}), cpu("cpu");
    const std::string text = after("assign", with_header(kAttention), {&gpu, &cpu});
    EXPECT_EQ(std::string::npos, text.find("@gpu")) << text;  // although gpu could store
}

TEST(Assign, ANodeThatNobodySupportsIsAnErrorWithEveryReason) {
    const ReferenceBackend gpu("gpu", {Op::kSoftmax}), cpu("cpu", {Op::kSoftmax});
    const std::vector<const Backend*> backends = {&gpu, &cpu};
    const auto compiled = compile(value_of(parse(with_header(R"(%0 = input() {name="x"} : f32 [2, 4]
%1 = softmax(x=%0) : f32 [2, 4]
output %1
)"))),
                                  {backends});
    EXPECT_EQ(
        "no backend runs %1 softmax; gpu refuses %1 softmax: told to refuse softmax; cpu refuses %1 softmax: "
        "told to "
        "refuse softmax",
        error_of(compiled));
}

TEST(Fuse, MulOfSiluIsSwigluAndMulOfGeluIsGeglu) {
    const ReferenceBackend cpu("cpu");
    EXPECT_EQ(with_header(R"(backends cpu
%0 = input() {name="x"} : f32 [2, 4] @cpu
%1 = input() {name="y"} : f32 [2, 4] @cpu
%2 = swiglu(gate=%0, up=%1) : f32 [2, 4] @cpu
%3 = geglu(gate=%0, up=%2) : f32 [2, 4] @cpu
output %3
)"),
              after("fuse", with_header(R"(%0 = input() {name="x"} : f32 [2, 4]
%1 = input() {name="y"} : f32 [2, 4]
%2 = silu(x=%0) : f32 [2, 4]
%3 = mul(a=%2, b=%1) : f32 [2, 4]
%4 = gelu(x=%0) : f32 [2, 4]
%5 = mul(a=%3, b=%4) : f32 [2, 4]
output %5
)"),
                    {&cpu}));
}

TEST(Fuse, AnActivationWithAnotherUserStays) {
    const ReferenceBackend cpu("cpu");
    const std::string text = with_header(R"(backends cpu
%0 = input() {name="x"} : f32 [2, 4] @cpu
%1 = silu(x=%0) : f32 [2, 4] @cpu
%2 = mul(a=%1, b=%0) : f32 [2, 4] @cpu
%3 = add(a=%2, b=%1) : f32 [2, 4] @cpu
output %3
)");
    EXPECT_EQ(text, after("fuse", text, {&cpu}));
}

TEST(Fuse, WhatTheBackendRefusesOrTheFlagsForbidStaysApart) {
    const ReferenceBackend refuses("cpu", {Op::kSwiGLU}), accepts("cpu");
    std::string text = with_header(R"(backends cpu
%0 = input() {name="x"} : f32 [2, 4] @cpu
%1 = silu(x=%0) : f32 [2, 4] @cpu
%2 = mul(a=%1, b=%0) : f32 [2, 4] @cpu
output %2
)");
    EXPECT_EQ(text, after("fuse", text, {&refuses}));
    text.replace(text.find("glu,qkv"), 7, "qkv");
    EXPECT_EQ(text, after("fuse", text, {&accepts}));
}

TEST(Fuse, GateAndUpWithTheirActivationAreOneFfn) {
    const ReferenceBackend cpu("cpu");
    EXPECT_EQ(with_header(R"(backends cpu
weight "g" F32 [6, 4]
weight "u" F32 [6, 4]
%0 = input() {name="x"} : f32 [2, 4] @cpu
%1 = fused_ffn(x=%0, gate="g", up="u") {activation=gelu} : f32 [2, 6] @cpu
output %1
)"),
              after("fuse", with_header(R"(weight "g" F32 [6, 4]
weight "u" F32 [6, 4]
%0 = input() {name="x"} : f32 [2, 4]
%1 = mat_mul(x=%0, matrix="g") : f32 [2, 6]
%2 = mat_mul(x=%0, matrix="u") : f32 [2, 6]
%3 = gelu(x=%1) : f32 [2, 6]
%4 = mul(a=%3, b=%2) : f32 [2, 6]
output %4
)"),
                    {&cpu}));
}

std::string layer(bool norms) {
    std::string text = with_header(R"(weight "q" F32 [32, 12]
weight "k" F32 [16, 12]
weight "v" F32 [16, 12]
weight "qb" F32 [1, 32]
weight "qn" F32 [1, 8]
weight "kn" F32 [1, 8]
%0 = input() {name="x"} : f32 [2, 12]
%1 = input() {name="positions"} : i32 [2]
%2 = mat_mul(x=%0, matrix="q", bias="qb") : f32 [2, 32]
%3 = reshape(x=%2) : f32 [2, 4, 8]
%4 = mat_mul(x=%0, matrix="k") : f32 [2, 16]
%5 = reshape(x=%4) : f32 [2, 2, 8]
%6 = mat_mul(x=%0, matrix="v") : f32 [2, 16]
%7 = reshape(x=%6) : f32 [2, 2, 8]
)");
    text += norms ? R"(%8 = qk_norm(x=%3, gain="qn") {epsilon=1e-06} : f32 [2, 4, 8]
%9 = qk_norm(x=%5, gain="kn") {epsilon=1e-06} : f32 [2, 2, 8]
%10 = rope(x=%8, positions=%1) {dims=8} : f32 [2, 4, 8]
%11 = rope(x=%9, positions=%1) {dims=8} : f32 [2, 2, 8]
%12 = input() {name="cells"} : i32 [2]
%13 = kvcache_store(k=%11, v=%7, cells=%12) {layer=5 kv_heads=2 head_dim=8} : kv [2, 8]
%14 = kvcache_load(after=%13) {layer=5 kv_heads=2 head_dim=8} : kv [2, 8]
%15 = attn(q=%10, kv=%14, window=%1) {heads=4 kv_heads=2 head_dim=8 scale=0.5} : f32 [2, 32]
output %15
)"
                  : R"(%8 = rope(x=%3, positions=%1) {dims=8} : f32 [2, 4, 8]
%9 = rope(x=%5, positions=%1) {dims=8} : f32 [2, 2, 8]
%10 = input() {name="cells"} : i32 [2]
%11 = kvcache_store(k=%9, v=%7, cells=%10) {layer=5 kv_heads=2 head_dim=8} : kv [2, 8]
%12 = kvcache_load(after=%11) {layer=5 kv_heads=2 head_dim=8} : kv [2, 8]
%13 = attn(q=%8, kv=%12, window=%1) {heads=4 kv_heads=2 head_dim=8 scale=0.5} : f32 [2, 32]
output %13
)";
    return text;
}

TEST(Fuse, ProjectionsRotationAndStoreAreOneQkv) {
    const ReferenceBackend cpu("cpu");
    EXPECT_EQ(with_header(R"(backends cpu
weight "q" F32 [32, 12]
weight "k" F32 [16, 12]
weight "v" F32 [16, 12]
weight "qb" F32 [1, 32]
%0 = input() {name="x"} : f32 [2, 12] @cpu
%1 = input() {name="positions"} : i32 [2] @cpu
%2 = input() {name="cells"} : i32 [2] @cpu
%3 = fused_qkv(x=%0, positions=%1, cells=%2, wq="q", wk="k", wv="v", bq="qb") {layer=5 heads=4 kv_heads=2 head_dim=8 dims=8} : f32 [2, 4, 8] @cpu
%4 = kvcache_load(after=%3) {layer=5 kv_heads=2 head_dim=8} : kv [2, 8] @cpu
%5 = attn(q=%3, kv=%4, window=%1) {heads=4 kv_heads=2 head_dim=8 scale=0.5} : f32 [2, 32] @cpu
output %5
)"),
              after("fuse", layer(false), {&cpu}));
}

TEST(Fuse, HeadNormsMakeItAQkvNorm) {
    const ReferenceBackend cpu("cpu");
    const std::string text = after("fuse", layer(true), {&cpu});
    EXPECT_NE(std::string::npos,
              text.find(R"(%3 = fused_qkv_norm(x=%0, positions=%1, cells=%2, wq="q", wk="k", wv="v", )"
                        R"(bq="qb", q_gain="qn", k_gain="kn") {layer=5 heads=4 kv_heads=2 head_dim=8 )"
                        R"(epsilon=1e-06 dims=8} : f32 [2, 4, 8] @cpu)"))
        << text;
}

TEST(Fuse, RotationsThatDifferAreNotFused) {
    const ReferenceBackend cpu("cpu");
    std::string text = layer(false);
    text.replace(text.find("%9 = rope(x=%5, positions=%1) {dims=8}"), 38,
                 "%9 = rope(x=%5, positions=%1) {dims=6}");
    EXPECT_EQ(std::string::npos, after("fuse", text, {&cpu}).find("fused"));
}

TEST(Fuse, WhatNothingNeedsIsDropped) {
    const ReferenceBackend cpu("cpu");
    EXPECT_EQ(with_header("backends cpu\n%0 = input() {name=\"x\"} : f32 [2, 4] @cpu\noutput %0\n"),
              after("fuse", with_header(R"(%0 = input() {name="x"} : f32 [2, 4]
%1 = input() {name="y"} : f32 [2, 4]
%2 = add(a=%0, b=%1) : f32 [2, 4]
output %0
)"),
                    {&cpu}));
    // The KV cache counts as a need even where no output does.
    std::string no_output(kAttention);
    no_output.erase(no_output.find("output"));
    const std::string text = after("fuse", with_header(no_output), {&cpu});
    EXPECT_NE(std::string::npos, text.find("kvcache_store"));
    EXPECT_EQ(std::string::npos, text.find("attn"));
}

TEST(Split, TheGraphIsCutWhereTheBackendChangesAndCrossingValuesAreListedOnce) {
    const ReferenceBackend gpu("gpu", {Op::kSoftmax}), cpu("cpu");
    EXPECT_EQ(with_header(R"(backends gpu cpu
; split 0 @gpu
%0 = input() {name="x"} : f32 [2, 4] @gpu
%1 = silu(x=%0) : f32 [2, 4] @gpu
; split 1 @cpu copies %1
%2 = softmax(x=%1) : f32 [2, 4] @cpu
; split 2 @gpu copies %2
%3 = add(a=%2, b=%1) : f32 [2, 4] @gpu
%4 = mul(a=%3, b=%2) : f32 [2, 4] @gpu
; split 3 @cpu copies %4
%5 = softmax(x=%4) : f32 [2, 4] @cpu
output %5
)"),
              after("split", with_header(R"(%0 = input() {name="x"} : f32 [2, 4]
%1 = silu(x=%0) : f32 [2, 4]
%2 = softmax(x=%1) : f32 [2, 4]
%3 = add(a=%2, b=%1) : f32 [2, 4]
%4 = mul(a=%3, b=%2) : f32 [2, 4]
%5 = softmax(x=%4) : f32 [2, 4]
output %5
)"),
                    {&gpu, &cpu}));
}

}  // namespace
}  // namespace ingot::tests
