#include "metal/count/report.h"

#include <algorithm>
#include <tuple>

#include <nlohmann/json.hpp>

namespace ingot::metal::count {
namespace {

using Json = nlohmann::ordered_json;

struct Row {
    const char* name;
    const char* text;
    uint64_t Counts::* count;
};

// What reports say of a launch, in this order.
constexpr Row kRows[] = {
    {"threadgroups", "threadgroups", &Counts::threadgroups},
    {"simdgroups", "simdgroups", &Counts::simdgroups},
    {"threads", "threads", &Counts::threads},
    {"matrix_products", "8x8x8 matrix products", &Counts::matrix_products},
    {"matrix_loads_device", "8x8 matrix loads from buffers", &Counts::matrix_loads_device},
    {"matrix_loads_threadgroup", "8x8 matrix loads from threadgroup memory",
     &Counts::matrix_loads_threadgroup},
    {"matrix_stores_device", "8x8 matrix stores to buffers", &Counts::matrix_stores_device},
    {"matrix_stores_threadgroup", "8x8 matrix stores to threadgroup memory",
     &Counts::matrix_stores_threadgroup},
    {"tensor_operations", "tensor operations", &Counts::tensor_operations},
    {"barriers", "threadgroup barriers", &Counts::barriers},
    {"simdgroup_barriers", "simdgroup barriers", &Counts::simdgroup_barriers},
    {"simd_functions", "simdgroup functions", &Counts::simd_functions},
    {"shuffles", "simdgroup shuffles", &Counts::shuffles},
    {"atomics", "atomic operations", &Counts::atomics},
    {"fences", "fences", &Counts::fences},
};

// Name and words of each class of arithmetic.
constexpr std::pair<const char*, const char*> kArithmetic[] = {
#define X(enumerator, name, text) {name, text},
    INGOT_METAL_ARITHMETIC(X)
#undef X
};

std::string with_commas(uint64_t number) {
    std::string text = std::to_string(number);
    for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
    return text;
}

Json to_json(const MemoryCounts& memory) {
    return {{"name", memory.name},
            {"bytes_read", memory.bytes_read},
            {"bytes_written", memory.bytes_written},
            {"unique_bytes_read", memory.unique_bytes_read},
            {"unique_bytes_written", memory.unique_bytes_written},
            {"sectors_32", memory.sectors},
            {"lines_128", memory.lines}};
}

const char* type_name(fibers::TensorType type) {
    switch (type) {
#define X(enumerator, name, code, bytes) \
    case fibers::TensorType::enumerator: \
        return std::string_view(name) == "b16" ? "bf16" : name;
        INGOT_METAL_TENSOR_TYPES(X)
#undef X
    }
    return "";
}

Json to_json(const ProductCounts& product) {
    const ProductShape& shape = product.shape;
    return {{"m", shape.m},
            {"n", shape.n},
            {"k", shape.k},
            {"left", type_name(shape.left)},
            {"right", type_name(shape.right)},
            {"destination", type_name(shape.destination)},
            {"threads", shape.threads},
            {"operations", product.operations()}};
}

std::string describe(const ProductShape& shape) {
    return fmt::format("matmul2d {}x{}x{} of {} and {} to {} by {} thread{}", shape.m, shape.n, shape.k,
                       type_name(shape.left), type_name(shape.right), type_name(shape.destination),
                       shape.threads, shape.threads == 1 ? "" : "s");
}

Json to_json(const LineCounts& line) {
    Json json;
    if (line.line != 0) json = {{"file", line.file}, {"line", line.line}};
    if (line.line == 0) json = {{"instruction", line.instruction}};
    json["simdgroup_accesses"] = line.simdgroups;
    json["bytes_read"] = line.bytes_read;
    json["bytes_written"] = line.bytes_written;
    json["threadgroup_bytes"] = line.threadgroup_bytes;
    json["lines_128"] = line.lines;
    json["arithmetic"] = line.arithmetic;
    json["matrix_products"] = line.matrix_products;
    json["meetings"] = line.meetings;
    return json;
}

void add(LineCounts& line, const Site& site, const SiteCounts& counts) {
    line.simdgroups += counts.simdgroups;
    line.lines += counts.lines;
    line.threadgroup_bytes += counts.tensor_threadgroup_bytes;
    switch (site.kind) {
        case SiteKind::kMatrixProduct:
            line.matrix_products += counts.simdgroups;
            break;
        case SiteKind::kBarrier:
        case SiteKind::kSimdgroupBarrier:
        case SiteKind::kSimdFunction:
            line.meetings += counts.simdgroups;
            break;
        default:
            break;
    }
    if (site.space == MemorySpace::kThreadgroup) {
        line.threadgroup_bytes += counts.bytes_read + counts.bytes_written;
    } else {
        line.bytes_read += counts.bytes_read;
        line.bytes_written += counts.bytes_written;
    }
}

std::string cell(uint64_t count) {
    return fmt::format("{:>13}", count == 0 ? "" : with_commas(count));
}

}  // namespace

std::vector<LineCounts> by_line(const Counts& counts, const Instrumentation& instrumentation) {
    std::map<std::tuple<std::string, uint32_t, uint32_t>, LineCounts> lines;
    for (size_t i = 0; i < counts.sites.size(); ++i) {
        const Site& site = instrumentation.sites[i];
        if (counts.sites[i].threads == 0 || site.kind == SiteKind::kEnd) continue;
        if (site.kind == SiteKind::kTensorElement) continue;
        const uint32_t instruction = site.line == 0 ? site.instruction : 0;
        LineCounts& line = lines[{site.file, site.line, instruction}];
        line.file = site.file;
        line.line = site.line;
        line.instruction = instruction;
        add(line, site, counts.sites[i]);
    }
    for (const BlockArithmetic& part : instrumentation.arithmetic) {
        const uint64_t ran = counts.blocks[part.block];
        if (ran == 0 || part.line == 0) continue;
        LineCounts& line = lines[{part.file, part.line, 0}];
        line.file = part.file;
        line.line = part.line;
        line.arithmetic += ran * part.count;
    }
    std::vector<LineCounts> sorted;
    for (auto& [key, line] : lines) sorted.push_back(std::move(line));
    return sorted;
}

std::string to_text(const Counts& counts) {
    std::string text;
    for (const Row& row : kRows) {
        if (counts.*row.count != 0)
            text += fmt::format("{:>16} {}\n", with_commas(counts.*row.count), row.text);
    }
    for (size_t i = 0; i < kNumArithmetic; ++i) {
        if (counts.arithmetic[i] != 0)
            text += fmt::format("{:>16} {}\n", with_commas(counts.arithmetic[i]), kArithmetic[i].second);
    }
    for (const ProductCounts& product : counts.tensor_products)
        text += fmt::format("{:>16} {}\n", with_commas(product.operations()), describe(product.shape));
    std::vector<MemoryCounts> memories = counts.buffers;
    const MemoryCounts& shared = counts.threadgroup_memory;
    if (shared.bytes_read + shared.bytes_written != 0) memories.push_back(shared);
    if (memories.empty()) return text;
    text += fmt::format("{:>16}{:>16}{:>16}{:>16}{:>12}\n", "bytes read", "bytes written", "unique read",
                        "unique written", "lines");
    for (const MemoryCounts& memory : memories) {
        text +=
            fmt::format("{:>16}{:>16}", with_commas(memory.bytes_read), with_commas(memory.bytes_written));
        const bool shares = &memory == &memories.back() && memory.name == shared.name;
        text += shares ? fmt::format("{:>44}", "")
                       : fmt::format("{:>16}{:>16}{:>12}", with_commas(memory.unique_bytes_read),
                                     with_commas(memory.unique_bytes_written), with_commas(memory.lines));
        text += fmt::format("  {}\n", memory.name);
    }
    return text;
}

std::string to_text(const std::vector<LineCounts>& lines, const check::SourceLines& source) {
    std::string text =
        fmt::format("{:>13}{:>13}{:>13}{:>13}{:>13}{:>13}{:>13}{:>13}\n", "accesses", "bytes read", "written",
                    "lines", "threadgroup", "arithmetic", "products", "meetings");
    std::string file;
    for (const LineCounts& line : lines) {
        if (line.file != file) text += fmt::format("{}\n", line.file);
        file = line.file;
        text += cell(line.simdgroups) + cell(line.bytes_read) + cell(line.bytes_written) + cell(line.lines) +
                cell(line.threadgroup_bytes) + cell(line.arithmetic) + cell(line.matrix_products) +
                cell(line.meetings);
        if (line.line == 0) {
            text += fmt::format("   instruction {}\n", line.instruction);
        } else {
            text += fmt::format(" {:>5} | {}\n", line.line, source(line.file, line.line).value_or(""));
        }
    }
    return text;
}

std::string to_json(const Counts& counts, const std::vector<LineCounts>& lines) {
    Json json;
    for (const Row& row : kRows) json[row.name] = counts.*row.count;
    for (size_t i = 0; i < kNumArithmetic; ++i)
        json["arithmetic"][kArithmetic[i].first] = counts.arithmetic[i];
    json["tensor_products"] = Json::array();
    for (const ProductCounts& product : counts.tensor_products)
        json["tensor_products"].push_back(to_json(product));
    json["buffers"] = Json::array();
    for (const MemoryCounts& buffer : counts.buffers) json["buffers"].push_back(to_json(buffer));
    json["threadgroup_memory"] = to_json(counts.threadgroup_memory);
    json["lines"] = Json::array();
    for (const LineCounts& line : lines) json["lines"].push_back(to_json(line));
    return json.dump(1);
}

}  // namespace ingot::metal::count
