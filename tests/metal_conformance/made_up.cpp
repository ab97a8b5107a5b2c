#include "metal_conformance/made_up.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "metal/air/library_file.h"
#include "metal/check/session.h"
#include "metal_conformance/array.h"
#include "metal_conformance/corpora.h"

namespace ingot::metal::conformance {
namespace {

using std::chrono::seconds;
using Random = std::mt19937;

struct LibraryRow {
    const char *name, *path;
};
constexpr LibraryRow kLibraries[] = {{"mlx26", "metal/mlx-26.0/mlx.metallib"},
                                     {"mlx14", "metal/mlx-14.0/mlx.metallib"},
                                     {"torch0", "metal/torch-2.15.0/libtorch_cpu.dylib:0"},
                                     {"torch1", "metal/torch-2.15.0/libtorch_cpu.dylib:1"}};

constexpr size_t kBufferBytes = 256 << 10;
constexpr uint32_t kThreadgroupBytes = 8 << 10;
// Arguments are made up until a launch does nothing that leaves its result open.
constexpr int kAttempts = 16;
constexpr Size3 kGroups[] = {{128, 1, 1}, {32, 2, 2}, {32, 1, 1}, {64, 1, 1}, {256, 1, 1},
                             {32, 4, 1},  {16, 8, 1}, {33, 1, 1}, {7, 5, 3}};

template <typename T, size_t kSize>
const T& any_of(const T (&values)[kSize], Random& random) {
    return values[random() % kSize];
}

// What a buffer of an argument's type holds, by the type's name. Also of types as PyTorch's sources spell
// them: decltype(... declval<float>() ...).
Type element_type(const Argument& argument) {
    static constexpr std::pair<std::string_view, Type> kNames[] = {
        {"char", Type::kI8},    {"uchar", Type::kU8},  {"short", Type::kI16},
        {"ushort", Type::kU16}, {"int", Type::kI32},   {"uint", Type::kU32},
        {"long", Type::kI64},   {"ulong", Type::kU64}, {"bool", Type::kBool}};
    for (const auto& [name, type] : kNames) {
        if (argument.type_name == name) return type;
    }
    const auto names = [&](const char* part) { return argument.type_name.find(part) != std::string::npos; };
    if (names("bfloat")) return Type::kBf16;
    if (names("half")) return Type::kF16;
    if (names("float")) return Type::kF32;
    return Type::kI32;  // structs: whatever numbers they are made of
}

// Numbers that are sizes, strides or indices as likely as not stay small.
Array contents(const Argument& argument, Random& random) {
    static constexpr int kSizes[] = {0, 1, 1, 2, 2, 3, 4, 8, 16, 32, 64};
    // PyTorch passes codes of types in vectors, and a code without a type gives a variable no value.
    static constexpr int kSmall[] = {0, 1, 2, 3, 4};
    const bool codes = argument.type_name.starts_with("uint") && argument.type_name != "uint";
    const Type type = element_type(argument);
    const bool few = argument.in_constant_space || argument.reference_size_bytes != 0;
    Array array(type, (few ? 4096 : kBufferBytes) / size_bytes(type));
    const bool any_bits = !few && size_bytes(type) <= 4 && random() % 2 == 0;
    const uint32_t limit = 1u << random() % 4;  // of what large buffers of integers hold
    const auto size = [&] { return codes ? any_of(kSmall, random) : any_of(kSizes, random); };
    const int same = random() % 2 == 0 ? size() : -1;
    for (size_t i = 0; i < array.size(); ++i) {
        const uint32_t bits = random();
        if (is_float(type)) {
            array.set(i, (double(bits) / 0x1p31 - 1) * 2);
        } else if (type == Type::kBool) {
            array.set(i, bits & 1);
        } else if (few) {
            array.set(i, same >= 0 ? same : size());
        } else {
            array.set(i, any_bits ? bits >> (32 - 8 * size_bytes(type)) : bits % limit);
        }
    }
    return array;
}

ConstantValue constant_value(const FunctionConstant& constant, Random& random) {
    static constexpr int64_t kSizes[] = {1, 1, 2, 4, 8, 16, 32};
    if (constant.type_name == "bool") return random() % 2 == 0;
    if (constant.type_name == "float" || constant.type_name == "half") return 0.5f;
    return any_of(kSizes, random);
}

struct Arguments {
    std::vector<std::pair<const Argument*, Array>> buffers;  // by slot
    Launch launch;

    Arguments(const KernelInfo& info, const Kernel& kernel, Random& random) {
        for (const Argument& argument : info.arguments) {
            if (is_buffer(argument)) buffers.emplace_back(&argument, contents(argument, random));
            if (argument.kind == ArgumentKind::kThreadgroup) {
                launch.threadgroup_bytes[argument.slot] = kThreadgroupBytes;
            }
        }
        do {
            launch.group_threads = any_of(kGroups, random);
        } while (launch.group_threads.count() > kernel.info.max_threads_per_threadgroup);
        const Size3& group = launch.group_threads;
        launch.grid_threads = {group.x * uint32_t(1 + random() % 3), group.y * uint32_t(1 + random() % 2),
                               group.z};
        launch.max_workers = 1;
    }

    // A launch on a copy of the memory.
    Result<LaunchReport> run(Executor& executor, const Kernel& kernel, ExecutorKind kind,
                             std::vector<Array>& memory) {
        bind(memory);
        launch.executor = kind;
        launch.deadline = std::chrono::steady_clock::now() + seconds(20);
        return executor.run(kernel, launch);
    }

    Result<check::Outcome> check(Executor& executor, const Kernel& kernel) {
        std::vector<Array> memory;
        bind(memory);
        launch.executor = ExecutorKind::kFibers;
        launch.deadline = std::chrono::steady_clock::now() + seconds(2);
        check::Request request;
        INGOT_ASSIGN(request.checkers, check::parse_checkers("default"));
        return check::run_checked(executor, kernel, launch, request);
    }

  private:
    void bind(std::vector<Array>& memory) {
        memory.clear();
        for (const auto& [argument, array] : buffers) memory.push_back(array);
        for (size_t i = 0; i < buffers.size(); ++i) {
            launch.buffers[buffers[i].first->slot] = {memory[i].data(), memory[i].num_bytes()};
        }
    }
};

// Why executors may differ; empty if they may not.
std::string what_leaves_it_open(const check::Outcome& outcome) {
    if (outcome.report.status == LaunchStatus::kTimeLimit) return "takes long";
    if (outcome.report.status != LaunchStatus::kDone) return "faults";
    for (const check::Finding& finding : outcome.findings) {
        using enum check::FindingKind;
        if (finding.kind == kUnusedBinding || finding.kind == kSmallBuffer) continue;
        return std::string(check::facts_of(finding.kind).name);
    }
    return {};
}

// Sums may be ordered differently, and functions have another error: a share of the buffer's largest value.
std::string difference(const Array& expected, const Array& actual) {
    double largest = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double value = std::fabs(expected.get(i));
        if (std::isfinite(value)) largest = std::max(largest, value);
    }
    const double allowed = is_float(expected.type()) ? largest * (4 * rounding(expected.type()) + 1e-5) : 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double a = expected.get(i), b = actual.get(i);
        if (a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= allowed) continue;
        return fmt::format("element {} is {} on fibers and {} on vectors; {} allowed", i, a, b, allowed);
    }
    return {};
}

Array read_as(Type type, const Array& array) {
    Array other(type, array.num_bytes() / size_bytes(type));
    std::memcpy(other.data(), array.as<std::byte>(), other.num_bytes());
    return other;
}

// A buffer of void holds floats of some type, or what is no float and has to be the same.
std::string difference(const Argument& argument, const Array& expected, const Array& actual) {
    if (argument.type_name == "void") {
        for (const Type type : {Type::kF32, Type::kF16, Type::kBf16}) {
            if (difference(read_as(type, expected), read_as(type, actual)).empty()) return {};
        }
    }
    return difference(expected, actual);
}

class MadeUpTest : public testing::Test {
  public:
    MadeUpTest(const LibraryFile& library, const LibraryFunction& function, uint32_t seed)
        : library_(library), function_(function), seed_(seed) {}
    void TestBody() override;

  private:
    // From the code, where the library doesn't list them.
    Result<KernelInfo> reflected() const {
        auto info = library_.reflect(function_);
        if (info || info.error().kind != ErrorKind::kNotFound) return info;
        INGOT_ASSIGN(Compiler * compiler, metal::compiler());
        return compiler->inspect(function_.bitcode, function_.name, {});
    }
    Result<std::shared_ptr<const Kernel>> compiled(const Constants& constants, bool watched) const {
        INGOT_ASSIGN(Compiler * compiler, metal::compiler());
        CompileOptions options;
        options.constants = constants;
        options.instrument = watched;
        return compiler->compile(function_.bitcode, function_.name, options);
    }

    const LibraryFile& library_;
    const LibraryFunction& function_;
    const uint32_t seed_;
};

void MadeUpTest::TestBody() {
    const auto info = reflected();
    ASSERT_TRUE(info) << info.error().describe();
    Random random(seed_);
    Constants constants;
    for (const FunctionConstant& constant : info->constants) {
        constants.by_index[constant.index] = constant_value(constant, random);
    }
    const auto watched = compiled(constants, true);
    if (!watched && watched.error().kind == ErrorKind::kUnsupported)
        GTEST_SKIP() << watched.error().describe();
    ASSERT_TRUE(watched) << watched.error().describe();
    const auto executor = make_fiber_executor();
    std::string open;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        Arguments arguments(*info, **watched, random);
        const auto outcome = arguments.check(*executor, **watched);
        ASSERT_TRUE(outcome) << outcome.error().describe();
        open = what_leaves_it_open(*outcome);
        if (!open.empty()) continue;
        const auto kernel = compiled(constants, false);
        ASSERT_TRUE(kernel) << kernel.error().describe();
        std::vector<Array> expected, actual;
        const auto fibers = arguments.run(*executor, **kernel, ExecutorKind::kFibers, expected);
        const auto vectors = arguments.run(*executor, **kernel, ExecutorKind::kVector, actual);
        ASSERT_TRUE(fibers && vectors);
        if (vectors->executor != ExecutorKind::kVector) GTEST_SKIP() << "no vectors: " << vectors->refusal;
        EXPECT_EQ(LaunchStatus::kDone, fibers->status) << fibers->message;
        EXPECT_EQ(LaunchStatus::kDone, vectors->status) << vectors->message;
        for (size_t i = 0; i < actual.size(); ++i) {
            const Argument& argument = *arguments.buffers[i].first;
            EXPECT_EQ("", difference(argument, expected[i], actual[i]))
                << "buffer " << argument.slot << " of " << argument.type_name << ", groups of "
                << arguments.launch.group_threads.x << " x " << arguments.launch.group_threads.y << " x "
                << arguments.launch.group_threads.z << ", attempt " << attempt;
            EXPECT_TRUE(actual[i].tail_is_untouched() && expected[i].tail_is_untouched()) << argument.slot;
        }
        RecordProperty("kernels", std::string(function_.name));
        return;
    }
    GTEST_SKIP() << "not found: arguments that leave nothing open; the last: " << open;
}

}  // namespace

void register_made_up_tests() {
    const char *count = std::getenv("INGOT_MADE_UP"), *seed = std::getenv("INGOT_MADE_UP_SEED");
    if (count == nullptr) return;
    const auto first_seed = uint32_t(seed == nullptr ? 0 : std::strtoul(seed, nullptr, 10));
    static std::vector<std::unique_ptr<LibraryFile>> libraries;  // tests refer to them
    for (const LibraryRow& row : kLibraries) {
        auto library = LibraryFile::open(cache_folder() + row.path);
        if (!library) continue;  // PyTorch's is fetched for complete runs alone
        libraries.push_back(std::make_unique<LibraryFile>(*std::move(library)));
        std::vector<const LibraryFunction*> chosen;
        std::vector<const LibraryFunction*> kernels;
        for (const LibraryFunction& function : libraries.back()->functions()) {
            if (function.type == FunctionType::kKernel) kernels.push_back(&function);
        }
        std::ranges::sample(kernels, std::back_inserter(chosen), std::atol(count), Random(first_seed));
        for (const LibraryFunction* function : chosen) {
            testing::RegisterTest((std::string("madeup.") + row.name).c_str(),
                                  std::string(function->name).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                                  [&library = *libraries.back(), function, first_seed]() -> testing::Test* {
                                      return new MadeUpTest(library, *function, first_seed);
                                  });
        }
    }
}

}  // namespace ingot::metal::conformance
