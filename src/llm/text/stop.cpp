#include "llm/text/stop.h"

#include <algorithm>
#include <utility>

namespace ingot {
namespace {

// Length of the longest end of `text` that is a proper start of `stop`.
size_t undecided_length(std::string_view text, std::string_view stop) {
    for (size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length) {
        if (text.ends_with(stop.substr(0, length))) return length;
    }
    return 0;
}

}  // namespace

StopFilter::StopFilter(std::vector<std::string> stops) : stops_(std::move(stops)) {
    std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

std::string StopFilter::push(std::string_view text) {
    if (stopped_) return {};
    if (stops_.empty()) return std::string(text);
    for (const char byte : text) {
        held_ += byte;
        size_t complete = 0;
        for (const std::string& stop : stops_) {
            if (std::string_view(held_).ends_with(stop)) complete = std::max(complete, stop.size());
        }
        if (complete == 0) continue;
        stopped_ = true;
        held_.resize(held_.size() - complete);
        return flush();
    }
    size_t undecided = 0;
    for (const std::string& stop : stops_) undecided = std::max(undecided, undecided_length(held_, stop));
    std::string shown = held_.substr(0, held_.size() - undecided);
    held_.erase(0, shown.size());
    return shown;
}

std::string StopFilter::flush() {
    return std::exchange(held_, {});
}

}  // namespace ingot
