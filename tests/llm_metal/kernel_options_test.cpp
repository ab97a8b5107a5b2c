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
                    HasSubstr(fmt::format("'{}' sets nothing; attn.decode=flash|split|classic|tile, "
                                          "attn.chunks=auto|1|2|4|8|16, attn.prefill=auto|flash|classic|"
                                          "parallel, mat_mul=auto|tile|multi, weights=",
                                          wrong)));
    }
    const auto options = parse_kernel_options({"attn.decode=fast"});
    ASSERT_FALSE(options);
    EXPECT_EQ("attn.decode is 'fast'; flash, split, classic, tile are accepted", options.error().message);
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
    for (const auto& [decode, of_one] : {std::pair(AttnDecodeChoice::kFlash, AttentionRoute::kDecode),
                                         {AttnDecodeChoice::kSplit, AttentionRoute::kDecode},
                                         {AttnDecodeChoice::kClassic, AttentionRoute::kClassic},
                                         {AttnDecodeChoice::kTile, AttentionRoute::kTile}}) {
        for (const auto& [prefill, of_few, of_many] :
             {std::tuple(AttnPrefillChoice::kAuto, AttentionRoute::kClassic, AttentionRoute::kTile),
              {AttnPrefillChoice::kFlash, AttentionRoute::kTile, AttentionRoute::kTile},
              {AttnPrefillChoice::kClassic, AttentionRoute::kClassic, AttentionRoute::kClassic},
              {AttnPrefillChoice::kParallel, AttentionRoute::kPasses, AttentionRoute::kPasses}}) {
            for (const uint32_t tokens : {1u, 2u, 7u, 8u, 512u}) {
                const AttentionRoute route = tokens == 1 ? of_one : tokens < 8 ? of_few : of_many;
                EXPECT_EQ(route, attention_route(tokens, {.attn_decode = decode, .attn_prefill = prefill}));
                ++routes;
            }
        }
    }
    EXPECT_EQ(80u, routes);
}

}  // namespace
}  // namespace ingot::mtl
