#include "base/cpu_topology.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace ingot {
namespace {

// A folder like /sys/devices/system/cpu with the given sibling list per processor.
class CpuTopology : public testing::Test {
  protected:
    void SetUp() override { std::filesystem::remove_all(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void add_processor(uint32_t number, const std::string& siblings) {
        const auto topology = folder_ / ("cpu" + std::to_string(number)) / "topology";
        std::filesystem::create_directories(topology);
        std::ofstream(topology / "thread_siblings_list") << siblings << "\n";
    }
    uint32_t cores(std::vector<uint32_t> allowed) { return num_physical_cores(allowed, folder_.string()); }

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() /
        ("ingot-cpu-topology-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(CpuTopology, TwoHardwareThreadsOfACoreCountOnce) {
    add_processor(0, "0,2");
    add_processor(1, "1,3");
    add_processor(2, "0,2");
    add_processor(3, "1,3");
    EXPECT_EQ(cores({0, 1, 2, 3}), 2u);
    EXPECT_EQ(cores({0, 2}), 1u) << "an affinity mask with both threads of one core";
    EXPECT_EQ(cores({2, 3}), 2u);
}

TEST_F(CpuTopology, ProcessorsWithoutTopologyCountAsCores) {
    add_processor(0, "0");
    EXPECT_EQ(cores({0, 5, 6}), 3u);
    EXPECT_EQ(cores({}), 1u);
}

// Control groups as files under a folder.
class CpuQuota : public CpuTopology {
  protected:
    void add_file(const std::string& path, const std::string& text) {
        const auto file = folder_ / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text << "\n";
    }
    uint32_t quota(const std::string& memberships) {
        std::istringstream stream(memberships);
        return cpu_quota(stream, folder_);
    }
};

TEST_F(CpuQuota, IsTheLeastOfAGroupAndThoseAboveItRoundedUp) {
    add_file("a/cpu.max", "400000 100000");
    add_file("a/b/cpu.max", "150000 100000");
    add_file("a/b/c/cpu.max", "max 100000");
    EXPECT_EQ(quota("0::/a/b/c\n"), 2u);
    EXPECT_EQ(quota("0::/a\n"), 4u);
    EXPECT_EQ(quota("0::/\n"), 0u);
}

TEST_F(CpuQuota, OfAContainerStandsAtTheRootUnderThePathOfItsHost) {
    add_file("cpu.max", "50000 100000");
    EXPECT_EQ(quota("0::/system.slice/docker-0123.scope\n"), 1u);
}

TEST_F(CpuQuota, OfVersionOneIsReadFromTheGroupOfTheCpuController) {
    add_file("cpu/web/cpu.cfs_quota_us", "250000");
    add_file("cpu/web/cpu.cfs_period_us", "100000");
    add_file("cpu/cpu.cfs_quota_us", "-1");
    add_file("cpu/cpu.cfs_period_us", "100000");
    EXPECT_EQ(quota("9:name=systemd:/web\n3:cpuset:/web\n1:cpu,cpuacct:/web\n0::/\n"), 3u);
    EXPECT_EQ(quota("1:cpuset:/web\n"), 0u) << "no group of that controller";
}

TEST_F(CpuQuota, DamagedFilesAreNoLimit) {
    add_file("cpu.max", "lots");
    EXPECT_EQ(quota("0::/\n"), 0u);
    add_file("cpu.max", "100000 0");
    EXPECT_EQ(quota("0::/\nno colons\n\n"), 0u);
}

TEST_F(CpuTopology, ThisMachineHasAtLeastOneCore) {
    EXPECT_GE(num_physical_cores(), 1u);
    EXPECT_GE(default_num_threads(), 1u);
    EXPECT_LE(default_num_threads(), num_physical_cores());
}

}  // namespace
}  // namespace ingot
