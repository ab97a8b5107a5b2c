#include "base/cpu_topology.h"

#include <filesystem>
#include <fstream>

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

TEST_F(CpuTopology, ThisMachineHasAtLeastOneCore) {
    EXPECT_GE(num_physical_cores(), 1u);
}

}  // namespace
}  // namespace ingot
