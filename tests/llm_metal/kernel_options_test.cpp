// Options of the Metal kernels: what is read and refused, and the whole function that chooses how attention
// is computed.
#include "llm/backend/metal/kernel_options.h"

#include <gmock/gmock.h>

namespace ingot::mtl {
namespace {

using ::testing::HasSubstr;

TEST(MetalOptions, AreReadByNameAndTheLastOneCounts) {
    const auto options =
        parse_kernel_options({"attn.decode=split", "weights=copied", "mat_mul=multi", "attn.decode=classic"});
    ASSERT_TRUE(options);
    EXPECT_EQ(AttnDecodeChoice::kClassic, options->attn_decode);
    EXPECT_EQ(AttnPrefillChoice::kAuto, options->attn_prefill);
    EXPECT_EQ(WeightsChoice::kCopied, options->weights);
    EXPECT_EQ(MatMulChoice::kMulti, options->mat_mul);
}

TEST(MetalOptions, SayWhatIsAcceptedWhenTheyAreWrong) {
    for (const char* wrong : {"attn", "attn.decode", "=flash", "", "attn.decod=flash"}) {
        const auto options = parse_kernel_options({wrong});
        ASSERT_FALSE(options) << wrong;
        EXPECT_THAT(options.error().message,
                    HasSubstr(fmt::format("'{}' sets nothing; attn.decode=flash|split|classic, attn.prefill="
                                          "auto|flash|classic, mat_mul=auto|tile|multi, weights=",
                                          wrong)));
    }
    const auto options = parse_kernel_options({"attn.decode=fast"});
    ASSERT_FALSE(options);
    EXPECT_EQ("attn.decode is 'fast'; flash, split, classic are accepted", options.error().message);
}

TEST(MetalOptions, EachValueIsTheEnumItSpells) {
    for (const OptionTraits& option : kernel_options()) {
        for (const std::string_view value : option.values)
            EXPECT_TRUE(parse_kernel_options({fmt::format("{}={}", option.name, value)}));
        EXPECT_FALSE(option.doc.empty());
    }
}

// Every combination; the table is what the docs say.
TEST(MetalOptions, AttentionRoutesAreThese) {
    size_t routes = 0;
    for (const AttnDecodeChoice decode :
         {AttnDecodeChoice::kFlash, AttnDecodeChoice::kSplit, AttnDecodeChoice::kClassic}) {
        for (const AttnPrefillChoice prefill :
             {AttnPrefillChoice::kAuto, AttnPrefillChoice::kFlash, AttnPrefillChoice::kClassic}) {
            for (const uint32_t tokens : {1u, 2u, 7u, 8u, 512u}) {
                AttentionRoute route = AttentionRoute::kClassic;
                if (tokens == 1 && decode != AttnDecodeChoice::kClassic) route = AttentionRoute::kDecode;
                if (tokens >= 8 && prefill == AttnPrefillChoice::kAuto) route = AttentionRoute::kTile;
                if (tokens >= 2 && prefill == AttnPrefillChoice::kFlash) route = AttentionRoute::kTile;
                EXPECT_EQ(route, attention_route(tokens, {.attn_decode = decode, .attn_prefill = prefill}));
                ++routes;
            }
        }
    }
    EXPECT_EQ(45u, routes);
}

}  // namespace
}  // namespace ingot::mtl
