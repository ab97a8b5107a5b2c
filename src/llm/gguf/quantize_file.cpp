#include "llm/gguf/quantize_file.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/output_file.h"
#include "base/quoted.h"
#include "base/thread_pool.h"
#include "llm/gguf/file_type.h"
#include "llm/gguf/quantize_plan.h"
#include "llm/gguf/writer.h"

namespace ingot::gguf {
namespace {

constexpr uint32_t kQuantizationVersion = 2;        // of the block layouts, general.quantization_version
constexpr uint64_t kSlabBytes = uint64_t(8) << 20;  // of a result, converted and then written
constexpr uint64_t kChunkElements = 16 * 1024;      // that a thread takes at a time
constexpr uint64_t kNoRow = UINT64_MAX;

Writer make_header(const File& input, const std::vector<PlannedTensor>& plan, QuantType type) {
    Writer writer;
    for (const MetadataEntry& entry : input.metadata()) writer.set(entry.key, entry.value);
    writer.set("general.quantization_version", Value{kQuantizationVersion});
    writer.set("general.file_type", Value{file_type_id(type)});
    for (const char* key : {"split.no", "split.count", "split.tensors.count"}) writer.erase(key);
    for (const PlannedTensor& tensor : plan)
        writer.add_tensor(tensor.source->name, tensor.type, tensor.source->shape);
    return writer;
}

bool all_finite(std::span<const float> values) {
    return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

// Converts rows of one tensor on all threads.
class RowConverter {
  public:
    RowConverter(const PlannedTensor& tensor, ThreadPool& pool)
        : from_(traits(tensor.source->type)),
          to_(traits(tensor.type)),
          data_(tensor.source->data),
          row_length_(tensor.source->row_length()),
          pool_(pool) {}

    uint64_t result_row_bytes() const { return row_length_ / to_.block_size * to_.block_size_bytes; }

    // Rows [first, first + count) to `result`.
    void convert(uint64_t first, uint64_t count, std::byte* result) {
        const auto rows_at_a_time = uint32_t(std::max<uint64_t>(1, kChunkElements / row_length_));
        pool_.run([&](Worker& worker) {
            std::vector<float> values(row_length_), decoded(row_length_);
            for (uint64_t row = worker.claim(0, rows_at_a_time); row < count;
                 row = worker.claim(0, rows_at_a_time)) {
                const uint64_t end = std::min<uint64_t>(row + rows_at_a_time, count);
                for (uint64_t i = row; i < end; ++i) {
                    convert_row(first + i, result + i * result_row_bytes(), values, decoded);
                }
            }
        });
    }

    // The lowest row of each kind so far, kNoRow if there is none.
    uint64_t row_not_finite() const { return row_not_finite_; }
    uint64_t row_out_of_range() const { return row_out_of_range_; }

  private:
    void convert_row(uint64_t row, std::byte* result, std::vector<float>& values,
                     std::vector<float>& decoded) {
        const uint64_t source_row_bytes = row_length_ / from_.block_size * from_.block_size_bytes;
        const std::byte* source = data_.data() + row * source_row_bytes;
        from_.dequantize(source, values.data(), row_length_);
        if (!all_finite(values)) return lower(row_not_finite_, row);
        if (from_.type == to_.type) {
            std::memcpy(result, source, source_row_bytes);
            return;
        }
        to_.quantize(values.data(), result, row_length_);
        to_.dequantize(result, decoded.data(), row_length_);
        if (!all_finite(decoded)) lower(row_out_of_range_, row);
    }

    static void lower(std::atomic<uint64_t>& least, uint64_t row) {
        uint64_t seen = least;
        while (row < seen && !least.compare_exchange_weak(seen, row)) {
        }
    }

    const QuantTraits& from_;
    const QuantTraits& to_;
    const std::span<const std::byte> data_;
    const uint64_t row_length_;
    ThreadPool& pool_;
    std::atomic<uint64_t> row_not_finite_ = kNoRow;
    std::atomic<uint64_t> row_out_of_range_ = kNoRow;
};

// Writes the data of the planned tensors, slab by slab.
class DataWriter {
  public:
    DataWriter(const QuantizeOptions& options, uint64_t total_bytes, OutputFile& output)
        : options_(options),
          total_bytes_(total_bytes),
          pool_(std::max(1u, options.threads)),
          output_(output) {}

    // `padding` zeros follow.
    Result<void> write(const PlannedTensor& tensor, uint64_t padding) {
        RowConverter converter(tensor, pool_);
        const uint64_t num_rows = tensor.source->num_rows();
        const uint64_t row_bytes = converter.result_row_bytes();
        const uint64_t rows_in_slab = std::clamp<uint64_t>(kSlabBytes / row_bytes, 1, num_rows);
        for (uint64_t row = 0; row < num_rows; row += rows_in_slab) {
            const uint64_t count = std::min(rows_in_slab, num_rows - row);
            slab_.resize(count * row_bytes);
            converter.convert(row, count, slab_.data());
            INGOT_TRY(check(converter, tensor));
            INGOT_TRY(output_.write(slab_));
            INGOT_TRY(advance(tensor.source->data.size() / num_rows * count));
        }
        slab_.assign(padding, std::byte(0));
        return output_.write(slab_);
    }

  private:
    Result<void> check(const RowConverter& converter, const PlannedTensor& tensor) const {
        if (converter.row_not_finite() != kNoRow) {
            return fail(ErrorKind::kCorrupt, "tensor {} holds a value in row {} that is not finite",
                        quoted(tensor.source->name), converter.row_not_finite());
        }
        if (converter.row_out_of_range() != kNoRow) {
            return fail(ErrorKind::kInvalidArgument,
                        "tensor {} can't be stored as {}: the values of row {} are too large",
                        quoted(tensor.source->name), traits(tensor.type).name, converter.row_out_of_range());
        }
        return {};
    }

    Result<void> advance(uint64_t source_bytes) {
        done_bytes_ += source_bytes;
        if (options_.progress && !options_.progress(float(double(done_bytes_) / double(total_bytes_)))) {
            return fail(ErrorKind::kCancelled, "stopped after {} of {} bytes", done_bytes_, total_bytes_);
        }
        return {};
    }

    const QuantizeOptions& options_;
    const uint64_t total_bytes_;
    uint64_t done_bytes_ = 0;
    ThreadPool pool_;
    OutputFile& output_;
    std::vector<std::byte> slab_;
};

QuantizeReport report_of(const std::vector<PlannedTensor>& plan, QuantType type) {
    QuantizeReport report;
    report.num_tensors = plan.size();
    for (const PlannedTensor& tensor : plan) {
        const TensorInfo& source = *tensor.source;
        report.num_quantized += tensor.type != source.type;
        report.source_bytes += source.data.size();
        report.result_bytes += storage_size_bytes(tensor.type, source.num_elements()).value();
        if (!tensor.replaced) continue;
        report.replacements.push_back(fmt::format(
            "tensor {}: rows of {} elements aren't blocks of {}, stored as {}", quoted(source.name),
            source.row_length(), traits(type).name, traits(tensor.type).name));
    }
    return report;
}

}  // namespace

Result<QuantizeReport> quantize_file(const File& input, const std::string& output_path,
                                     const QuantizeOptions& options) {
    for (const std::string& part : input.part_paths()) {
        std::error_code ignored;
        if (!std::filesystem::equivalent(part, output_path, ignored)) continue;
        return fail(ErrorKind::kInvalidArgument, "{}: is the input{}, write to another file", output_path,
                    part == input.path() ? "" : " (a part of it)");
    }
    if (input.tensors().empty()) {
        return fail(ErrorKind::kInvalidArgument, "{}: has no tensors to quantize", input.path());
    }
    INGOT_ASSIGN(const std::vector<PlannedTensor> plan, plan_quantization(input, options.type));
    const Writer writer = make_header(input, plan, options.type);
    QuantizeReport report = report_of(plan, options.type);
    INGOT_ASSIGN(OutputFile output, OutputFile::create(output_path));
    const std::string header = writer.header();
    INGOT_TRY(output.write(std::as_bytes(std::span(header))));
    DataWriter data(options, report.source_bytes, output);
    for (const PlannedTensor& tensor : plan) {
        const uint64_t result_bytes = storage_size_bytes(tensor.type, tensor.source->num_elements()).value();
        auto written = data.write(tensor, writer.padding_bytes(result_bytes));
        if (!written) return Failure(with_context(std::move(written).error(), input.path()));
        input.release(tensor.source->data);
    }
    INGOT_TRY(output.commit());
    return report;
}

}  // namespace ingot::gguf
