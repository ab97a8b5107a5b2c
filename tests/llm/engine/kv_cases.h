// What every engine promises about its KV cache, whatever the device: removal with turned keys, sequences
// that don't see each other, and session files. Each check gets a function that loads kv_model() with a
// format of cells; cpu and metal tests call them.
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llm/engine/engine.h"
#include "support/run_program.h"

namespace ingot {

using LoadKv = std::function<std::unique_ptr<Engine>(kv::Format)>;

// The tiny model whose cells may have the format: q8_0 wants whole blocks of 32.
inline std::string kv_model(kv::Format format) {
    return format == kv::Format::kQ8_0 ? "llama-llama3" : "llama";
}

inline std::vector<TokenId> kv_tokens(size_t count, TokenId first = 3) {
    std::vector<TokenId> tokens(count);
    for (size_t i = 0; i < count; ++i) tokens[i] = TokenId((size_t(first) + i * 37) % 97);
    return tokens;
}

inline std::vector<float> run_tokens(Engine& engine, std::span<const TokenId> tokens) {
    const auto logits = engine.forward(tokens);
    EXPECT_TRUE(logits) << logits.error().describe();
    return logits ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
}

inline double kv_difference(const std::vector<float>& a, const std::vector<float>& b) {
    EXPECT_EQ(a.size(), b.size());
    double largest = 0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        largest = std::max(largest, std::abs(double(a[i]) - b[i]));
    return largest;
}

// Between logits whose keys and values were rounded at different times, or in kernels that sum in another
// order.
inline double rounding_bar(kv::Format format) {
    return format == kv::Format::kF32 ? 1e-4 : format == kv::Format::kF16 ? 1e-2 : 1e-1;
}

// A model's first layer sees tokens and positions alone, so removing the *first* tokens of a text leaves
// there what a text without them has. Deeper layers have seen what is gone; with tokens that are all alike
// they haven't seen anything else.
inline void expect_removal_is_as_if_never_run(const LoadKv& load, kv::Format format) {
    // Other keys are rounded again when they are turned.
    const double bar = rounding_bar(format);
    const auto shifted = load(format), fresh = load(format);
    const std::vector<TokenId> alike(24, 42);
    run_tokens(*shifted, alike);
    const auto removed = shifted->remove(5, 13);
    ASSERT_TRUE(removed) << removed.error().describe();
    EXPECT_EQ(16u, shifted->num_tokens());
    run_tokens(*fresh, std::span(alike).first(16));
    const std::vector<TokenId> next = {7};
    EXPECT_LE(kv_difference(run_tokens(*shifted, next), run_tokens(*fresh, next)), bar);
    EXPECT_EQ(17u, shifted->num_tokens());
    for (const auto& [begin, end] : {std::pair(3u, 3u), {0u, 18u}}) EXPECT_FALSE(shifted->remove(begin, end));
}

// A sequence that begins with another's tokens goes on as if it had run them itself, and neither sees what
// the other adds.
inline void expect_shared_beginnings_are_as_if_run(const LoadKv& load, kv::Format format) {
    const auto engine = load(format), alone = load(format);
    const std::vector<TokenId> prompt = kv_tokens(20), first = {7, 8}, second = {9, 10};
    run_tokens(*engine, prompt);
    ASSERT_TRUE(engine->share(0, 1, 15));
    EXPECT_EQ(15u, engine->num_tokens(1));
    std::vector<std::vector<float>> logits(2);
    const auto keep = [&](size_t i, std::span<const float> row) { logits[i].assign(row.begin(), row.end()); };
    const std::vector<SequenceTokens> batch = {{0, first}, {1, second}};
    ASSERT_TRUE(engine->forward_batch(batch, keep));
    run_tokens(*alone, prompt);
    EXPECT_LE(kv_difference(logits[0], run_tokens(*alone, first)), 1e-3);
    alone->truncate(15);
    EXPECT_LE(kv_difference(logits[1], run_tokens(*alone, second)), 1e-3);
    // The one goes, the other stays.
    engine->truncate(0);
    EXPECT_EQ(17u, engine->num_tokens(1));
    EXPECT_FALSE(engine->share(1, 1, 3));
}

inline std::string session_bytes(Engine& engine, std::span<const TokenId> tokens) {
    const test::TemporaryFolder folder;
    EXPECT_TRUE(engine.save_session(folder.file("s"), tokens, {}));
    std::ifstream file(folder.file("s"), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Trap: values that are decoded and rounded again at every step drift. What is stored once stays as it is.
inline void expect_cells_keep_their_bytes_over_steps(const LoadKv& load, kv::Format format) {
    const auto engine = load(format), at_once = load(format);
    std::vector<TokenId> tokens = kv_tokens(40);
    run_tokens(*engine, tokens);
    const std::string before = session_bytes(*engine, tokens);
    const std::vector<TokenId> next = {91, 5, 17, 30, 2, 64, 33, 8};
    std::vector<float> last;
    for (const TokenId token : next) last = run_tokens(*engine, {&token, 1});
    engine->truncate(40);
    EXPECT_TRUE(before == session_bytes(*engine, tokens));
    tokens.insert(tokens.end(), next.begin(), next.end());
    EXPECT_LE(kv_difference(last, run_tokens(*at_once, tokens)), rounding_bar(format));
}

// Trap: rows of two sequences, moved about by a compaction. Each goes on as if it were alone.
inline void expect_sequences_stay_apart_when_cells_move(const LoadKv& load, kv::Format format) {
    const auto engine = load(format), alone = load(format);
    const std::vector<TokenId> alike(40, 42), other = kv_tokens(23, 5), next = {7}, last = {11};
    run_tokens(*engine, alike);
    const std::vector<SequenceTokens> second = {{1, other}}, both = {{0, next}, {1, last}};
    std::vector<std::vector<float>> logits(2);
    const auto keep = [&](size_t i, std::span<const float> row) { logits[i].assign(row.begin(), row.end()); };
    ASSERT_TRUE(engine->forward_batch(second, keep));
    ASSERT_TRUE(engine->remove(0, 17));  // the second one's rows move, too
    ASSERT_TRUE(engine->forward_batch(both, keep));
    EXPECT_EQ(24u, engine->num_tokens(0));
    EXPECT_EQ(24u, engine->num_tokens(1));
    run_tokens(*alone, std::span(alike).first(23));
    EXPECT_LE(kv_difference(logits[0], run_tokens(*alone, next)), rounding_bar(format));
    alone->truncate(0);
    run_tokens(*alone, other);
    EXPECT_LE(kv_difference(logits[1], run_tokens(*alone, last)), 1e-3);
}

// A sequence that finds free cells here and there, in more runs than a map can say: all cells are laid out
// anew, and each sequence goes on as if it were alone.
inline void expect_sequences_in_many_runs_go_on(const LoadKv& load, kv::Format format) {
    constexpr uint32_t kSequences = 32,
                       kEach = 5;  // all 160 cells; one that grows into half of them takes six runs
    const auto engine = load(format), alone = load(format);
    ASSERT_EQ(kSequences * kEach, engine->context());
    std::vector<std::vector<TokenId>> texts;
    for (uint32_t i = 0; i < kSequences; ++i) texts.push_back(kv_tokens(kEach, TokenId(i)));
    std::vector<SequenceTokens> batch;
    for (uint32_t i = 0; i < kSequences; ++i) batch.push_back({i, texts[i]});
    ASSERT_TRUE(engine->forward_batch(batch, [](size_t, std::span<const float>) {}));
    for (uint32_t i = 0; i < kSequences; i += 2) engine->truncate(0, i);

    const auto expect_as_alone = [&](kv::SequenceId id, const std::vector<TokenId>& before,
                                     const std::vector<TokenId>& next) {
        const SequenceTokens only{id, next};
        std::vector<float> logits;
        const auto ran = engine->forward_batch(
            {&only, 1}, [&](size_t, std::span<const float> row) { logits.assign(row.begin(), row.end()); });
        ASSERT_TRUE(ran) << ran.error().describe();
        alone->truncate(0);
        if (!before.empty()) run_tokens(*alone, before);
        EXPECT_LE(kv_difference(logits, run_tokens(*alone, next)), rounding_bar(format)) << id;
    };
    expect_as_alone(99, {}, kv_tokens(70, 50));
    for (const uint32_t id : {1u, 17u, 31u}) expect_as_alone(id, texts[id], {8});
}

// What a batch of sequences can't be, and that nothing of it has run then.
inline void expect_bad_batches_run_nothing(const LoadKv& load) {
    const auto engine = load(kv::Format::kF32);
    const std::vector<TokenId> some = {1, 2}, outside = {1, 100000}, none, many(engine->context(), 3);
    const auto message = [&](std::vector<SequenceTokens> batch) {
        const auto ran = engine->forward_batch(batch, [](size_t, std::span<const float>) {});
        EXPECT_FALSE(ran);
        EXPECT_EQ(0u, engine->num_tokens(0) + engine->num_tokens(1));
        return ran ? std::string() : ran.error().message;
    };
    using ::testing::HasSubstr;
    EXPECT_THAT(message({}), HasSubstr("no tokens to run"));
    EXPECT_THAT(message({{0, some}, {1, none}}), HasSubstr("no tokens to run"));
    EXPECT_THAT(message({{0, some}, {1, outside}}), HasSubstr("token id 100000 is outside the vocabulary"));
    EXPECT_THAT(message({{1, some}, {0, some}, {1, some}}), HasSubstr("sequence 1 stands twice"));
    EXPECT_THAT(message({{0, some}, {1, many}}), HasSubstr("don't fit: 0 of the context's"));
}

// Saved, loaded elsewhere, continued: the same bits as if nothing had happened, and no token is run twice.
inline void expect_sessions_continue_bit_for_bit(const LoadKv& load, kv::Format format) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("kv.session");
    const auto first = load(format), second = load(format);
    const std::vector<TokenId> prompt = kv_tokens(45);
    run_tokens(*first, prompt);
    ASSERT_TRUE(first->save_session(path, prompt, {}));
    std::vector<TokenId> longer = prompt;
    longer.push_back(91);
    const auto held = second->load_session(path, longer);
    ASSERT_TRUE(held) << held.error().describe();
    EXPECT_EQ(45u, *held);
    EXPECT_EQ(45u, second->num_tokens());
    for (const TokenId token : {91, 5, 17, 30, 2}) {
        ASSERT_EQ(run_tokens(*first, {&token, 1}), run_tokens(*second, {&token, 1})) << token;
    }
    // Another text: what both begin with.
    std::vector<TokenId> other = prompt;
    other[20] = 7;
    EXPECT_EQ(20u, *second->load_session(path, other));
    EXPECT_EQ(20u, second->num_tokens());
    EXPECT_FALSE(first->save_session(path, prompt, {})) << "it holds five more";
}

// Each kind of wrong file is refused by its own message, and the cache stays as it was.
inline void expect_bad_sessions_are_refused(const LoadKv& load, kv::Format other_format) {
    const test::TemporaryFolder folder;
    const std::string good = folder.file("good"), bad = folder.file("bad");
    const auto engine = load(kv::Format::kF32);
    const std::vector<TokenId> prompt = kv_tokens(9);
    run_tokens(*engine, prompt);
    ASSERT_TRUE(engine->save_session(good, prompt, {}));
    std::ifstream file(good, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    const auto message = [&](Engine& reader, const std::string& content) {
        std::ofstream(bad, std::ios::binary) << content;
        const auto held = reader.load_session(bad, prompt);
        EXPECT_FALSE(held);
        return held ? std::string() : held.error().message;
    };
    using ::testing::HasSubstr;
    EXPECT_THAT(message(*engine, ""), HasSubstr("no session file"));
    EXPECT_THAT(message(*engine, std::string(200, 'x')), HasSubstr("no session file"));
    EXPECT_THAT(message(*engine, bytes.substr(0, 40)), HasSubstr("is damaged: it has only 40 bytes"));
    EXPECT_THAT(message(*engine, bytes.substr(0, bytes.size() - 1)),
                HasSubstr("bytes; a session of 9 tokens"));
    std::string endless = bytes;
    endless.replace(32, 8, 8, '\xff');  // of text
    EXPECT_THAT(message(*engine, endless),
                HasSubstr("bytes; a session of 9 tokens and 18446744073709551615"));
    EXPECT_THAT(message(*engine, bytes + "x"), HasSubstr("bytes; a session of 9 tokens"));
    for (const size_t at : {size_t(60), bytes.size() / 2, bytes.size() - 40, bytes.size() - 1}) {
        std::string flipped = bytes;
        flipped[at] = char(flipped[at] ^ 4);
        EXPECT_THAT(message(*engine, flipped), HasSubstr("checksum is wrong")) << at;
    }
    std::string future = bytes;
    future[8] = 3;
    EXPECT_THAT(message(*engine, future), HasSubstr("version 3; 2 is accepted"));
    std::string foreign = bytes;
    foreign[16] = char(foreign[16] ^ 1);
    EXPECT_THAT(message(*engine, foreign), HasSubstr("another model"));
    const auto other = load(other_format);
    EXPECT_THAT(message(*other, bytes), HasSubstr("holds f32 cells"));
    EXPECT_EQ(9u, engine->num_tokens()) << "as before";
    const auto missing = engine->load_session(folder.file("missing"), prompt);
    ASSERT_FALSE(missing);
    EXPECT_EQ(ErrorKind::kNotFound, missing.error().kind);
    EXPECT_EQ(8u, *engine->load_session(good, std::span(prompt).first(8)));
}

}  // namespace ingot
