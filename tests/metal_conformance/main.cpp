// The conformance program: kernels that others wrote, run on the virtual device and compared with references.
// One GoogleTest test a case, named CORPUS.FAMILY/KERNEL/VARIANT; all of GoogleTest's flags work.
// tools/metal_conformance.py runs it and counts. Each test reports the kernels it ran as the property
// "kernels".
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "metal_conformance/corpora.h"
#include "metal_conformance/made_up.h"
#include "metal_conformance/mlx_source_list.h"
#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

class CaseTest : public testing::Test {
  public:
    CaseTest(Corpus& corpus, const Case& one) : corpus_(corpus), case_(one) {}
    void TestBody() override {
        Session session(corpus_);
        case_.run(session);
        std::string kernels;
        for (const std::string& name : session.kernels()) kernels += (kernels.empty() ? "" : " ") + name;
        RecordProperty("kernels", kernels);
    }

  private:
    Corpus& corpus_;
    const Case& case_;
};

// The same case through both doors: each agrees with the reference, and they with each other to rounding.
class BothDoorsTest : public testing::Test {
  public:
    BothDoorsTest(Corpus& library, Corpus& source, const Case& one)
        : library_(library), source_(source), case_(one) {}
    void TestBody() override {
        Session compiled(library_), ours(source_);
        case_.run(compiled);
        case_.run(ours);
        RecordProperty("kernels", case_.kernel);
        ASSERT_EQ(compiled.results().size(), ours.results().size());
        for (size_t r = 0; r < ours.results().size(); ++r) {
            const Array &a = compiled.results()[r], &b = ours.results()[r];
            double largest = 1e-30, worst = 0;
            for (size_t i = 0; i < a.size(); ++i) {
                if (std::isfinite(a.get(i))) largest = std::max(largest, std::fabs(a.get(i)));
                if (a.get(i) != b.get(i)) worst = std::max(worst, std::fabs(a.get(i) - b.get(i)));
            }
            EXPECT_LE(worst / largest, kDoorsAgree * rounding(a.type()))
                << case_.kernel << ": the doors differ";
        }
    }

  private:
    static constexpr double kDoorsAgree =
        4;  // roundings of the largest value: sums may be ordered differently
    Corpus &library_, &source_;
    const Case& case_;
};

void register_both_doors(Corpus& library, Corpus& source, const Cases& cases) {
    for (const Case& one : cases) {
        if (!source.has(one.kernel) || !library.has(one.kernel)) continue;
        const std::string suite = "both." + one.family,
                          name = one.kernel + (one.variant.empty() ? "" : "/" + one.variant);
        testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                              [&]() -> testing::Test* { return new BothDoorsTest(library, source, one); });
    }
}

// A kernel of the list compiles.
class CompileTest : public testing::Test {
  public:
    CompileTest(Corpus& corpus, std::string name) : corpus_(corpus), name_(std::move(name)) {}
    void TestBody() override {
        const auto kernel = corpus_.kernel(name_, {});
        EXPECT_TRUE(kernel.has_value()) << name_ << ": " << kernel.error().describe();
        RecordProperty("kernels", name_);
    }

  private:
    Corpus& corpus_;
    const std::string name_;
};

void register_list(Corpus& corpus) {
    const std::string suite = std::string(corpus.name()) + ".compile";
    for (const SourceEntry& entry : mlx_source_list()) {
        testing::RegisterTest(
            suite.c_str(), entry.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
            [&corpus, name = entry.name]() -> testing::Test* { return new CompileTest(corpus, name); });
    }
}

void register_cases(Corpus& corpus, const Cases& cases, std::string_view prefix = {}) {
    for (const Case& one : cases) {
        const std::string suite = std::string(prefix.empty() ? corpus.name() : prefix) + "." + one.family;
        const std::string name = one.kernel + (one.variant.empty() ? "" : "/" + one.variant);
        testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                              [&corpus, &one]() -> testing::Test* { return new CaseTest(corpus, one); });
    }
}

Cases join(std::initializer_list<Cases (*)()> tables) {
    Cases all;
    for (const auto table : tables) std::ranges::copy(table(), std::back_inserter(all));
    return all;
}

}  // namespace
}  // namespace ingot::metal::conformance

int main(int argc, char** argv) {
    using namespace ingot::metal::conformance;
    testing::InitGoogleTest(&argc, argv);
    const auto mlx_26 = library_corpus("mlx26", "metal/mlx-26.0/mlx.metallib"),
               mlx_14 = library_corpus("mlx14", "metal/mlx-14.0/mlx.metallib");
    const Cases mlx = join({mlx_elementwise_cases, mlx_reduce_cases, mlx_gemm_cases, mlx_gemv_cases,
                            mlx_quantized_cases, mlx_model_cases});
    // Each library has kernels that the other lacks; what neither has fails in this one.
    Cases newer;
    std::ranges::copy_if(mlx, std::back_inserter(newer), [&](const Case& one) {
        return mlx_26->has(one.kernel) || !mlx_14->has(one.kernel);
    });
    register_cases(*mlx_26, newer);
    // The library for macOS 14 lacks what Metal 4 brought.
    Cases older;
    std::ranges::copy_if(mlx, std::back_inserter(older),
                         [&](const Case& one) { return mlx_14->has(one.kernel); });
    register_cases(*mlx_14, older);
    const auto mlx_source = mlx_source_corpus();
    register_both_doors(*mlx_26, *mlx_source, mlx);
    register_list(*mlx_source);
    const auto torch_0 = library_corpus("torch0", "metal/torch-2.15.0/libtorch_cpu.dylib:0"),
               torch_1 = library_corpus("torch1", "metal/torch-2.15.0/libtorch_cpu.dylib:1");
    const Cases torch = join({torch_cases, torch_row_cases});
    register_cases(*torch_0, torch);
    register_cases(*torch_1, torch);
    const auto ggml = ggml_corpus();
    const Cases ggml_cases =
        join({ggml_matrix_cases, ggml_attention_cases, ggml_memory_cases, ggml_other_cases});
    register_cases(*ggml, ggml_cases);
    const Cases beside_ggml = beside_ggml_cases();
    register_cases(*ggml, beside_ggml, "beside");
    register_made_up_tests();
    return RUN_ALL_TESTS();
}
