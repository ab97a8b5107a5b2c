// A progress bar on stderr, drawn only when stderr is a terminal; it erases itself, so that nothing of it
// stays.
#pragma once

#include <chrono>
#include <string>

namespace ingot::cli {

class ProgressBar {
  public:
    explicit ProgressBar(std::string label);
    ~ProgressBar();  // erases the bar
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    // A fraction 0..1 and something short to show behind it. Redraws at most some times a second.
    void update(double fraction, const std::string& note = {});
    void erase();

    // The line for a terminal of `columns`: "loading [#####.....]  50% note".
    static std::string line(const std::string& label, double fraction, const std::string& note,
                            size_t columns);

  private:
    std::string label_;
    bool terminal_;
    bool drawn_ = false;
    std::chrono::steady_clock::time_point last_{};
};

}  // namespace ingot::cli
