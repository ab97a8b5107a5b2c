// Compiled kernels on disk: what a second start finds, what makes a kernel another one, and entries that are
// of no use. Each DeviceCompiler here stands for a process's start.
#include <cstring>
#include <fstream>

#include <gmock/gmock.h>

#include "base/disk_cache.h"
#include "metal/exec/device_compiler.h"
#include "metal/exec/local_compiler.h"
#include "metal/ir_text.h"
#include "metal/support.h"
#include "support/run_program.h"

namespace ingot::metal::testing {
namespace {

// b0[i] = value
std::string store_value(int value) {
    return kernel_ir(1, {"thread_position_in_grid"},
                     "%i = zext i32 %thread_position_in_grid to i64\n"
                     "%p = getelementptr i32, ptr addrspace(1) %b0, i64 %i\n"
                     "store i32 " +
                         std::to_string(value) + ", ptr addrspace(1) %p, align 4\nret void");
}

template <typename T>
CompileOptions with(T CompileOptions::* option, T value) {
    CompileOptions options;
    options.*option = value;
    return options;
}

class ObjectCache : public ::testing::Test {
  protected:
    std::unique_ptr<DeviceCompiler> start() {
        const auto local = local_compiler();
        EXPECT_TRUE(local) << local.error().describe();
        return std::make_unique<DeviceCompiler>(**local, compiler_worker_program().value(),
                                                folder_.file("objects"));
    }
    std::shared_ptr<const Kernel> compile(DeviceCompiler& compiler, const std::string& ir,
                                          const CompileOptions& options = {}) {
        auto kernel = compiler.compile(std::as_bytes(std::span(ir)), "k", options);
        EXPECT_TRUE(kernel) << kernel.error().describe();
        return kernel.value_or(nullptr);
    }
    void expect_stores(const std::shared_ptr<const Kernel>& kernel, uint32_t value) {
        std::vector<uint32_t> out(40);
        const auto report = Dispatch(kernel).buffer(0, out).threads_of_grid({40, 1, 1}, {32, 1, 1});
        EXPECT_EQ(LaunchStatus::kDone, report.status) << report.message;
        EXPECT_EQ(std::vector<uint32_t>(40, value), out);
    }
    std::filesystem::path only_entry() {
        return std::filesystem::directory_iterator(folder_.file("objects"))->path();
    }

    test::TemporaryFolder folder_;
};

TEST_F(ObjectCache, ASecondStartDoesNotCompile) {
    const auto first = start();
    const auto compiled = compile(*first, store_value(7));
    EXPECT_FALSE(compiled->from_cache);
    expect_stores(compiled, 7);
    const auto second = start();
    const uint64_t before = second->counts().compiled;
    const auto loaded = compile(*second, store_value(7));
    EXPECT_EQ(before, second->counts().compiled);
    EXPECT_EQ(1u, second->counts().from_cache);
    EXPECT_TRUE(loaded->from_cache);
    expect_stores(loaded, 7);
}

TEST_F(ObjectCache, ALoadedKernelKnowsAllThatACompiledOneKnows) {
    const LibraryFunction* function = mlx_library().find("sdpa_vector_float16_t_64_64");
    ASSERT_NE(nullptr, function);
    CompileOptions options;
    for (uint32_t index = 20; index < 27; ++index) options.constants.by_index[index] = false;
    const auto compiled = start()->compile(function->bitcode, function->name, options);
    const auto loaded = start()->compile(function->bitcode, function->name, options);
    ASSERT_TRUE(compiled && loaded);
    EXPECT_TRUE((*loaded)->from_cache);
    const Kernel &a = **compiled, &b = **loaded;
    EXPECT_EQ(a.info.name, b.info.name);
    ASSERT_EQ(a.info.arguments.size(), b.info.arguments.size());
    for (size_t i = 0; i < a.info.arguments.size(); ++i) {
        EXPECT_EQ(a.info.arguments[i].name, b.info.arguments[i].name);
        EXPECT_EQ(a.info.arguments[i].slot, b.info.arguments[i].slot);
        EXPECT_EQ(a.info.arguments[i].access, b.info.arguments[i].access);
        EXPECT_EQ(a.info.arguments[i].guard, b.info.arguments[i].guard);
    }
    ASSERT_EQ(a.info.constants.size(), b.info.constants.size());
    EXPECT_EQ(a.info.static_threadgroup_bytes, b.info.static_threadgroup_bytes);
    EXPECT_GT(b.info.static_threadgroup_bytes, 0u);
    EXPECT_EQ(a.meets, b.meets);
    EXPECT_EQ(a.private_bytes, b.private_bytes);
    EXPECT_EQ(a.matrix_operations, b.matrix_operations);
}

TEST_F(ObjectCache, AnotherModuleConstantOrOptionIsAnotherKernel) {
    const auto compiler = start();
    const auto expect_compiled = [&](const char* what, const std::string& ir, const CompileOptions& options) {
        EXPECT_FALSE(compile(*compiler, ir, options)->from_cache) << what;
        EXPECT_TRUE(compile(*compiler, ir, options)->from_cache) << what;
    };
    expect_compiled("first", store_value(1), {});
    expect_compiled("module", store_value(2), {});
    expect_compiled("layout", store_value(1), with(&CompileOptions::layout, CooperativeLayout::kScrambled));
    expect_compiled("reconvergence", store_value(1), with(&CompileOptions::reconverge, false));
    CompileOptions constants;
    constants.constants.by_index[3] = true;
    expect_compiled("constant", store_value(1), constants);
    constants.constants.by_index[3] = false;
    expect_compiled("its value", store_value(1), constants);
    constants.constants.by_index[3] = int64_t{0};
    expect_compiled("its type", store_value(1), constants);
}

TEST_F(ObjectCache, WithoutTheCacheEachPipelineIsCompiled) {
    const auto compiler = start();
    EXPECT_FALSE(compile(*compiler, store_value(1), with(&CompileOptions::use_cache, false))->from_cache);
    EXPECT_FALSE(compile(*compiler, store_value(1), with(&CompileOptions::use_cache, false))->from_cache);
    EXPECT_FALSE(std::filesystem::exists(folder_.file("objects")));
}

TEST_F(ObjectCache, AnEntryOfAnOlderAbiIsCompiledAnewAndReplaced) {
    compile(*start(), store_value(5));
    const std::string key = only_entry().stem().string();
    DiskCache files(folder_.file("objects"));
    auto translation = files.find(key);
    ASSERT_TRUE(translation);
    uint32_t abi = 0;
    std::memcpy(&abi, translation->data(), sizeof abi);
    --abi;
    std::memcpy(translation->data(), &abi, sizeof abi);
    files.store(key, *translation);
    const auto kernel = compile(*start(), store_value(5));
    EXPECT_FALSE(kernel->from_cache);
    expect_stores(kernel, 5);
    EXPECT_TRUE(compile(*start(), store_value(5))->from_cache);
}

TEST_F(ObjectCache, ADamagedEntryIsCompiledAnew) {
    compile(*start(), store_value(5));
    {
        std::fstream file(only_entry(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(400);
        file.write("damage", 6);
    }
    const auto kernel = compile(*start(), store_value(5));
    EXPECT_FALSE(kernel->from_cache);
    expect_stores(kernel, 5);
}

TEST_F(ObjectCache, ATranslationCutAnywhereIsNoKernel) {
    const auto compiler = start();
    const std::string ir = store_value(5);
    const auto whole = compiler->translate(std::as_bytes(std::span(ir)), "k", {});
    ASSERT_TRUE(whole);
    for (size_t size = 0; size < whole->size(); size += 1 + size / 20) {
        EXPECT_FALSE(compiler->load(std::span(*whole).first(size))) << size;
    }
}

TEST_F(ObjectCache, TheKeyNamesBuildLlvmAndProcessor) {
    const std::string identity = start()->identity();
    EXPECT_NE(std::string::npos, identity.find("LLVM 19")) << identity;
    EXPECT_NE(std::string::npos, identity.find("+")) << "processor features: " << identity;
    // 40 hexadecimal digits of the linker's build ID.
    EXPECT_THAT(identity, ::testing::ContainsRegex("abi [0-9]+, [0-9a-f]{40}, "));
}

}  // namespace
}  // namespace ingot::metal::testing
