// How good is the choice that costs make, against measurements: a table of what plans of several shapes took,
// the loss of taking the model's choice instead of the best measured one, and costs fitted to a part of the
// table. Shapes are either for fitting or held out, never both; a fit that looks at held-out rows is
// impossible by its signature.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace ingot::tile {

struct Measurement {
    std::string shape, plan;
    bool held_out = false;
    double measured = 0;           // time, or what else is to be small
    std::vector<double> features;  // as MeasurementTable::features names them
};

struct MeasurementTable {
    std::vector<std::string> features;
    std::vector<Measurement> rows;
};

// Comma-separated, with a line of names: shape,plan,part,measured, then features; part is `fit` or
// `held_out`. Errors name the line: fields that aren't numbers, times that aren't positive, a shape in both
// parts, a plan twice.
Result<MeasurementTable> parse_measurements(std::string_view text, std::string_view file);

// A price for each feature; a plan's score is the sum of products.
double score_of(std::span<const double> features, std::span<const double> prices);

struct Regret {
    size_t shapes = 0;
    double mean = 0, maximum = 0;  // (measured of the choice - least measured) / least measured
    std::string worst;             // the shape of the maximum
};

// Over the shapes of one part. Of equal scores the one that took longest counts. An Error if the part is
// empty.
Result<Regret> regret_of(const MeasurementTable& table, std::span<const double> prices, bool held_out);

// Prices of at least 0 that make the sum of squared relative errors least over the part `fit`. An Error if it
// has fewer rows than features.
Result<std::vector<double>> fit_prices(const MeasurementTable& table);

}  // namespace ingot::tile
