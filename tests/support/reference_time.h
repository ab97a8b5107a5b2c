// The time that strftime_now prints in comparisons with jinja2: 2024-07-26 09:05:03, as in
// tools/oracle/jinja_reference.py.
#pragma once

#include <ctime>

namespace ingot::test {

inline std::tm reference_time() {
    std::tm time{};
    time.tm_year = 124;
    time.tm_mon = 6;
    time.tm_mday = 26;
    time.tm_hour = 9;
    time.tm_min = 5;
    time.tm_sec = 3;
    time.tm_wday = 5;
    time.tm_yday = 207;
    return time;
}

}  // namespace ingot::test
