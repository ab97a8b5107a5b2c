// Stop strings in streamed text. Text that may turn out to be the start of a stop string is held back until
// that is decided; what comes out is never repeated, lost, or part of a stop string. The result does not
// depend on how the text is cut into pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingot {

class StopFilter {
  public:
    // Empty strings are ignored: they would stop every answer before its start.
    explicit StopFilter(std::vector<std::string> stops);

    // The text that may be shown after `text` has arrived. At the first byte that completes a stop string the
    // text ends in front of that string (of the longest, where several end there) and stopped() is true from
    // then on.
    std::string push(std::string_view text);
    // What is still held back, when no more text will come.
    std::string flush();
    bool stopped() const { return stopped_; }

  private:
    std::vector<std::string> stops_;
    std::string held_;
    bool stopped_ = false;
};

}  // namespace ingot
