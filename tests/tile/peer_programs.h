// Counterparts of the peer's programs that are more than one plain product, and of what is known to go wrong
// there: each a text, its arguments, and what loops in double compute.
#pragma once

#include "tile/library.h"

namespace ingot::tile::testing {

struct PeerProgram {
    std::string name, text;
    Arguments arguments = {};
    Results expected = {};
    double tolerance = 0;
    bool metal4 = false;
};

// A program by name, computed when a test asks for it: all of them take a second, in every process of tests.
struct PeerCase {
    std::string name;
    PeerProgram (*make)();
};

inline void PrintTo(const PeerCase& c, std::ostream* out) {
    *out << c.name;
}

std::vector<PeerCase> peer_cases();
PeerProgram peer_program(std::string_view name);

// Names of all the programs of the peer's set: each is one of peer_cases() or of peer_gemms().
std::span<const std::string_view> peer_names();

inline Kernel kernel_of(const std::string& text, const std::string& name) {
    const auto k = parse(text, name + ".tile");
    EXPECT_TRUE(k) << (k ? "" : k.error().describe()) << "\n" << text;
    const auto legal = verify(*k);
    EXPECT_TRUE(legal) << (legal ? "" : legal.error().describe()) << "\n" << text;
    return *k;
}

}  // namespace ingot::tile::testing
