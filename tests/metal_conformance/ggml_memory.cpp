// ggml's kernels that move and reduce: rows set in every storage type, convolutions, pooling, the k largest,
// state space scans, functions of one argument.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "metal_conformance/ggml_support.h"
#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using enum Type;

// Rows of floats become rows of `type` at given places; the others stay.
void add_set_rows(Cases& cases, const std::string& type, double tolerance, bool wide_index) {
    const std::string name =
        std::string("quantize/kernel_set_rows_f32_") + (wide_index ? "i64_" : "i32_") + type;
    cases.push_back({"set_rows", name, "", [=](Session& session) {
                         const int rows = 9, columns = 512, picks = 4;
                         QuantRows w(type, rows, columns, 31);
                         Array ids = array_of(wide_index ? kI64 : kI32, std::vector<int>{7, 0, 4, 2}),
                               x = random_array(kF32, picks * columns, 32, 0.5);
                         std::vector<double> expected = w.values;
                         for (int i = 0; i < picks * columns; ++i)
                             expected[size_t(ids.get(i / columns)) * columns + i % columns] = x.get(i);
                         const int units = columns / int(ggml_block_size(type));
                         const double nb1 = double(w.row_bytes), index = wide_index ? 8 : 4;
                         session.kernel(name)
                             .add(ggml_arguments("set_rows", {{"nk0", units},
                                                              {"ne01", picks},
                                                              {"nb01", 4 * columns},
                                                              {"nb02", 4 * columns * picks},
                                                              {"nb03", 4 * columns * picks},
                                                              {"ne11", 1},
                                                              {"ne12", 1},
                                                              {"nb10", index},
                                                              {"nb11", index * picks},
                                                              {"nb12", index * picks},
                                                              {"nb1", nb1},
                                                              {"nb2", nb1 * rows},
                                                              {"nb3", nb1 * rows}}))
                             .add(x)
                             .add(ids)
                             .add(w.blocks)
                             .groups({2, 1, 1}, {uint32_t(std::min(units, 256)), 2, 1});
                         Array decoded(kF32, expected.size());
                         const std::vector<double> values = w.decode();
                         for (size_t i = 0; i < values.size(); ++i) decoded.set(i, values[i]);
                         session.near(decoded, expected, tolerance);
                     }});
}

struct SpatialShape {
    int width = 13, height = 11, channels = 3, images = 2;
    int kernel_width = 3, kernel_height = 2, out_channels = 4;
    int stride_x = 2, stride_y = 1, pad_x = 1, pad_y = 1, dilation_x = 1, dilation_y = 2;

    int out_width() const { return (width + 2 * pad_x - dilation_x * (kernel_width - 1) - 1) / stride_x + 1; }
    int out_height() const {
        return (height + 2 * pad_y - dilation_y * (kernel_height - 1) - 1) / stride_y + 1;
    }
    size_t num_in() const { return size_t(images) * channels * width * height; }
    // Where x[image][channel] is read for an output place and a place in the kernel; -1 in the padding.
    int64_t at(int image, int channel, int oy, int ox, int ky, int kx) const {
        const int y = oy * stride_y + ky * dilation_y - pad_y, x = ox * stride_x + kx * dilation_x - pad_x;
        if (y < 0 || y >= height || x < 0 || x >= width) return -1;
        return ((int64_t(image) * channels + channel) * height + y) * width + x;
    }
    std::vector<std::pair<std::string, double>> steps() const {
        return {{"s0", stride_x},     {"s1", stride_y},      {"p0", pad_x}, {"p1", pad_y},
                {"d0", dilation_x},   {"d1", dilation_y},    {"IW", width}, {"IH", height},
                {"KW", kernel_width}, {"KH", kernel_height}, {"N", images}};
    }
};

void add_convolution(Cases& cases, Type type) {
    const std::string name = std::string("conv/kernel_conv_2d_") + (type == kF16 ? "f16" : "f32") + "_f32";
    cases.push_back(
        {"convolution", name, "", [=](Session& session) {
             const SpatialShape s;
             const int ow = s.out_width(), oh = s.out_height(), taps = s.kernel_width * s.kernel_height;
             Array w = random_array(type, size_t(s.out_channels) * s.channels * taps, 33),
                   x = random_array(kF32, s.num_in(), 34),
                   y(kF32, size_t(s.images) * s.out_channels * ow * oh);
             std::vector<double> expected(y.size());
             for (size_t i = 0; i < y.size(); ++i) {
                 const int ox = int(i) % ow, oy = int(i) / ow % oh, oc = int(i) / (ow * oh) % s.out_channels,
                           image = int(i) / (ow * oh * s.out_channels);
                 for (int c = 0; c < s.channels; ++c) {
                     for (int t = 0; t < taps; ++t) {
                         const int64_t at = s.at(image, c, oy, ox, t / s.kernel_width, t % s.kernel_width);
                         if (at >= 0)
                             expected[i] +=
                                 x.get(size_t(at)) * w.get((size_t(oc) * s.channels + c) * taps + t);
                     }
                 }
             }
             auto fields = s.steps();
             const double e = double(size_bytes(type));
             for (const auto& [field, value] :
                  std::vector<std::pair<std::string, double>>{{"IC", s.channels},
                                                              {"OC", s.out_channels},
                                                              {"OW", ow},
                                                              {"OH", oh},
                                                              {"nb00", e},
                                                              {"nb01", e * s.kernel_width},
                                                              {"nb02", e * taps},
                                                              {"nb03", e * taps * s.channels},
                                                              {"nb10", 4},
                                                              {"nb11", 4 * s.width},
                                                              {"nb12", 4 * s.width * s.height},
                                                              {"nb13", 4 * s.width * s.height * s.channels},
                                                              {"nb0", 4},
                                                              {"nb1", 4 * ow},
                                                              {"nb2", 4 * ow * oh},
                                                              {"nb3", 4 * ow * oh * s.out_channels}}) {
                 fields.emplace_back(field, value);
             }
             session.kernel(name)
                 .add(ggml_arguments("conv_2d", fields))
                 .add(w)
                 .add(x)
                 .add(y)
                 .groups({uint32_t(y.size() + 255) / 256, 1, 1}, {256, 1, 1});
             session.near(y, expected, 1e-5);
         }});
}

void add_image_to_columns(Cases& cases, Type type) {
    const std::string name = std::string("conv/kernel_im2col_") + (type == kF16 ? "f16" : "f32");
    cases.push_back(
        {"convolution", name, "", [=](Session& session) {
             const SpatialShape s;
             const int ow = s.out_width(), oh = s.out_height(), taps = s.kernel_width * s.kernel_height,
                       columns = s.channels * taps;
             Array x = random_array(kF32, s.num_in(), 35), y(type, size_t(s.images) * oh * ow * columns);
             std::vector<double> expected(y.size());
             for (size_t i = 0; i < y.size(); ++i) {
                 const int column = int(i) % columns, place = int(i) / columns, t = column % taps;
                 const int64_t at = s.at(place / (ow * oh), column / taps, place / ow % oh, place % ow,
                                         t / s.kernel_width, t % s.kernel_width);
                 expected[i] = at < 0 ? 0 : x.get(size_t(at));
             }
             auto fields = s.steps();
             fields.emplace_back("ofs0", s.width * s.height * s.channels);
             fields.emplace_back("ofs1", s.width * s.height);
             fields.emplace_back("CHW", columns);
             fields.emplace_back("KHW", taps);
             session.kernel(name)
                 .add(ggml_arguments("im2col", fields))
                 .add(x)
                 .add(y)
                 .groups({uint32_t(s.channels), uint32_t(oh), uint32_t(ow)},
                         {uint32_t(s.images), uint32_t(s.kernel_height), uint32_t(s.kernel_width)});
             session.near(y, expected, rounding(type));
         }});
}

void add_pooling(Cases& cases, bool average, bool flat) {
    const std::string name =
        std::string("pool/kernel_pool_") + (flat ? "1d_" : "2d_") + (average ? "avg" : "max") + "_f32";
    cases.push_back(
        {"pool", name, "", [=](Session& session) {
             SpatialShape s;
             s.dilation_y = 1;
             if (flat) s.height = s.kernel_height = 1, s.pad_y = 0;
             const int ow = s.out_width(), oh = s.out_height(), taps = s.kernel_width * s.kernel_height;
             Array x = random_array(kF32, s.num_in(), 36), y(kF32, size_t(s.images) * s.channels * ow * oh);
             std::vector<double> expected(y.size());
             for (size_t i = 0; i < y.size(); ++i) {
                 double sum = 0, largest = -INFINITY;
                 int inside = 0;
                 for (int t = 0; t < taps; ++t) {
                     const int64_t at =
                         s.at(int(i) / (ow * oh * s.channels), int(i) / (ow * oh) % s.channels,
                              int(i) / ow % oh, int(i) % ow, t / s.kernel_width, t % s.kernel_width);
                     if (at < 0) continue;
                     sum += x.get(size_t(at));
                     ++inside;
                     largest = std::max(largest, x.get(size_t(at)));
                 }
                 // Along one axis padding doesn't count, in two it does.
                 expected[i] = average ? sum / (flat ? inside : taps) : largest;
             }
             std::vector<std::pair<std::string, double>> fields = {
                 {"k0", s.kernel_width}, {"s0", s.stride_x}, {"p0", s.pad_x},
                 {"IW", s.width},        {"OW", ow},         {"np", double(y.size())}};
             if (!flat) {
                 for (const auto& field : std::vector<std::pair<std::string, double>>{{"k1", s.kernel_height},
                                                                                      {"s1", s.stride_y},
                                                                                      {"p1", s.pad_y},
                                                                                      {"IH", s.height},
                                                                                      {"OH", oh}})
                     fields.push_back(field);
             }
             session.kernel(name)
                 .add(ggml_arguments(flat ? "pool_1d" : "pool_2d", fields))
                 .add(x)
                 .add(y)
                 .groups({uint32_t(y.size() + 255) / 256, 1, 1}, {256, 1, 1});
             session.near(y, expected, 1e-6);
         }});
}

void add_top_k(Cases& cases) {
    const std::string name = "argsort/kernel_top_k_f32_i32";
    cases.push_back({"argsort", name, "", [=](Session& session) {
                         const int n = 777, rows = 3, k = 40;
                         Array x = random_array(kF32, n * rows, 37), y(kI32, k * rows);
                         std::vector<double> expected(y.size());
                         for (int r = 0; r < rows; ++r) {
                             std::vector<int> order(n);
                             std::iota(order.begin(), order.end(), 0);
                             std::ranges::sort(order, {}, [&](int i) { return -x.get(r * n + i); });
                             std::sort(order.begin(), order.begin() + k);
                             for (int i = 0; i < k; ++i) expected[r * k + i] = order[i];
                         }
                         session.kernel(name)
                             .add(ggml_arguments("top_k", {{"ne00", n},
                                                           {"ne01", rows},
                                                           {"ne02", 1},
                                                           {"ne03", 1},
                                                           {"nb01", 4 * n},
                                                           {"nb02", 4 * n * rows},
                                                           {"nb03", 4 * n * rows},
                                                           {"top_k", k}}))
                             .add(x)
                             .add(y)
                             .threadgroup(0, 1024)
                             .threadgroup(1, 16)
                             .threadgroup(2, 16)
                             .threadgroup(3, 16)
                             .groups({rows, 1, 1}, {256, 1, 1});
                         // The kernel gives the k largest in any order.
                         int32_t* out = y.as<int32_t>();
                         for (int r = 0; r < rows; ++r) std::sort(out + r * k, out + (r + 1) * k);
                         session.same(y, expected);
                     }});
}

void add_state_space_scan(Cases& cases) {
    const std::string name = "ssm/kernel_ssm_scan_f32";
    cases.push_back({"recurrence", name, "", [=](Session& session) {
                         const int states = 64, inner = 5, heads = 4, groups = 2, tokens = 7;
                         Array s0 = random_array(kF32, heads * inner * states, 38),
                               x = random_array(kF32, tokens * heads * inner, 39),
                               dt = random_array(kF32, tokens * heads, 40), a(kF32, heads),
                               b = random_array(kF32, tokens * groups * states, 41),
                               c = random_array(kF32, tokens * groups * states, 42), ids(kI32, 1),
                               out(kF32, x.size() + s0.size());
                         for (int h = 0; h < heads; ++h) a.set(h, -0.2 * (h + 1));
                         std::vector<double> expected(out.size());
                         double* state = expected.data() + x.size();  // the final state follows the outputs
                         for (size_t i = 0; i < s0.size(); ++i) state[i] = s0.get(i);
                         for (int t = 0; t < tokens; ++t) {
                             for (int row = 0; row < heads * inner; ++row) {
                                 const int h = row / inner, group = h / (heads / groups);
                                 const double step = std::log1p(std::exp(dt.get(t * heads + h)));
                                 for (int i = 0; i < states; ++i) {
                                     double& s = state[row * states + i];
                                     const int at = (t * groups + group) * states + i;
                                     s = s * std::exp(step * a.get(h)) +
                                         b.get(at) * x.get(t * heads * inner + row) * step;
                                     expected[t * heads * inner + row] += s * c.get(at);
                                 }
                             }
                         }
                         const double row = 4.0 * states;
                         const int simdgroups = states / 32;
                         session.kernel(name)
                             .add(ggml_arguments("ssm_scan", {{"d_state", states},
                                                              {"d_inner", inner},
                                                              {"n_head", heads},
                                                              {"n_group", groups},
                                                              {"n_seq_tokens", tokens},
                                                              {"n_seq_tokens_total", tokens},
                                                              {"n_seqs", 1},
                                                              {"K", 1},
                                                              {"s_off", 4.0 * double(x.size())},
                                                              {"nb00", 4},
                                                              {"nb01", row},
                                                              {"nb02", row * inner},
                                                              {"nb03", row * inner * heads},
                                                              {"nb10", 4},
                                                              {"nb11", 4 * inner},
                                                              {"nb12", 4 * inner * heads},
                                                              {"ns12", inner * heads},
                                                              {"nb13", 4 * inner * heads * tokens},
                                                              {"nb20", 4},
                                                              {"nb21", 4 * heads},
                                                              {"ns21", heads},
                                                              {"nb22", 4 * heads * tokens},
                                                              {"ne30", 1},
                                                              {"nb31", 4},
                                                              {"nb41", row},
                                                              {"nb42", row * groups},
                                                              {"ns42", states * groups},
                                                              {"nb43", row * groups * tokens},
                                                              {"nb51", row},
                                                              {"nb52", row * groups},
                                                              {"ns52", states * groups},
                                                              {"nb53", row * groups * tokens},
                                                              {"nb0", 4}}))
                             .add(s0)
                             .add(x)
                             .add(dt)
                             .add(a)
                             .add(b)
                             .add(c)
                             .add(ids)
                             .add(out)
                             .threadgroup(0, uint32_t(34 * 4 * simdgroups + 15) / 16 * 16)
                             .groups({inner, heads, 1}, {states, 1, 1});
                         session.near(out, expected, 1e-5);
                     }});
}

struct FunctionRow {
    const char* name;
    int number;  // the kernel's constant, OP_UNARY_NUM_...
    double (*reference)(double);
    double tolerance = 2e-6;
};

constexpr FunctionRow kFunctionRows[] = {
    {"sqr", 13, [](double x) { return x * x; }},
    {"sin", 15, [](double x) { return std::sin(x); }},
    {"cos", 16, [](double x) { return std::cos(x); }},
    {"tanh", 100, [](double x) { return std::tanh(x); }},
    {"relu", 101, [](double x) { return std::max(x, 0.0); }},
    {"sigmoid", 102, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"gelu", 103,
     [](double x) { return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * x * (1 + 0.044715 * x * x))); },
     1e-5},
    {"gelu_erf", 104, [](double x) { return 0.5 * x * (1 + std::erf(x * 0.70710678118654752440)); }, 1e-5},
    {"silu", 106, [](double x) { return x / (1 + std::exp(-x)); }},
    {"elu", 107, [](double x) { return x > 0 ? x : std::expm1(x); }},
    {"neg", 108, [](double x) { return -x; }},
    {"abs", 109, [](double x) { return std::fabs(x); }},
    {"step", 111, [](double x) { return double(x > 0); }},
    {"hardswish", 112, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    {"hardsigmoid", 113, [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    {"exp", 114, [](double x) { return std::exp(x); }},
    {"softplus", 115, [](double x) { return std::log1p(std::exp(x)); }},
    {"floor", 117, [](double x) { return std::floor(x); }},
    {"ceil", 118, [](double x) { return std::ceil(x); }},
    {"round", 119, [](double x) { return std::round(x); }},
    {"trunc", 120, [](double x) { return std::trunc(x); }},
};

void add_functions(Cases& cases, Type type, bool by_four) {
    const std::string types = type == kF32 ? "f32_f32" : "f16_f16",
                      name = "unary/kernel_unary_" + types + (by_four ? "_4" : "");
    for (const FunctionRow& row : kFunctionRows) {
        cases.push_back({"unary", name, row.name, [=, &row](Session& session) {
                             const int n = 300, rows = 3, units = by_four ? n / 4 : n;
                             Array x = uniform_array(type, n * rows, 43, -5, 5), y(type, n * rows);
                             std::vector<double> expected(y.size());
                             for (size_t i = 0; i < y.size(); ++i) expected[i] = row.reference(x.get(i));
                             const double line = double(size_bytes(type)) * n;
                             session.kernel(name, {{1200, int64_t(row.number)}, {1201, false}})
                                 .add(ggml_arguments("unary", {{"ne00", units},
                                                               {"ne01", rows},
                                                               {"ne02", 1},
                                                               {"ne03", 1},
                                                               {"nb01", line},
                                                               {"nb02", line * rows},
                                                               {"nb03", line * rows},
                                                               {"ne0", units},
                                                               {"ne1", rows},
                                                               {"ne2", 1},
                                                               {"ne3", 1},
                                                               {"nb1", line},
                                                               {"nb2", line * rows},
                                                               {"nb3", line * rows}}))
                                 .add(x)
                                 .add(y)
                                 .groups({uint32_t((units + 63) / 64 * rows), 1, 1}, {64, 1, 1});
                             session.near(y, expected, row.tolerance + rounding(type));
                         }});
    }
}

}  // namespace

Cases ggml_memory_cases() {
    Cases cases;
    for (const bool wide_index : {false, true}) {
        add_set_rows(cases, "f32", 0, wide_index);
        add_set_rows(cases, "f16", rounding(kF16), wide_index);
        add_set_rows(cases, "bf16", rounding(kBf16), wide_index);
        // Half a step of the largest of a block of 32, a little more where the scale is rounded too.
        add_set_rows(cases, "q8_0", 0.6 / 127, wide_index);
        add_set_rows(cases, "q5_0", 1.05 / 16, wide_index);
        add_set_rows(cases, "q5_1", 1.1 / 31, wide_index);
        add_set_rows(cases, "q4_0", 1.05 / 8, wide_index);
        add_set_rows(cases, "q4_1", 1.1 / 15, wide_index);
        add_set_rows(cases, "iq4_nl", 0.16, wide_index);
    }
    add_convolution(cases, kF32);
    add_convolution(cases, kF16);
    add_image_to_columns(cases, kF32);
    add_image_to_columns(cases, kF16);
    for (const bool flat : {false, true}) {
        add_pooling(cases, false, flat);
        add_pooling(cases, true, flat);
    }
    add_top_k(cases);
    add_state_space_scan(cases);
    add_functions(cases, kF32, false);
    add_functions(cases, kF32, true);
    add_functions(cases, kF16, false);
    return cases;
}

}  // namespace ingot::metal::conformance
