#include "cli/progress.h"

#include <cmath>

#include <gtest/gtest.h>

namespace ingot::cli {
namespace {

TEST(ProgressBar, LineShowsTheFractionInTheWidthThatIsThere) {
    EXPECT_EQ("loading [##########..........]  50%", ProgressBar::line("loading", 0.5, "", 36));
    EXPECT_EQ("loading [....................]   0% a", ProgressBar::line("loading", 0, "a", 38));
    EXPECT_EQ("loading [####################] 100%", ProgressBar::line("loading", 1, "", 36));
}

TEST(ProgressBar, LineNeverReachesTheLastColumn) {
    for (size_t columns = 0; columns < 200; ++columns)
        EXPECT_LE(ProgressBar::line("measuring", 0.3, "tg128", columns).size(),
                  columns > 0 ? columns - 1 : 0);
}

TEST(ProgressBar, NonsenseFractionsAreClamped) {
    for (const double fraction : {-1.0, std::nan(""), 0.0})
        EXPECT_EQ(ProgressBar::line("x", 0, "", 40), ProgressBar::line("x", fraction, "", 40));
    EXPECT_EQ(ProgressBar::line("x", 1, "", 40), ProgressBar::line("x", 17, "", 40));
    EXPECT_EQ(std::string::npos, ProgressBar::line("x", 0.9999, "", 40).find("100%"));
}

}  // namespace
}  // namespace ingot::cli
