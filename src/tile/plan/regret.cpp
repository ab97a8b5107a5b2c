#include "tile/plan/regret.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace ingot::tile {
namespace {

constexpr size_t kFixedColumns = 4;

std::vector<std::string> fields_of(std::string_view line) {
    std::vector<std::string> out;
    while (true) {
        const size_t comma = line.find(',');
        std::string_view field = line.substr(0, comma);
        while (!field.empty() && (field.back() == ' ' || field.back() == '\r')) field.remove_suffix(1);
        while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
        out.emplace_back(field);
        if (comma == std::string_view::npos) return out;
        line.remove_prefix(comma + 1);
    }
}

Result<double> number_in(const std::string& field, std::string_view name) {
    char* end = nullptr;
    const double value = std::strtod(field.c_str(), &end);
    if (field.empty() || *end != 0 || !std::isfinite(value))
        return fail(ErrorKind::kCorrupt, "'{}' for {}; a number is accepted", field, name);
    return value;
}

class TableReader {
  public:
    Result<void> line(std::string_view text) {
        std::vector<std::string> fields = fields_of(text);
        return table.features.empty() ? header(fields) : row(fields);
    }

    MeasurementTable table;

  private:
    Result<void> header(const std::vector<std::string>& names) {
        const std::vector<std::string> fixed = {"shape", "plan", "part", "measured"};
        if (names.size() <= kFixedColumns || !std::equal(fixed.begin(), fixed.end(), names.begin()))
            return fail(ErrorKind::kCorrupt,
                        "the first line names the columns: shape,plan,part,measured, then features");
        table.features.assign(names.begin() + kFixedColumns, names.end());
        return {};
    }

    Result<void> row(const std::vector<std::string>& fields) {
        if (fields.size() != kFixedColumns + table.features.size())
            return fail(ErrorKind::kCorrupt, "{} fields; {} are accepted", fields.size(),
                        kFixedColumns + table.features.size());
        Measurement m{fields[0], fields[1], fields[2] == "held_out", 0, {}};
        if (!m.held_out && fields[2] != "fit")
            return fail(ErrorKind::kCorrupt, "part '{}'; fit and held_out are accepted", fields[2]);
        INGOT_ASSIGN(m.measured, number_in(fields[3], "measured"));
        if (m.measured <= 0)
            return fail(ErrorKind::kCorrupt, "measured is {}; more than 0 is accepted", fields[3]);
        for (size_t i = 0; i < table.features.size(); ++i) {
            INGOT_ASSIGN(const double value, number_in(fields[kFixedColumns + i], table.features[i]));
            m.features.push_back(value);
        }
        if (!part_.emplace(m.shape, m.held_out).second && part_[m.shape] != m.held_out)
            return fail(ErrorKind::kCorrupt, "shape {} is in both parts", m.shape);
        if (!seen_.emplace(m.shape, m.plan).second)
            return fail(ErrorKind::kCorrupt, "plan {} of shape {} for the second time", m.plan, m.shape);
        table.rows.push_back(std::move(m));
        return {};
    }

    std::map<std::string, bool> part_;
    std::set<std::pair<std::string, std::string>> seen_;
};

}  // namespace

Result<MeasurementTable> parse_measurements(std::string_view text, std::string_view file) {
    TableReader reader;
    for (size_t number = 1; !text.empty(); ++number) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.find_first_not_of(" \r") == std::string_view::npos) continue;
        if (auto read = reader.line(line); !read)
            return Failure(with_context(read.error(), fmt::format("{}:{}", file, number)));
    }
    if (reader.table.rows.empty()) return fail(ErrorKind::kCorrupt, "{}: no measurements", file);
    return std::move(reader.table);
}

double score_of(std::span<const double> features, std::span<const double> prices) {
    double sum = 0;
    for (size_t i = 0; i < features.size(); ++i) sum += features[i] * prices[i];
    return sum;
}

Result<Regret> regret_of(const MeasurementTable& table, std::span<const double> prices, bool held_out) {
    struct Shape {
        double least = 0, chosen = 0, score = 0;
    };
    std::map<std::string, Shape> shapes;
    for (const Measurement& m : table.rows) {
        if (m.held_out != held_out) continue;
        const double score = score_of(m.features, prices);
        const auto [it, first] = shapes.emplace(m.shape, Shape{m.measured, m.measured, score});
        if (first) continue;
        Shape& s = it->second;
        s.least = std::min(s.least, m.measured);
        if (score < s.score || (score == s.score && m.measured > s.chosen))
            s.score = score, s.chosen = m.measured;
    }
    if (shapes.empty())
        return fail(ErrorKind::kInvalidArgument, "no measurements of the part {}",
                    held_out ? "held_out" : "fit");
    Regret out{shapes.size(), 0, 0, {}};
    for (const auto& [name, s] : shapes) {
        const double loss = (s.chosen - s.least) / s.least;
        out.mean += loss / double(shapes.size());
        if (out.worst.empty() || loss > out.maximum) out.maximum = loss, out.worst = name;
    }
    return out;
}

// Coordinate descent on the normal equations, which are convex: each step sets one price to its best value,
// cut at 0.
Result<std::vector<double>> fit_prices(const MeasurementTable& table) {
    const size_t n = table.features.size();
    std::vector<std::vector<double>> products(n, std::vector<double>(n));
    std::vector<double> targets(n);
    size_t rows = 0;
    for (const Measurement& m : table.rows) {
        if (m.held_out) continue;
        ++rows;
        for (size_t i = 0; i < n; ++i) {
            targets[i] += m.features[i] / m.measured;
            for (size_t j = 0; j < n; ++j)
                products[i][j] += m.features[i] / m.measured * (m.features[j] / m.measured);
        }
    }
    if (rows < n)
        return fail(ErrorKind::kInvalidArgument,
                    "{} measurements to fit {} prices; at least as many are needed", rows, n);
    std::vector<double> prices(n);
    constexpr int kRounds = 20000;
    constexpr double kSmall = 1e-13;
    for (int round = 0; round < kRounds; ++round) {
        double moved = 0;
        for (size_t i = 0; i < n; ++i) {
            if (products[i][i] == 0) continue;
            double rest = targets[i];
            for (size_t j = 0; j < n; ++j) rest -= j == i ? 0 : products[i][j] * prices[j];
            const double next = std::max(0.0, rest / products[i][i]);
            moved = std::max(moved, std::abs(next - prices[i]) / std::max(next, 1e-300));
            prices[i] = next;
        }
        if (moved < kSmall) break;
    }
    return prices;
}

}  // namespace ingot::tile
