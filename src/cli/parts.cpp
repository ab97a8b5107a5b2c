#include "cli/parts.h"

#include <utility>
#include <vector>

namespace ingot::cli {

Action add_parts(CLI::App& app, std::span<const Part> parts) {
    app.require_subcommand(1);
    std::vector<std::pair<CLI::App*, Action>> added;
    for (const Part& part : parts) {
        CLI::App* sub = app.add_subcommand(part.name, part.help);
        added.emplace_back(sub, part.add(*sub));
    }
    return [added]() -> Result<void> {
        for (const auto& [sub, action] : added) {
            if (!sub->parsed()) continue;
            auto done = action();
            if (!done) return Failure(with_context(done.error(), sub->get_name()));
        }
        return {};
    };
}

}  // namespace ingot::cli
