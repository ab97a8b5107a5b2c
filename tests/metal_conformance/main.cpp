// The conformance program: kernels that others wrote, run on the virtual device and compared with references.
// One GoogleTest test a case, named CORPUS.FAMILY/KERNEL/VARIANT; all of GoogleTest's flags work.
// tools/metal_conformance.py runs it and counts. Each test reports the kernels it ran as the property
// "kernels".
#include <algorithm>

#include <gtest/gtest.h>

#include "metal_conformance/corpora.h"
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

void register_cases(Corpus& corpus, const Cases& cases) {
    for (const Case& one : cases) {
        const std::string suite = std::string(corpus.name()) + "." + one.family;
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
    const Cases mlx = join({mlx_elementwise_cases, mlx_reduce_cases, mlx_gemm_cases, mlx_quantized_cases});
    register_cases(*mlx_26, mlx);
    // The library for macOS 14 lacks what Metal 4 brought.
    Cases older;
    std::ranges::copy_if(mlx, std::back_inserter(older),
                         [&](const Case& one) { return mlx_14->has(one.kernel); });
    register_cases(*mlx_14, older);
    const auto ggml = ggml_corpus();
    const Cases ggml_cases =
        join({ggml_matrix_cases, ggml_attention_cases, ggml_memory_cases, ggml_other_cases});
    register_cases(*ggml, ggml_cases);
    return RUN_ALL_TESTS();
}
