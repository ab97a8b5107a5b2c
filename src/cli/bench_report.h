// The figures of `ingot bench` and how they are printed: a Markdown table, CSV or JSON. Names and units of
// columns are llama-bench's where they mean the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::cli {

struct BenchTest {
    uint32_t prompt_tokens = 0, generated_tokens = 0;  // one of them is 0
    std::vector<double> seconds = {};                  // one for each repetition
    uint32_t depth = 0;                                // tokens that are in the context before
    uint32_t streams = 1;                              // sequences, each of all these, run together

    std::string name() const;  // "pp512", "tg128", "tg128 @ d4096", "tg128 x4"
    double tokens() const { return double(prompt_tokens + generated_tokens) * streams; }
    std::vector<double> rates() const;  // tokens per second
};

struct BenchReport {
    std::string file_name, model, quant, backend;
    uint64_t weight_bytes = 0, parameters = 0;
    uint32_t threads = 0;
    std::vector<BenchTest> tests;
    double load_seconds = 0;
    double first_token_seconds = 0;  // the first test's prompt, evaluated right after loading
    uint32_t first_token_prompt = 0;
    uint64_t peak_memory_bytes = 0;
};

struct MeanDeviation {
    double mean = 0, deviation = 0;  // deviation of the sample; 0 for a single value
};
MeanDeviation mean_deviation(const std::vector<double>& values);

std::string to_markdown(const BenchReport& report);
std::string to_csv(const BenchReport& report);
std::string to_json(const BenchReport& report);

}  // namespace ingot::cli
