#include "cli/progress.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ingot::cli {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(80);

size_t terminal_columns() {
    winsize size{};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

}  // namespace

ProgressBar::ProgressBar(std::string label) : label_(std::move(label)), terminal_(isatty(STDERR_FILENO)) {}

ProgressBar::~ProgressBar() {
    erase();
}

void ProgressBar::update(double fraction, const std::string& note) {
    if (!terminal_) return;
    const auto now = std::chrono::steady_clock::now();
    if (drawn_ && now - last_ < kRedrawInterval) return;
    last_ = now;
    drawn_ = true;
    fmt::print(stderr, "\r{}\x1b[K", line(label_, fraction, note, terminal_columns()));
    std::fflush(stderr);
}

void ProgressBar::erase() {
    if (!drawn_) return;
    drawn_ = false;
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
}

std::string ProgressBar::line(const std::string& label, double fraction, const std::string& note,
                              size_t columns) {
    constexpr size_t kWidest = 40;
    if (std::isnan(fraction)) fraction = 0;
    fraction = std::clamp(fraction, 0.0, 1.0);
    const std::string tail =
        fmt::format("{:3.0f}%{}{}", std::floor(fraction * 100), note.empty() ? "" : " ", note);
    const size_t taken = label.size() + tail.size() + 5;  // spaces, brackets, and the last column stays free
    if (taken + 4 > columns)
        return fmt::format("{} {}", label, tail).substr(0, columns > 0 ? columns - 1 : 0);
    const size_t width = std::min(kWidest, columns - taken);
    const size_t full = size_t(fraction * double(width));
    return fmt::format("{} [{}{}] {}", label, std::string(full, '#'), std::string(width - full, '.'), tail);
}

}  // namespace ingot::cli
