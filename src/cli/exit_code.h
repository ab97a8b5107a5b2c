// For commands whose exit code says more than done or failed.
#pragma once

namespace ingot::cli {

// What main() returns if the command fails; 1 at first.
inline int& code_of_failure() {
    static int code = 1;
    return code;
}

}  // namespace ingot::cli
