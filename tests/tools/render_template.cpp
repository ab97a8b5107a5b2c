// Renders chat templates for scripts that compare with another implementation. A line of stdin is an object
// {"source": template, "variables": {...}}, a line of stdout {"text": result} or {"error": message, "kind":
// name}. strftime_now prints 2024-07-26 09:05:03, so that results can be compared.
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "llm/text/chat_template.h"
#include "support/reference_time.h"

namespace {

using Json = nlohmann::ordered_json;

ingot::Result<std::string> render(const Json& request) {
    INGOT_ASSIGN(const ingot::ChatTemplate parsed,
                 ingot::ChatTemplate::parse(request.at("source").get_ref<const std::string&>()));
    return parsed.render(request.at("variables"), ingot::test::reference_time());
}

}  // namespace

int main() {
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);) {
        const Json request = Json::parse(line, nullptr, false);
        if (!request.is_object() || !request.contains("source") || !request.contains("variables")) {
            std::cerr << "each line must be an object with 'source' and 'variables'\n";
            return 2;
        }
        const auto text = render(request);
        const Json answer = text ? Json{{"text", *text}}
                                 : Json{{"error", text.error().describe()},
                                        {"kind", std::string(ingot::to_string(text.error().kind))}};
        std::cout << answer.dump() << '\n';
    }
    return 0;
}
