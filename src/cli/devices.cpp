#include <thread>

#include "cli/command.h"

namespace ingot::cli {

Action add_devices(CLI::App&) {
    return []() -> Result<void> {
        fmt::print("cpu: {} threads\n", std::thread::hardware_concurrency());
        return {};
    };
}

}  // namespace ingot::cli
