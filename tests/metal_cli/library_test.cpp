// `ingot metal list`, `dis`, `check`, `devices` and `cache`; libraries inside other files; broken libraries.
#include <gmock/gmock.h>

#include "metal_cli/program.h"

namespace ingot::metal::testing {
namespace {

using ::testing::HasSubstr;

class Library : public Program {
  protected:
    void SetUp() override { write_library("add.metallib", add_one_ir()); }

    const std::string run_ =
        " --kernel k --grid 1 --threads 1 --buffer 0=zeros:i32[1] --buffer 1=zeros:i32[1] ";
};

TEST_F(Library, ListShowsArgumentsAndVersions) {
    const std::string text = good("list add.metallib");
    EXPECT_THAT(text, HasSubstr("k  (AIR 2.8, Metal 4.0"));
    EXPECT_THAT(text, HasSubstr("buffer(1) device read_write float b1"));
    EXPECT_THAT(text, HasSubstr("1 of 1 kernels; file version 2.9, for macOS 26.2"));
    const auto kernels = json("list add.metallib --kernel 'k*'");
    ASSERT_EQ(1u, kernels.size());
    EXPECT_EQ("k", kernels[0]["name"]);
    EXPECT_EQ("2.8", kernels[0]["air"]);
    EXPECT_EQ(1, kernels[0]["arguments"][1]["slot"]);
    EXPECT_THAT(bad("list add.metallib --kernel 'z*'"), HasSubstr("none of 1 kernels matches 'z*'"));
}

TEST_F(Library, WithoutReflectionNamesAreListedAndTheArgumentsOfAFew) {
    std::vector<std::pair<std::string, std::string>> functions;
    for (int i = 0; i < 20; ++i) {
        const std::string name = "k" + std::to_string(i);
        std::string module = add_one_ir();
        for (size_t at = module.find("@k"); at != std::string::npos; at = module.find("@k", at + 2))
            module.replace(at, 2, "@" + name);
        functions.emplace_back(name, module);
    }
    const Bytes bytes = make_library(functions);
    write("many.metallib", {reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size()});
    EXPECT_THAT(good("list many.metallib"),
                ::testing::AllOf(HasSubstr("k19\n20 of 20 kernels"),
                                 HasSubstr("doesn't state the arguments of 20: ")));
    EXPECT_EQ(20u, json("list many.metallib").size());
    EXPECT_THAT(good("list many.metallib --kernel 'k1?'"), HasSubstr("buffer(1) device read_write float b1"));
}

TEST_F(Library, NamesOfAnyBytesAreShownHarmlessly) {
    const std::string name = "k\xff\x1b[31m";
    std::string module = add_one_ir();
    for (size_t at = module.find("@k"); at != std::string::npos; at = module.find("@k", at + 1))
        module.replace(at, 2, "@\"k\\FF\\1B[31m\"");
    const Bytes bytes = make_library({{name, module}});
    write("odd.metallib", {reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size()});
    EXPECT_THAT(good("list odd.metallib"),
                ::testing::AllOf(HasSubstr("\\x1b[31m"), ::testing::Not(HasSubstr("\x1b"))));
    const auto kernels = json("list odd.metallib");
    ASSERT_EQ(1u, kernels.size());
    EXPECT_EQ("k\xef\xbf\xbd\x1b[31m", kernels[0]["name"]);
}

TEST_F(Library, AnEmbeddedLibraryIsNamedByItsNumber) {
    write_library("other.metallib", kernel_ir(1, {}, "ret void"));
    const std::string first = read("add.metallib"), second = read("other.metallib");
    // The magic alone is no library.
    write("both.dylib", "\xCF\xFA\xED\xFE MTLB and MTLB " + first + std::string(100, 'x') + second + "MTLB");
    EXPECT_THAT(good("list both.dylib:0"), HasSubstr("b1"));
    EXPECT_THAT(good("list both.dylib:1"), ::testing::Not(HasSubstr("b1")));
    good("run both.dylib:0" + run_);
    EXPECT_THAT(good("dis both.dylib:0 --kernel k"), HasSubstr("add i32 %v, 1"));
    EXPECT_THAT(good("check both.dylib:1"), HasSubstr("1 of 1 kernels lowered"));
    EXPECT_THAT(bad("list both.dylib"), HasSubstr("embeds 2 Metal libraries, choose one as 'both.dylib:0'"));
    EXPECT_EQ(1, metal("list both.dylib:2").status);
    write("none.dylib", "no library in here");
    EXPECT_THAT(bad("list none.dylib"), HasSubstr("embeds none"));
}

TEST_F(Library, DisPrintsTheModuleAfterAPass) {
    EXPECT_THAT(good("dis add.metallib --kernel k"), HasSubstr("define void @k"));
    EXPECT_THAT(good("dis add.metallib --kernel k --print-air-after=make-entry"),
                HasSubstr("define void @ingot_entry()"));
    EXPECT_THAT(bad("dis add.metallib --kernel k --print-air-after=magic"),
                HasSubstr("no pass 'magic'; there are specialise-constants"));
}

TEST_F(Library, ASecondStartDoesNotCompile) {
    EXPECT_TRUE(json("run add.metallib" + run_)["compiled"].get<bool>());
    EXPECT_FALSE(json("run add.metallib" + run_)["compiled"].get<bool>());
    EXPECT_TRUE(json("run add.metallib" + run_ + "--no-cache")["compiled"].get<bool>());
    EXPECT_TRUE(json("run add.metallib" + run_ + "--layout rowmajor")["compiled"].get<bool>());
}

TEST_F(Library, DevicesAndCacheShowFolderAndSizeAndClearRemovesAll) {
    EXPECT_THAT(good("devices"), HasSubstr("cache: " + folder_.file("cache") + ", 0 entries"));
    good("run add.metallib" + run_);
    EXPECT_THAT(good("devices"), HasSubstr("LLVM 19"));
    EXPECT_THAT(good("cache"), HasSubstr(", 1 entries, 0.0 MiB"));
    const auto device = json("devices");
    EXPECT_EQ(1, device["cache"]["entries"]);
    EXPECT_GT(device["cache"]["bytes"].get<int>(), 500);
    EXPECT_EQ(32, device["simd_width"]);
    EXPECT_THAT(good("cache --clear"), HasSubstr("removed 1 entries"));
    EXPECT_THAT(good("cache"), HasSubstr("0 entries"));
    EXPECT_TRUE(json("run add.metallib" + run_)["compiled"].get<bool>());
    const Outcome off = metal("cache", "INGOT_METAL_CACHE=off");
    EXPECT_THAT(off.output, HasSubstr("cache: off"));
}

TEST_F(Library, ProcessesShareTheCache) {
    const std::string one =
        "'" INGOT_PROGRAM "' metal run add.metallib" + run_ + " > /dev/null || echo failed; ";
    const Outcome all =
        metal("run add.metallib" + run_, "for i in 1 2 3 4; do (" + one + one + ") & done; wait; ");
    EXPECT_EQ(0, all.status);
    EXPECT_THAT(all.output, ::testing::Not(HasSubstr("failed")));
    EXPECT_THAT(good("cache"), HasSubstr(", 1 entries"));
}

TEST_F(Library, AFullDiskIsWarnedOfAndNothingElse) {
    // A limit on the size of files fails writes as a full disk does.
    const Outcome run = metal("run add.metallib" + run_, "trap '' XFSZ; ulimit -f 0;");
    EXPECT_EQ(0, run.status) << run.output;
    EXPECT_THAT(run.output, HasSubstr("can't write to the cache folder"));
    EXPECT_THAT(run.output, HasSubstr("Ingot virtual Metal device, k: "));
    EXPECT_THAT(good("cache"), HasSubstr("0 entries"));
}

TEST_F(Library, TruncatedLibrariesAreRefused) {
    const std::string whole = read("add.metallib");
    for (size_t i = 0; i < 50; ++i) {
        write("cut.metallib", whole.substr(0, whole.size() * i / 50));
        EXPECT_NE("", bad("list cut.metallib")) << i;
    }
}

TEST_F(Library, BrokenModulesAreRefusedByEachCommand) {
    std::string module("BC\xC0\xDE", 4);
    for (int i = 0; i < 2000; ++i) module += char(i * 31 + i / 7);
    write_library("broken.metallib", module);
    for (const char* command :
         {"list broken.metallib", "dis broken.metallib --kernel k", "check broken.metallib"}) {
        EXPECT_NE("", bad(command)) << command;
    }
    EXPECT_NE("", bad("run broken.metallib" + run_));
    write_library("foreign.metallib", kernel_ir(1, {}, "%r = call i32 @system(ptr null)\nret void",
                                                "declare i32 @system(ptr)\n"));
    EXPECT_THAT(bad("run foreign.metallib" + run_), HasSubstr("'system', which is no function of Metal"));
}

TEST_F(Library, TrustedFilesNeedNoChildProcess) {
    good("run add.metallib --trust" + run_);
    EXPECT_EQ(0, metal("run add.metallib --no-cache" + run_, "INGOT_METAL_TRUST=1").status);
}

}  // namespace
}  // namespace ingot::metal::testing
