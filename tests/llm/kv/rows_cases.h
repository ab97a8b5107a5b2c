// What happens to rows in KV cells, on any backend: moves in both directions, and keys turned to other
// positions against a rotation in double.
#pragma once

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "llm/graph/fixture.h"
#include "llm/kv/rows.h"
#include "llm/quant/quant.h"

namespace ingot::kv {

constexpr uint32_t kCasesCells = 600;  // more than are on the host at a time

inline LayerCells case_layer(Backend& backend, Format format, graph::RopeStyle style) {
    LayerCells made{.layer = {0, 2, 48}, .backend = &backend, .turns = true, .rope = {}, .factors = {}};
    made.rope = {.style = style, .dims = 32, .base = 500.0f};
    tests::expect_ok(backend.ensure_kv({&made.layer, 1}, format, kCasesCells));
    return made;
}

inline std::vector<std::byte> all_rows(Backend& backend, KvSide side, Format format) {
    std::vector<std::byte> rows(kCasesCells * row_bytes(format, 96));
    tests::expect_ok(backend.read_kv(0, side, 0, rows));
    return rows;
}

// Rows of bytes that say where they were.
inline void expect_moves_in_both_directions(Backend& backend, Format format) {
    const LayerCells layer = case_layer(backend, format, graph::RopeStyle::kNeox);
    const size_t row = row_bytes(format, 96);
    std::vector<std::byte> rows(kCasesCells * row);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = std::byte((i / row * 31 + i % row) % 251);
    for (const RowMove& move :
         {RowMove{10, 3, 500}, {3, 10, 500}, {0, 300, 300}, {599, 0, 1}, {40, 39, 260}}) {
        for (const KvSide side : {KvSide::kKey, KvSide::kValue})
            tests::expect_ok(backend.write_kv(0, side, 0, rows));
        tests::expect_ok(move_rows({&layer, 1}, format, {&move, 1}));
        std::vector<std::byte> expected = rows;
        for (uint32_t i = 0; i < move.length; ++i)
            std::memcpy(&expected[(move.to + i) * row], &rows[(move.from + i) * row], row);
        for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
            EXPECT_TRUE(expected == all_rows(backend, side, format))
                << move.length << " rows from " << move.from << " to " << move.to;
        }
    }
}

// Moves that overwrite each other's rows, all made at once.
inline void expect_rows_change_places(Backend& backend, Format format) {
    const LayerCells layer = case_layer(backend, format, graph::RopeStyle::kNeox);
    const size_t row = row_bytes(format, 96);
    std::vector<std::byte> rows(kCasesCells * row), expected;
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = std::byte((i / row * 31 + i % row) % 251);
    for (const KvSide side : {KvSide::kKey, KvSide::kValue})
        tests::expect_ok(backend.write_kv(0, side, 0, rows));
    const RowMove moves[] = {{0, 590, 10}, {590, 0, 10}, {100, 101, 300}, {401, 100, 1}};
    expected = rows;
    for (const RowMove& move : moves)
        std::memcpy(&expected[move.to * row], &rows[move.from * row], move.length * row);
    tests::expect_ok(rearrange_rows({&layer, 1}, format, moves));
    for (const KvSide side : {KvSide::kKey, KvSide::kValue})
        EXPECT_TRUE(expected == all_rows(backend, side, format));
}

inline QuantType stored_type(Format format) {
    return format == Format::kF32   ? QuantType::kF32
           : format == Format::kF16 ? QuantType::kF16
                                    : QuantType::kQ8_0;
}

// `bar`: of one rounding to the format, of values around 1.
inline void expect_keys_turn(Backend& backend, Format format, double bar) {
    for (const graph::RopeStyle style : {graph::RopeStyle::kInterleaved, graph::RopeStyle::kNeox}) {
        const LayerCells layer = case_layer(backend, format, style);
        const QuantTraits& type = traits(stored_type(format));
        std::vector<float> values = tests::random_values(4 * 96, 5);
        const size_t row = row_bytes(format, 96);
        std::vector<std::byte> rows(4 * row);
        for (size_t c = 0; c < 4; ++c) {
            type.quantize(&values[c * 96], &rows[c * row], 96);
            type.dequantize(&rows[c * row], &values[c * 96], 96);
        }
        for (const KvSide side : {KvSide::kKey, KvSide::kValue})
            tests::expect_ok(backend.write_kv(0, side, 20, rows));
        const Run cells[] = {{21, 1}, {22, 1}};
        tests::expect_ok(turn_keys({&layer, 1}, format, cells, -300));
        std::vector<std::byte> after(rows.size());
        tests::expect_ok(backend.read_kv(0, KvSide::kValue, 20, after));
        EXPECT_TRUE(after == rows) << "values don't turn";
        tests::expect_ok(backend.read_kv(0, KvSide::kKey, 20, after));
        for (size_t c = 0; c < 4; ++c) {
            std::vector<double> expected(&values[c * 96], &values[c * 96] + 96);
            for (size_t head = 0; head < 2 && (c == 1 || c == 2); ++head) {
                for (size_t i = 0; i < 16; ++i) {
                    const bool neox = style == graph::RopeStyle::kNeox;
                    double &a = expected[head * 48 + (neox ? i : 2 * i)],
                           &b = expected[head * 48 + (neox ? i + 16 : 2 * i + 1)];
                    const double angle = -300 * std::pow(500.0, -double(i) / 16), before = a;
                    a = before * std::cos(angle) - b * std::sin(angle);
                    b = before * std::sin(angle) + b * std::cos(angle);
                }
            }
            std::vector<float> actual(96);
            type.dequantize(&after[c * row], actual.data(), 96);
            for (size_t i = 0; i < 96; ++i) ASSERT_NEAR(expected[i], actual[i], bar) << c << ' ' << i;
        }
    }
}

}  // namespace ingot::kv
