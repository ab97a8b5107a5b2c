// Runs one pass of the Metal device's compiler on textual IR, for the tests in tests/metal/passes: metal_pass
// FILE Comments of the file say how: "; PASS: name", "; CONSTANT: index=integer" (any number), "; OFF:
// reconvergence". An error of the pass is printed, too: tests check its text.
#include <cstdio>
#include <cstdlib>

#include "base/mapped_file.h"
#include "metal/exec/compiler.h"

namespace {

// What follows "; KEY: " on each line that starts so.
std::vector<std::string> values_of(const std::string& text, const std::string& key) {
    std::vector<std::string> values;
    const std::string start = "; " + key + ": ";
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        if (line.starts_with(start)) values.push_back(line.substr(start.size()));
        at = end + 1;
    }
    return values;
}

ingot::Result<std::string> run(const std::string& path) {
    INGOT_ASSIGN(const std::string text, ingot::read_text_file(path));
    const auto passes = values_of(text, "PASS");
    if (passes.size() != 1) {
        return ingot::fail(ingot::ErrorKind::kInvalidArgument, "{}: a line '; PASS: name' is needed", path);
    }
    ingot::metal::CompileOptions options;
    for (const std::string& value : values_of(text, "CONSTANT")) {
        char* rest = nullptr;
        const uint32_t index = uint32_t(std::strtoul(value.c_str(), &rest, 10));
        options.constants.by_index[index] = int64_t{std::strtoll(rest + 1, nullptr, 10)};
    }
    for (const std::string& value : values_of(text, "OFF")) options.reconverge &= value != "reconvergence";
    options.instrument = true;  // matters to the pass of that name
    INGOT_ASSIGN(ingot::metal::Compiler * compiler, ingot::metal::compiler());
    return compiler->apply_pass(text, passes[0], options);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: metal_pass FILE.ll\n", stderr);
        return 2;
    }
    const auto result = run(argv[1]);
    std::puts(result ? result->c_str() : ("error: " + result.error().describe()).c_str());
    return 0;
}
