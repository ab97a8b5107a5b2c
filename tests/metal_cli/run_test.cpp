// `ingot metal run`, flag by flag.
#include <gmock/gmock.h>

#include "metal_cli/program.h"

namespace ingot::metal::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Run : public Program {
  protected:
    void SetUp() override {
        write_library("add.metallib", add_one_ir());
        write_library("copy.metallib", copy_bytes_ir());
    }
    // Copies the bytes of what --buffer or --bytes flag `source` binds to slot 1, into a file of u8[count].
    std::string copied(const std::string& source, size_t count) {
        good("run copy.metallib --kernel k --grid-threads " + std::to_string(count) +
             " --threads 32 --buffer '0=out:copy.npy:u8[" + std::to_string(count) + "]' " + source);
        const std::string file = read("copy.npy");
        return file.size() < count ? "" : file.substr(file.size() - count);
    }
};

TEST_F(Run, ReadsAndWritesNpyFilesAsNumpyDoes) {
    write("in.npy", numpy_file("<i4", "(4,)", bytes_of<int32_t>({1, 2, 3, 40})));
    const std::string output = good(
        "run add.metallib --kernel k --grid 2 --threads 2 --buffer 0=out:result.npy:i32[2,2] --buffer "
        "1=in.npy");
    EXPECT_EQ(numpy_file("<i4", "(2, 2)", bytes_of<int32_t>({2, 3, 4, 41})), read("result.npy"));
    EXPECT_THAT(output, StartsWith("Ingot virtual Metal device, k: "));
    EXPECT_THAT(output, HasSubstr(" ms on "));
}

TEST_F(Run, GridCountsThreadgroupsAndGridThreadsThreads) {
    write("in.npy", numpy_file("<i4", "(6,)", bytes_of<int32_t>({0, 0, 0, 0, 0, 0})));
    const auto ones = [&](const std::string& grid) {
        good("run add.metallib --kernel k " + grid + " --buffer 0=out:r.npy:i32[6] --buffer 1=in.npy");
        const std::string data = read("r.npy").substr(read("r.npy").size() - 24);
        return std::count(data.begin(), data.end(), '\1');
    };
    EXPECT_EQ(6, ones("--grid 3,1,1 --threads 2,1,1"));
    EXPECT_EQ(3, ones("--grid-threads 3 --threads 2"));
    EXPECT_THAT(bad("run add.metallib --kernel k --threads 2"),
                HasSubstr("--grid or --grid-threads is needed"));
}

TEST_F(Run, InoutReadsOneFileAndWritesAnother) {
    write("in.npy", numpy_file("<i4", "(2,)", bytes_of<int32_t>({1, 2})));
    write("b.npy", numpy_file("<i4", "(2,)", bytes_of<int32_t>({10, 20})));
    good(
        "run add.metallib --kernel k --grid-threads 1 --threads 1 --buffer 0=inout:in.npy:out.npy --buffer "
        "1=b.npy");
    EXPECT_EQ(bytes_of<int32_t>({11, 2}), read("out.npy").substr(read("out.npy").size() - 8));
    EXPECT_EQ(bytes_of<int32_t>({1, 2}), read("in.npy").substr(read("in.npy").size() - 8));
}

TEST_F(Run, BuffersAreZerosOrNormalValuesOfASeed) {
    EXPECT_EQ(std::string(16, '\0'), copied("--buffer 1=zeros:f32[4]", 16));
    const std::string a = copied("--buffer 1=randn:f32[64]:seed=1", 256);
    EXPECT_EQ(a, copied("--buffer 1=randn:f32[64]:seed=1", 256));
    EXPECT_NE(a, copied("--buffer 1=randn:f32[64]:seed=2", 256));
    double sum = 0, squares = 0;
    for (size_t i = 0; i < 64; ++i) {
        float value = 0;
        std::memcpy(&value, a.data() + 4 * i, 4);
        sum += value;
        squares += double(value) * value;
    }
    EXPECT_NEAR(0, sum / 64, 0.5);
    EXPECT_NEAR(1, squares / 64, 0.6);
}

TEST_F(Run, HalfIsF16InFilesAndBfloatIsU16) {
    // 1.5 is 0x3E00 as half and 0x3FC0 as bfloat.
    EXPECT_EQ(bytes_of<uint16_t>({0x3E00, 0xC000}), copied("--bytes 1=f16:1.5,-2", 4));
    EXPECT_EQ(bytes_of<uint16_t>({0x3FC0, 0xC000}), copied("--bytes 1=bf16:1.5,-2", 4));
    const auto header_of = [&](const std::string& type) {
        good("run copy.metallib --kernel k --grid-threads 2 --threads 1 --buffer '0=out:x.npy:" + type +
             "[1]' --buffer 1=zeros:u8[2]");
        return read("x.npy");
    };
    EXPECT_THAT(header_of("f16"), HasSubstr("'descr': '<f2'"));
    EXPECT_THAT(header_of("bf16"), HasSubstr("'descr': '<u2'"));
    write("h.npy", numpy_file("<f2", "(2,)", bytes_of<uint16_t>({0x3E00, 0x1234})));
    EXPECT_EQ(bytes_of<uint16_t>({0x3E00, 0x1234}), copied("--buffer 1=h.npy", 4));
}

TEST_F(Run, BytesAreListsOfAnyType) {
    EXPECT_EQ(bytes_of<int32_t>({1024}), copied("--bytes 1=i32:1024", 4));
    EXPECT_EQ(bytes_of<int64_t>({9, 1}), copied("--bytes 1=i64:9,1", 16));
    EXPECT_EQ(bytes_of<int64_t>({-1, INT64_MAX}), copied("--bytes 1=i64:-1,9223372036854775807", 16));
    EXPECT_EQ(bytes_of<uint64_t>({UINT64_MAX}), copied("--bytes 1=u64:18446744073709551615", 8));
    EXPECT_EQ(bytes_of<uint8_t>({255, 0}), copied("--bytes 1=u8:255,0", 2));
    EXPECT_EQ(bytes_of<float>({0.5f}), copied("--bytes 1=f32:0.5", 4));
    const std::string run = "run copy.metallib --kernel k --grid 1 --threads 1 --buffer 0=zeros:u8[1] ";
    EXPECT_THAT(bad(run + "--bytes 1=i32:ten"), HasSubstr("'ten' is no number"));
    EXPECT_THAT(bad(run + "--bytes 1=i32:3x"), HasSubstr("'3x' is no number"));
    EXPECT_THAT(bad(run + "--bytes 1=u8:256"), HasSubstr("'256' doesn't fit u8"));
    EXPECT_THAT(bad(run + "--bytes 1=i31:1"), HasSubstr("no element type 'i31'; there are f32"));
    EXPECT_THAT(bad(run + "--bytes 31=i32:1"), HasSubstr("the last slot is 30"));
}

// The size of threadgroup memory can't be seen by a kernel; its addresses can.
TEST_F(Run, ThreadgroupMemoryHasTheLengthAskedFor) {
    write_library(
        "shared.metallib",
        "define void @k(ptr addrspace(1) %b0, ptr addrspace(3) %x, ptr addrspace(3) %y) {\n"
        "%a = ptrtoint ptr addrspace(3) %x to i64\n%b = ptrtoint ptr addrspace(3) %y to i64\n"
        "%d = sub i64 %b, %a\nstore i64 %d, ptr addrspace(1) %b0\nret void\n}\n"
        "!air.kernel = !{!0}\n!0 = !{ptr @k, !1, !5}\n!1 = !{}\n"
        "!2 = !{i32 0, !\"air.buffer\", !\"air.location_index\", i32 0, i32 1, !\"air.read_write\", "
        "!\"air.address_space\", i32 1}\n"
        "!3 = !{i32 1, !\"air.buffer\", !\"air.location_index\", i32 0, i32 1, !\"air.read_write\", "
        "!\"air.address_space\", i32 3}\n"
        "!4 = !{i32 2, !\"air.buffer\", !\"air.location_index\", i32 1, i32 1, !\"air.read_write\", "
        "!\"air.address_space\", i32 3}\n!5 = !{!2, !3, !4}\n");
    good(
        "run shared.metallib --kernel k --grid 1 --threads 1 --threadgroup 0=4096 --threadgroup 1=16 "
        "--buffer '0=out:d.npy:i64[1]'");
    EXPECT_EQ(bytes_of<int64_t>({4096}), read("d.npy").substr(read("d.npy").size() - 8));
    const std::string run =
        "run shared.metallib --kernel k --grid 1 --threads 1 --buffer 0=zeros:i64[1] --threadgroup ";
    EXPECT_THAT(bad(run + "0=40000 --threadgroup 1=16"), HasSubstr("bytes of threadgroup memory"));
    EXPECT_THAT(bad(run + "0=100"), HasSubstr("'0=100': a multiple of 16 bytes is accepted"));
    EXPECT_THAT(bad(run + "1=16"), HasSubstr("nothing is bound to threadgroup(0) ''"));
}

TEST_F(Run, ConstantsAreGivenByIndexOrNameAndRequired) {
    write_library(
        "constant.metallib",
        kernel_ir(1, {},
                  "%v = load i32, ptr addrspace(2) @size\nstore i32 %v, ptr addrspace(1) %b0\nret void",
                  "@size = external addrspace(2) externally_initialized constant i32, section "
                  "\"air.fc_initializer\"\n!air.function_constants = !{!100}\n"
                  "!100 = !{ptr addrspace(2) @size, !\"int\", !\"size\", i32 3, i1 true}\n"));
    const std::string run =
        "run constant.metallib --kernel k --grid 1 --threads 1 --buffer '0=out:c.npy:i32[1]' ";
    good(run + "--constant 3=int:7");
    EXPECT_EQ(bytes_of<int32_t>({7}), read("c.npy").substr(read("c.npy").size() - 4));
    good(run + "--constant size=int:-8");
    EXPECT_EQ(bytes_of<int32_t>({-8}), read("c.npy").substr(read("c.npy").size() - 4));
    EXPECT_THAT(bad(run), HasSubstr("function constants without a value: int size (index 3)"));
    EXPECT_THAT(bad(run + "--constant 3=bool:maybe"), HasSubstr("a bool is true or false"));
    EXPECT_THAT(bad(run + "--constant 3=double:1"), HasSubstr("no type 'double'"));
    EXPECT_THAT(bad(run + "--constant 3=int:7 --constant nope=int:3"),
                HasSubstr("no function constant 'nope'; it uses size (index 3)"));
    // Every type, at its ends and beyond.
    const std::pair<const char*, std::vector<const char*>> types[] = {
        {"char", {"-128", "127", "128"}},
        {"uchar", {"0", "255", "256"}},
        {"short", {"-32768", "32767", "-32769"}},
        {"ushort", {"0", "65535", "-1"}},
        {"uint", {"0", "4294967295", "4294967296"}},
        {"long", {"-9223372036854775808", "9223372036854775807"}},
        {"ulong", {"0", "18446744073709551615"}},
        {"bfloat", {"1.5", "-2"}}};
    for (const auto& [type, values] : types) {
        for (size_t i = 0; i < values.size(); ++i) {
            const std::string flag = std::string("--constant 3=") + type + ":" + values[i];
            if (i < 2) {
                good(run + flag);
            } else {
                EXPECT_THAT(bad(run + flag), HasSubstr("doesn't fit")) << flag;
            }
        }
    }
    EXPECT_THAT(good("dis constant.metallib --kernel k --constant 3=int:77"), HasSubstr("i32 77"));
}

TEST_F(Run, AnEndlessKernelEndsAtTheTimeLimit) {
    write_library("endless.metallib",
                  kernel_ir(1, {},
                            "br label %again\nagain:\n%v = load volatile i32, ptr addrspace(1) %b0\n"
                            "%go = icmp ne i32 %v, 0\nbr i1 %go, label %out, label %again\nout:\nret void"));
    EXPECT_THAT(
        bad("run endless.metallib --kernel k --grid 1 --threads 32 --buffer 0=zeros:i32[1] --time-limit 0.2"),
        HasSubstr("kernel 'k' was stopped at its time limit"));
}

TEST_F(Run, TimeLimitsAreAboveZeroAndMayBeVast) {
    const std::string run =
        "run add.metallib --kernel k --grid 1 --threads 1 --buffer 0=zeros:i32[1] --buffer 1=zeros:i32[1] "
        "--time-limit ";
    for (const char* vast : {"1e10", "1e300", "inf"}) good(run + vast);
    for (const char* none : {"0", "-1", "nan", "soon"}) {
        const Outcome outcome = metal(run + none);
        EXPECT_NE(0, outcome.status) << none;
        EXPECT_THAT(outcome.output, HasSubstr("a number above 0 is accepted")) << none;
    }
}

TEST_F(Run, AFaultIsAnErrorWithKernelAndThread) {
    write_library("fault.metallib",
                  kernel_ir(1, {},
                            "store volatile i32 1, ptr addrspace(1) inttoptr (i64 64 to ptr addrspace(1))\n"
                            "ret void"));
    EXPECT_THAT(bad("run fault.metallib --kernel k --grid 1 --threads 4 --buffer 0=zeros:i32[1]"),
                HasSubstr("kernel 'k', thread (0, 0, 0) of the grid"));
}

TEST_F(Run, AKernelThatLeavesItsBufferEndsItsLaunchAlone) {
    write_library("far.metallib",
                  kernel_ir(1, {"thread_position_in_grid"},
                            "%i = zext i32 %thread_position_in_grid to i64\n%at = mul i64 %i, 4096\n"
                            "%p = getelementptr i32, ptr addrspace(1) %b0, i64 %at\n"
                            "store i32 7, ptr addrspace(1) %p\nret void"));
    const std::string run = "run far.metallib --kernel k --threads 1 --buffer '0=out:o.npy:i32[3]' --grid ";
    EXPECT_THAT(bad(run + "100"), HasSubstr("thread (1, 0, 0) of the grid"));
    good(run + "1");
    EXPECT_EQ(bytes_of<int32_t>({7, 0, 0}), read("o.npy").substr(read("o.npy").size() - 12));
}

TEST_F(Run, WhatTheKernelDoesNotTakeIsRefusedAndWhatItTakesIsNamed) {
    const std::string run = "run add.metallib --kernel k --grid 1 --threads 1 ";
    const std::string bound = run + "--buffer 0=zeros:i32[1] --buffer 1=zeros:i32[1] ";
    good(bound);
    EXPECT_THAT(bad(run + "--buffer 1=zeros:i32[1]"), HasSubstr("nothing is bound to buffer(0) 'b0' of"));
    EXPECT_THAT(bad(run), HasSubstr("nothing is bound to buffer(0) 'b0', buffer(1) 'b1' of kernel 'k'"));
    EXPECT_THAT(bad(bound + "--buffer 9=zeros:i32[1]"), HasSubstr("kernel 'k' has no buffer(9)"));
    EXPECT_THAT(bad(bound + "--bytes 7=i32:1"), HasSubstr("kernel 'k' has no buffer(7)"));
    EXPECT_THAT(bad(bound + "--tensor 3=zeros:i32[1]"), HasSubstr("kernel 'k' has no buffer(3)"));
    EXPECT_THAT(bad(bound + "--threadgroup 5=64"), HasSubstr("kernel 'k' has no threadgroup(5)"));
    EXPECT_THAT(bad(bound + "--constant nope=int:3"), HasSubstr("no function constant 'nope'; it uses none"));
    EXPECT_THAT(bad(bound + "--constant 99=int:3"), HasSubstr("no function constant 99"));
    for (const std::string flag : {"-D X=1", "-I /tmp", "--strict", "--std metal4.0"}) {
        const std::string message = "add.metallib is compiled already: " + flag.substr(0, flag.find(' '));
        EXPECT_THAT(bad(bound + flag), HasSubstr(message));
        EXPECT_THAT(bad("list add.metallib " + flag), HasSubstr(message));
    }
}

TEST_F(Run, RepeatRunsOftenAndLayoutsAreNamed) {
    // Each run adds one to the same buffer.
    write("in.npy", numpy_file("<i4", "(1,)", bytes_of<int32_t>({5})));
    write_library("count.metallib", kernel_ir(1, {},
                                              "%v = load i32, ptr addrspace(1) %b0\n%w = add i32 %v, 1\n"
                                              "store i32 %w, ptr addrspace(1) %b0\nret void"));
    for (const std::string layout : {"nax", "rowmajor", "scrambled"}) {
        good(
            "run count.metallib --kernel k --grid 1 --threads 1 --buffer 0=inout:in.npy:out.npy --repeat 10 "
            "--layout " +
            layout);
        EXPECT_EQ(bytes_of<int32_t>({15}), read("out.npy").substr(read("out.npy").size() - 4)) << layout;
    }
    EXPECT_THAT(bad("run count.metallib --kernel k --grid 1 --threads 1 --layout diagonal"),
                HasSubstr("there are nax, rowmajor, scrambled"));
}

TEST_F(Run, JsonNamesDeviceKernelAndTimes) {
    const auto report = json(
        "run add.metallib --kernel k --grid 1 --threads 1 --buffer 0=zeros:i32[1] "
        "--buffer 1=zeros:i32[1]");
    EXPECT_EQ("Ingot virtual Metal device", report["device"]);
    EXPECT_EQ("k", report["kernel"]);
    EXPECT_GE(report["median_milliseconds"].get<double>(), report["milliseconds"].get<double>());
    EXPECT_TRUE(report["compile_ms"].is_number());
    EXPECT_TRUE(report["compiled"].get<bool>());
    EXPECT_TRUE(report["findings"].empty());
}

TEST_F(Run, ASlotIsBoundOnce) {
    const std::string run = "run add.metallib --kernel k --grid 1 --threads 1 ";
    EXPECT_THAT(bad(run + "--buffer 0=zeros:i32[4] --bytes 0=i32:1"),
                HasSubstr("buffer slot 0 is bound twice"));
    EXPECT_THAT(bad(run + "--buffer 1=zeros:i32[4] --buffer 1=zeros:i32[4]"),
                HasSubstr("buffer slot 1 is bound twice"));
    EXPECT_THAT(bad(run + "--threadgroup 2=16 --threadgroup 2=32"),
                HasSubstr("threadgroup slot 2 is given twice"));
}

TEST_F(Run, BrokenFlagsAndFilesAreMessages) {
    const std::string run = "run add.metallib --kernel k --grid 1 --threads 1 ";
    EXPECT_THAT(bad(run + "--buffer 0"), HasSubstr("has no slot"));
    EXPECT_THAT(bad(run + "--buffer 0=missing.npy"), HasSubstr("missing.npy"));
    EXPECT_THAT(bad(run + "--buffer 0=zeros:f32"), HasSubstr("no array type"));
    EXPECT_THAT(bad(run + "--buffer 0=zeros:f32[1099511627776]"), HasSubstr("bytes"));
    EXPECT_THAT(bad(run + "--buffer 0=zeros:f32[a]"), HasSubstr("no list of sizes"));
    write("short.npy", numpy_file("<i4", "(4,)", "abc"));
    EXPECT_THAT(bad(run + "--buffer 0=short.npy"), HasSubstr("3 bytes of data, the shape takes 16"));
    EXPECT_THAT(bad("run add.metallib --kernel kk --grid 1 --threads 1"), HasSubstr("no kernel 'kk'"));
    EXPECT_THAT(bad("run add.metallib --kernel k --grid 1 --threads 2000 --buffer 0=zeros:i32[1] "
                    "--buffer 1=zeros:i32[1]"),
                HasSubstr("1 to 1024 threads"));
}

}  // namespace
}  // namespace ingot::metal::testing
