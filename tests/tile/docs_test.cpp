// Every example of docs/tile-language.md is compiled for each target, and computes what its comment says,
// before and after the passes. Every operator of the table is in the documentation.
#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "tile/api/compile.h"
#include "tile/ir/interpret.h"
#include "tile/ir/parse.h"
#include "tile/ir/print.h"

namespace ingot::tile {
namespace {

std::string language_page() {
    std::ifstream file(INGOT_TEST_DATA "/../../docs/tile-language.md");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

struct Example {
    std::string body;
    size_t i, j;
    double expected;
};

std::vector<Example> examples() {
    const std::string page = language_page();
    const std::regex block("```tile\n([^`]*)```"), comment(R"(// Y\[(\d), (\d)\] is (-?[0-9.]+))");
    std::vector<Example> out;
    for (std::sregex_iterator it(page.begin(), page.end(), block), end; it != end; ++it) {
        Example e{(*it)[1].str(), 0, 0, 0};
        std::smatch says;
        EXPECT_TRUE(std::regex_search(e.body, says, comment)) << e.body;
        e.i = std::stoul(says[1]), e.j = std::stoul(says[2]), e.expected = std::stod(says[3]);
        out.push_back(e);
    }
    return out;
}

TEST(LanguagePage, ExamplesComputeWhatTheySay) {
    const std::vector<Example> all = examples();
    ASSERT_GE(all.size(), 16u);
    Arguments x{{{"n", 8}}, {{"s", 0.5}}, {{"N", std::vector<double>(8)}}};
    for (int i = 0; i < 64; ++i) x.tensors["X"].push_back(i);
    for (int i = 0; i < 8; ++i) x.tensors["P"].push_back(17 * i);
    for (const Example& e : all) {
        const auto k = parse(
            "kernel example {\n  dim n\n  scalar s: f32\n  in X: f32[8, 8]\n  in P: u8[8]\n  inout N: "
            "i32[8]\n"
            "  out Y: f32[8, 8]\n  grid b < 1\n  threads 32\n" +
                e.body + "}\n",
            "example.tile");
        ASSERT_TRUE(k) << k.error().describe() << "\n" << e.body;
        for (const Target& target : targets()) {
            CompileOptions options;
            options.target = target.name;
            const auto compiled = compile(*k, options);
            ASSERT_TRUE(compiled) << compiled.error().describe() << "\n" << e.body;
            for (const Kernel* version : {&*k, &compiled->kernel}) {
                const auto y = interpret(*version, x);
                ASSERT_TRUE(y) << y.error().describe() << "\n" << print(*version);
                EXPECT_EQ(y->at("Y")[e.i * 8 + e.j], e.expected) << print(*version);
            }
        }
    }
}

TEST(LanguagePage, NamesEveryOperatorAndStatement) {
    const std::string page = language_page();
    for (const ExprOpFacts& f : kExprOps) {
        if (f.spelling.empty()) continue;
        EXPECT_NE(page.find(f.meaning), std::string::npos) << f.id << ": " << f.meaning;
    }
    for (const StmtOpFacts& f : kStmtOps) {
        if (f.op == StmtOp::kAlloc || f.op == StmtOp::kStore) continue;
        EXPECT_NE(page.find("`" + std::string(f.keyword)), std::string::npos) << f.keyword;
    }
}

}  // namespace
}  // namespace ingot::tile
