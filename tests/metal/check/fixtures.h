// Kernels that are wrong or right in one way, in tests/metal/check/*.metal. Each launch is a line
//   // bad KIND: {"kernel": NAME, "grid": THREADGROUPS, "threads": THREADS, "buffers": [BYTES of slot
//   0, 1...], ...}
//   // good KIND: {...}
// "u32": {"SLOT": NUMBER} binds a number, "threadgroup": [BYTES] gives lengths, "out": [SLOT] has no contents
// yet, "shift":
// {"SLOT": BYTES} moves an address off its alignment, "together": true puts the buffers one behind the other,
// "same": true all at one address. Buffers hold zeros.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "metal/check/session.h"

namespace ingot::tests {

struct CheckFixture {
    std::filesystem::path file;
    bool bad = false;
    std::string kind;  // of the finding
    nlohmann::json launch;

    std::string kernel() const { return launch.at("kernel").get<std::string>(); }
};

std::filesystem::path check_fixture_folder();
// Of all files, or of one.
std::vector<CheckFixture> check_fixtures(const std::string& file = {});

// Runs one. Throws, which fails the test, if it doesn't compile or can't be launched.
metal::check::Outcome run_fixture(const CheckFixture& fixture,
                                  const std::vector<metal::check::CheckerId>& checkers,
                                  std::vector<metal::check::Listener*> others = {});

// The same launch of another source.
metal::check::Outcome run_fixture_text(const std::string& source, const CheckFixture& fixture,
                                       const std::vector<metal::check::CheckerId>& checkers);

// A program that uses the Metal API wrongly, or rightly (api_test.cpp).
struct ApiFixture {
    std::string kind, name;
    bool bad;
};
const std::vector<ApiFixture>& api_fixtures();

}  // namespace ingot::tests
