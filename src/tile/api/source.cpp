#include "tile/api/source.h"

#include <algorithm>
#include <map>

namespace ingot::tile {
namespace {

// __METAL_VERSION__ of a language.
int macro_value(Language language) {
    return int(language) / 10 * 100 + int(language) % 10 * 10;
}

// Texts in the order in which they came first, each with the least language of a kernel that wants it.
class Once {
  public:
    void want(const std::string& text, Language language) {
        const auto [it, added] = least_.emplace(text, language);
        if (added) order_.push_back(text);
        it->second = std::min(it->second, language);
    }
    template <typename Write>
    void write(Language base, std::string& out, const Write& one) const {
        for (const std::string& text : order_) {
            const Language language = least_.at(text);
            if (language > base) out += fmt::format("#if __METAL_VERSION__ >= {}\n", macro_value(language));
            out += one(text);
            if (language > base) out += "#endif\n";
        }
    }

  private:
    std::map<std::string, Language> least_;
    std::vector<std::string> order_;
};

}  // namespace

std::string source_text(std::span<const SourceParts> kernels) {
    Language base = Language::kMetal4_0;
    for (const SourceParts& k : kernels) base = std::min(base, language_for(k.needs));
    Once includes, helpers, code;
    for (const SourceParts& k : kernels) {
        const Language language = language_for(k.needs);
        for (const std::string& header : k.includes) includes.want(header, language);
        for (const std::string& helper : k.helpers) helpers.want(helper, language);
        code.want(k.code, language);
    }
    std::string out = "// Written by Ingot's tile compiler.\n";
    includes.write(base, out,
                   [](const std::string& header) { return fmt::format("#include <{}>\n", header); });
    out += "using namespace metal;\n\n";
    helpers.write(base, out, [](const std::string& helper) { return helper + "\n"; });
    code.write(base, out, [](const std::string& text) { return text; });
    return out;
}

}  // namespace ingot::tile
