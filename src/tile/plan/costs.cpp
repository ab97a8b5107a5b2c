#include "tile/plan/costs.h"

#include <cmath>
#include <map>

namespace ingot::tile {
namespace {

struct CostRow {
    double Costs::* value;
    double least;
};

const std::map<std::string_view, CostRow>& cost_rows() {
    static const std::map<std::string_view, CostRow> kRows = {
#define X(name, least, meaning) {#name, {&Costs::name, least}},
        INGOT_TILE_COSTS(X)
#undef X
    };
    return kRows;
}

std::string_view trimmed(std::string_view s) {
    const size_t first = s.find_first_not_of(" \t\r"), last = s.find_last_not_of(" \t\r");
    return first == std::string_view::npos ? std::string_view() : s.substr(first, last - first + 1);
}

// Reads one file; `base` counts how many files "like" led through.
class CostReader {
  public:
    CostReader(std::string_view file, int base) : file_(file), base_(base) {}

    Result<Costs> read(std::string_view text) {
        size_t number = 0;
        while (!text.empty()) {
            const size_t end = std::min(text.find('\n'), text.size());
            const std::string_view whole = text.substr(0, end),
                                   line = trimmed(whole.substr(0, whole.find('#')));
            text.remove_prefix(std::min(end + 1, text.size()));
            ++number;
            if (line.empty()) continue;
            const size_t space = std::min(line.find_first_of(" \t"), line.size());
            if (auto ok = take(line.substr(0, space), trimmed(line.substr(space))); !ok)
                return Failure(with_context(ok.error(), fmt::format("{}:{}", file_, number)));
        }
        for (const auto& [name, row] : cost_rows())
            if (!complete_ && !seen_.contains(name))
                return fail(ErrorKind::kCorrupt, "{}: no value for {}", file_, name);
        return costs_;
    }

  private:
    Result<void> take(std::string_view name, std::string_view value) {
        if (name == "like") return start_from(value);
        const auto row = cost_rows().find(name);
        if (row == cost_rows().end()) return fail(ErrorKind::kCorrupt, "no cost is called '{}'", name);
        if (!seen_.insert({name, true}).second)
            return fail(ErrorKind::kCorrupt, "{} for the second time", name);
        char* end = nullptr;
        const std::string text(value);
        const double number = std::strtod(text.c_str(), &end);
        if (text.empty() || *end != 0 || !std::isfinite(number))
            return fail(ErrorKind::kCorrupt, "'{}' for {}; a number is accepted", value, name);
        if (number < row->second.least)
            return fail(ErrorKind::kCorrupt, "{} is {}; {} and more are accepted", name, value,
                        row->second.least);
        costs_.*row->second.value = number;
        return {};
    }

    Result<void> start_from(std::string_view target) {
        if (!seen_.empty() || complete_)
            return fail(ErrorKind::kCorrupt, "'like' after other lines; it comes first");
        constexpr int kLongestChain = 4;
        if (base_ >= kLongestChain) return fail(ErrorKind::kCorrupt, "'like' leads round in a circle");
        for (const CostFile& f : cost_files()) {
            if (f.name != target) continue;
            INGOT_ASSIGN(costs_, CostReader(target, base_ + 1).read(f.text));
            complete_ = true;
            return {};
        }
        return fail(ErrorKind::kNotFound, "no costs of a target '{}'", target);
    }

    std::string_view file_;
    int base_;
    Costs costs_;
    bool complete_ = false;  // "like" gave every value
    std::map<std::string_view, bool> seen_;
};

}  // namespace

Result<Costs> parse_costs(std::string_view text, std::string_view file) {
    return CostReader(file, 0).read(text);
}

Result<Costs> costs_of(std::string_view target) {
    std::string names;
    for (const CostFile& f : cost_files()) {
        if (f.name == target) return parse_costs(f.text, fmt::format("{}.costs", target));
        names += fmt::format("{}{}", names.empty() ? "" : ", ", f.name);
    }
    return fail(ErrorKind::kNotFound, "no costs of a target '{}'; there are {}", target, names);
}

std::string to_text(const Costs& costs) {
    std::string out;
#define X(name, least, meaning) out += fmt::format("{} {}  # {}\n", #name, costs.name, meaning);
    INGOT_TILE_COSTS(X)
#undef X
    return out;
}

}  // namespace ingot::tile
