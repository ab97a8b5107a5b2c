#include "cli/bench_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/model_facts.h"

namespace ingot::cli {
namespace {

using nlohmann::ordered_json;

// One test as an object; the only list of columns that CSV and JSON have.
ordered_json row(const BenchReport& report, const BenchTest& test) {
    std::vector<double> nanoseconds;
    for (const double s : test.seconds) nanoseconds.push_back(std::round(s * 1e9));
    const auto [avg_ns, stddev_ns] = mean_deviation(nanoseconds);
    const auto [avg_ts, stddev_ts] = mean_deviation(test.rates());
    return {
        {"model_filename", report.file_name},
        {"model_type", report.model},
        {"quant", report.quant},
        {"model_size", report.weight_bytes},
        {"model_n_params", report.parameters},
        {"backends", report.backend},
        {"n_threads", report.threads},
        {"test", test.name()},
        {"n_prompt", test.prompt_tokens},
        {"n_gen", test.generated_tokens},
        {"n_depth", test.depth},
        {"n_streams", test.streams},
        {"avg_ns", std::llround(avg_ns)},
        {"stddev_ns", std::llround(stddev_ns)},
        {"avg_ts", avg_ts},
        {"stddev_ts", stddev_ts},
        {"load_seconds", report.load_seconds},
        {"first_token_seconds", report.first_token_seconds},
        {"peak_memory_bytes", report.peak_memory_bytes},
        {"samples_ns", nanoseconds},
        {"samples_ts", test.rates()},
    };
}

std::string csv_field(const ordered_json& value) {
    if (!value.is_string()) return value.dump();  // a number or a list of them
    std::string text = value.get<std::string>();
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    for (size_t i = 0; (i = text.find('"', i)) != std::string::npos; i += 2) text.insert(i, 1, '"');
    return '"' + text + '"';
}

}  // namespace

std::string BenchTest::name() const {
    std::string name =
        prompt_tokens ? fmt::format("pp{}", prompt_tokens) : fmt::format("tg{}", generated_tokens);
    if (depth != 0) name += fmt::format(" @ d{}", depth);
    if (streams != 1) name += fmt::format(" x{}", streams);
    return name;
}

std::vector<double> BenchTest::rates() const {
    std::vector<double> rates;
    for (const double s : seconds) rates.push_back(tokens() / s);
    return rates;
}

MeanDeviation mean_deviation(const std::vector<double>& values) {
    if (values.empty()) return {};
    double sum = 0, squares = 0;
    for (const double v : values) sum += v;
    const double mean = sum / double(values.size());
    for (const double v : values) squares += (v - mean) * (v - mean);
    return {mean, values.size() > 1 ? std::sqrt(squares / double(values.size() - 1)) : 0};
}

std::string to_markdown(const BenchReport& report) {
    std::vector<std::vector<std::string>> table = {
        {"model", "size", "params", "quant", "backend", "threads", "test", "t/s"}};
    for (const BenchTest& test : report.tests) {
        const auto [mean, deviation] = mean_deviation(test.rates());
        table.push_back({report.model, short_bytes(report.weight_bytes), short_count(report.parameters),
                         report.quant, report.backend, std::to_string(report.threads), test.name(),
                         fmt::format("{:.2f} ± {:.2f}", mean, deviation)});
    }
    // Widths in characters: "±" is two bytes.
    const auto width = [](const std::string& cell) {
        return size_t(std::ranges::count_if(cell, [](char c) { return (c & 0xC0) != 0x80; }));
    };
    std::vector<size_t> widths(table[0].size());
    for (const auto& cells : table)
        for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width(cells[i]));
    std::string text;
    for (size_t r = 0; r < table.size(); ++r) {
        for (size_t i = 0; i < table[r].size(); ++i) {
            const std::string& cell = table[r][i];
            const bool last = i + 1 == table[r].size();
            const std::string padding(widths[i] - width(cell), ' ');
            text += last ? fmt::format("| {}{} |\n", padding, cell) : fmt::format("| {}{} ", cell, padding);
        }
        if (r > 0) continue;
        for (size_t i = 0; i < widths.size(); ++i)
            text += fmt::format("| {}{}", std::string(widths[i] - 1, '-'),
                                i + 1 < widths.size() ? "- " : ": |\n");
    }
    text += fmt::format("\nload: {:.2f} s, first token after a prompt of {}: {:.3f} s, peak memory: {}\n",
                        report.load_seconds, report.first_token_prompt, report.first_token_seconds,
                        short_bytes(report.peak_memory_bytes));
    return text;
}

std::string to_csv(const BenchReport& report) {
    std::string text;
    for (const BenchTest& test : report.tests) {
        const ordered_json object = row(report, test);
        std::string names, values;
        for (const auto& [name, value] : object.items()) {
            if (value.is_array()) continue;  // the samples are in the JSON only
            const char* comma = names.empty() ? "" : ",";
            names += comma + name;
            values += comma + csv_field(value);
        }
        if (text.empty()) text = names + '\n';
        text += values + '\n';
    }
    return text;
}

std::string to_json(const BenchReport& report) {
    ordered_json rows = ordered_json::array();
    for (const BenchTest& test : report.tests) rows.push_back(row(report, test));
    return rows.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace ingot::cli
