#include "llm/graph/fixture.h"
#include "llm/graph/pipeline.h"
#include "llm/graph/reference_backend.h"
#include "llm/graph/verify.h"

namespace ingot::tests {
namespace {

using namespace graph;

Module compiled(std::string_view body, std::vector<const Backend*> backends) {
    const std::string text =
        "graph tokens=2 sequences=1 outputs=1 kv=f16 window=causal fuse=none\n" + std::string(body);
    return value_of(compile(value_of(parse(text)), {backends}));
}
Module compiled(std::string_view body) {
    static const ReferenceBackend cpu("cpu");
    return compiled(body, {&cpu});
}
SlotId slot(const Module& module, uint32_t node) {
    return module.allocation->values[node].slot;
}

TEST(SizeClass, IsAPowerOfTwoUpTo16KiBAndAMultipleOf16KiBAbove) {
    constexpr size_t kKiB = 1024;
    EXPECT_EQ(64u, size_class(1));
    EXPECT_EQ(64u, size_class(64));
    EXPECT_EQ(128u, size_class(65));
    EXPECT_EQ(16 * kKiB, size_class(8 * kKiB + 1));
    EXPECT_EQ(16 * kKiB, size_class(16 * kKiB));
    EXPECT_EQ(32 * kKiB, size_class(16 * kKiB + 1));
    EXPECT_EQ(48 * kKiB, size_class(33 * kKiB));
}

TEST(Allocate, AValueTakesTheMemoryOfItsInputOnlyAsItsSoleConsumer) {
    const Module m = compiled(R"(%0 = input() {name="x"} : f32 [2, 40]
%1 = silu(x=%0) : f32 [2, 40]
%2 = silu(x=%1) : f32 [2, 40]
%3 = silu(x=%2) : f32 [2, 40]
%4 = add(a=%3, b=%2) : f32 [2, 40]
output %4
)");
    EXPECT_NE(slot(m, 0), slot(m, 1)) << "an input's memory is never taken";
    EXPECT_EQ(slot(m, 1), slot(m, 2)) << "%2 alone uses %1";
    EXPECT_NE(slot(m, 2), slot(m, 3)) << "%2 has two users";
    EXPECT_EQ(slot(m, 3), slot(m, 4));
}

TEST(Allocate, AddingAValueToItselfIsNotASoleUse) {
    const Module m = compiled(R"(%0 = input() {name="x"} : f32 [2, 40]
%1 = silu(x=%0) : f32 [2, 40]
%2 = add(a=%1, b=%1) : f32 [2, 40]
output %2
)");
    EXPECT_NE(slot(m, 1), slot(m, 2));
}

TEST(Allocate, AnotherBackendsValueIsNotTakenOver) {
    const ReferenceBackend gpu("gpu", {Op::kSoftmax}), cpu("cpu");
    const Module m = compiled(R"(%0 = input() {name="x"} : f32 [2, 40]
%1 = silu(x=%0) : f32 [2, 40]
%2 = softmax(x=%1) : f32 [2, 40]
output %2
)",
                              {&gpu, &cpu});
    EXPECT_NE(slot(m, 1), slot(m, 2));
    const SlotId copy = m.allocation->copies.at({NodeId(1), BackendId(1)});
    EXPECT_EQ(Slot::Use::kCopy, m.allocation->slots[copy.index()].use);
    EXPECT_NE(copy, slot(m, 2)) << "a copy's memory is never taken either";
}

TEST(Allocate, ViewsShareMemoryAndKeepItAlive) {
    const Module m = compiled(R"(%0 = input() {name="x"} : f32 [4, 16]
%1 = softmax(x=%0) : f32 [4, 16]
%2 = view(x=%1) {first_row=2} : f32 [2, 16]
%3 = softmax(x=%0) : f32 [4, 16]
%4 = silu(x=%2) : f32 [2, 16]
%5 = view(x=%3) {first_row=1} : f32 [2, 16]
%6 = add(a=%4, b=%5) : f32 [2, 16]
output %6
)");
    EXPECT_EQ(slot(m, 1), slot(m, 2));
    EXPECT_EQ(2u * 16 * 4, m.allocation->values[2].offset_bytes);
    EXPECT_EQ(32u, m.allocation->values[2].length);
    EXPECT_NE(slot(m, 1), slot(m, 3)) << "%1 is still looked at through %2";
    EXPECT_NE(slot(m, 1), slot(m, 4)) << "%4 is smaller than what it would take over";
}

constexpr std::string_view kChain = R"(weight "a" F32 [40, 36]
weight "b" F32 [100, 40]
weight "c" F32 [33, 100]
weight "d" F32 [40, 33]
%0 = input() {name="x"} : f32 [2, 36]
%1 = mat_mul(x=%0, matrix="a") : f32 [2, 40]
%2 = mat_mul(x=%1, matrix="b") : f32 [2, 100]
%3 = mat_mul(x=%2, matrix="c") : f32 [2, 33]
%4 = mat_mul(x=%3, matrix="d") : f32 [2, 40]
)";

TEST(Allocate, MemoryIsReusedWithinItsSizeClassAndTheLogicalLengthIsKeptApart) {
    const Module m = compiled(std::string(kChain) + "output %4\n");
    EXPECT_EQ(slot(m, 1), slot(m, 3)) << "320 and 264 bytes are both of the class of 512";
    EXPECT_EQ(512u, m.allocation->slots[slot(m, 3).index()].size_bytes);
    EXPECT_EQ(66u, m.allocation->values[3].length);
    EXPECT_NE(slot(m, 2), slot(m, 4)) << "800 bytes are of another class than 320";
    EXPECT_NE(slot(m, 0), slot(m, 4)) << "the input is of the same class and is not recycled";
}

// A value made early and used last, with nothing but shorter-lived ones in between: it is dead by no order
// but a wrong one.
TEST(Allocate, LivenessFollowsBuildOrderUntilTheLastUse) {
    const Module m = compiled(std::string(kChain) + "%5 = add(a=%4, b=%1) : f32 [2, 40]\noutput %5\n");
    for (uint32_t other : {2u, 3u, 4u}) EXPECT_NE(slot(m, 1), slot(m, other)) << "%" << other;
}

TEST(Allocate, OutputsLiveToTheEnd) {
    const Module m = compiled(std::string(kChain) + "output %1\noutput %4\n");
    for (uint32_t other : {2u, 3u, 4u}) EXPECT_NE(slot(m, 1), slot(m, other)) << "%" << other;
}

TEST(AllocationVerifier, FindsAValueWhoseMemoryWasGivenAwayTooEarly) {
    Module m = compiled(std::string(kChain) + "%5 = add(a=%4, b=%1) : f32 [2, 40]\noutput %5\n");
    expect_ok(verify(m));
    Module early = m;
    early.allocation->values[3].slot = slot(m, 1);
    EXPECT_EQ("%1 is read after its memory was given away", error_of(verify(early)));
    Module shared_input = m;
    shared_input.allocation->values[3].slot = slot(m, 0);
    EXPECT_EQ("%0 is read after its memory was given away", error_of(verify(shared_input)))
        << "the input must survive the whole run: a reused graph writes it once";
    Module too_long = m;
    too_long.allocation->values[2].length = 400;
    EXPECT_EQ("%2: 400 elements in a slot of 1024 bytes", error_of(verify(too_long)));
}

}  // namespace
}  // namespace ingot::tests
