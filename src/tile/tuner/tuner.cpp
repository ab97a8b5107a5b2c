#include "tile/tuner/tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tile/plan/plan_text.h"

namespace ingot::tile {
namespace {

// Of the budget; the rest is for the replay.
constexpr double kSearchPart = 0.75;

struct Trial {
    PlanCandidate candidate;
    int64_t id = 0;
    std::string source;
    std::unique_ptr<TuningLaunch> launch;
    double least = 0;  // of the search
};

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

class Tuning {
  public:
    Tuning(const Kernel& k, TuningDevice& device, const TuningRequest& request, TuningDatabase& database)
        : k_(k), device_(device), request_(request), database_(database) {}

    Result<TuningReport> run() {
        start_ = request_.seconds();
        INGOT_ASSIGN(key_, tuning_key(k_, request_.compile));
        INGOT_ASSIGN(run_, database_.add_run(
                               key_, {device_.name(), device_.compiler(), device_.ranking(),
                                      request_.validated_by, request_.budget_seconds, request_.tolerance}));
        INGOT_ASSIGN(Shortlist list, shortlist(k_, request_.compile, request_.shortlist));
        PlanCandidate reference;
        reference.planner = request_.compile.planner;
        reference.planner.enabled = false;
        reference.what = "the reference way";
        list.tried.insert(list.tried.begin() + 1, std::move(reference));
        INGOT_TRY(search(std::move(list)));
        INGOT_TRY(replay());
        return report_;
    }

  private:
    Result<int64_t> record(const PlanCandidate& c, TuningEnd end, std::string reason,
                           std::optional<double> value = {}) {
        ++report_.candidates;
        size_t* const counts[] = {&report_.measured, &report_.refused, &report_.left,
                                  &report_.same,     &report_.failed,  &report_.wrong};
        ++*counts[size_t(end)];
        request_.say(fmt::format("{:8} {}{}{}", kTuningEndNames[size_t(end)], c.what,
                                 value ? fmt::format(": {:.6g}", *value) : "",
                                 reason.empty() ? "" : ": " + reason));
        return database_.add_candidate(
            run_, {c.what, to_plan_text(c.planner), c.basis, c.score, end, std::move(reason), value});
    }

    // --- the search

    Result<void> search(Shortlist list) {
        for (const RefusedRealization& r : list.refused) {
            ++report_.candidates, ++report_.refused;
            TuningCandidate c{r.realization, {}, {}, 0, TuningEnd::kRefused, r.where + ": " + r.why, {}};
            INGOT_TRY(database_.add_candidate(run_, c));
        }
        const double until = request_.budget_seconds * kSearchPart;
        for (size_t i = 0; i < list.tried.size(); ++i) {
            PlanCandidate& c = list.tried[i];
            const bool control = i < 2;  // the planner's choice and the reference way
            if (!control && request_.seconds() - start_ > until) {
                INGOT_TRY(record(c, TuningEnd::kLeft, fmt::format("the search's {:g} s were over", until)));
                continue;
            }
            INGOT_TRY(attempt(std::move(c), control));
        }
        for (const PlanCandidate& c : list.left)
            INGOT_TRY(record(c, TuningEnd::kLeft, "behind the shortlist by its score"));
        return {};
    }

    Result<void> attempt(PlanCandidate c, bool control) {
        const auto ended = [&](TuningEnd end, const std::string& reason) -> Result<void> {
            INGOT_TRY(record(c, end, reason));
            if (control && end != TuningEnd::kSame)
                return fail(ErrorKind::kUnsupported, "{}: {}: {}", k_.name, c.what, reason);
            return {};
        };
        CompileOptions options = request_.compile;
        options.planner = c.planner;
        const auto compiled = compile(k_, options);
        if (!compiled) return ended(TuningEnd::kFailed, compiled.error().describe());
        for (const Trial& t : trials_) {
            if (t.source != compiled->source) continue;
            if (control) reference_ = &t - trials_.data();
            return ended(TuningEnd::kSame, t.candidate.what);
        }
        auto launch = device_.prepare(*compiled);
        if (!launch) return ended(TuningEnd::kFailed, launch.error().describe());
        const auto outputs = (*launch)->run();
        if (!outputs) return ended(TuningEnd::kFailed, outputs.error().describe());
        const OutputDifference off = difference(*outputs, request_.expected);
        if (!(off.worst <= request_.tolerance))
            return ended(TuningEnd::kWrong, fmt::format("{} is off by {:.3g}; {:.3g} is accepted", off.output,
                                                        off.worst, request_.tolerance));
        double least = std::numeric_limits<double>::infinity();
        for (uint32_t i = 0; i < request_.measurements; ++i) {
            const auto value = (*launch)->measure();
            if (!value) return ended(TuningEnd::kFailed, value.error().describe());
            least = std::min(least, *value);
        }
        INGOT_ASSIGN(const int64_t id, record(c, TuningEnd::kMeasured, {}, least));
        if (control) reference_ = ptrdiff_t(trials_.size());
        trials_.push_back({std::move(c), id, compiled->source, *std::move(launch), least});
        return {};
    }

    // --- the replay

    Result<void> replay() {
        // trials_[0] is the planner's choice. Equal values: the one tried first.
        const auto least = std::ranges::min_element(trials_, {}, &Trial::least);
        report_.searched = least->candidate.what;
        report_.search_least = least->least;
        std::vector<size_t> contenders = {0};
        for (const ptrdiff_t other : {reference_, least - trials_.begin()})
            if (std::ranges::find(contenders, size_t(other)) == contenders.end())
                contenders.push_back(size_t(other));
        INGOT_ASSIGN(const auto medians, measure_in_all_orders(contenders));
        const size_t best = size_t(std::ranges::min_element(medians) - medians.begin());
        const Trial& t = trials_[contenders[best]];
        const auto of = std::ranges::find(contenders, size_t(reference_)) - contenders.begin();
        report_.reference_median = medians[size_t(of)];
        report_.plan = {t.candidate.what, to_plan_text(t.candidate.planner),
                        device_.name(),   device_.ranking(),
                        medians[best],    medians[0]};
        return database_.set_plan(key_, run_, t.id, report_.plan);
    }

    // Every order of the contenders equally often, so that each stands everywhere and behind each other one.
    Result<std::vector<double>> measure_in_all_orders(const std::vector<size_t>& contenders) {
        std::vector<std::vector<double>> values(contenders.size());
        for (uint32_t repeat = 0; repeat < request_.replays; ++repeat) {
            std::vector<size_t> order(contenders.size());
            std::iota(order.begin(), order.end(), size_t{0});
            do {
                for (uint32_t position = 0; position < order.size(); ++position) {
                    const Trial& t = trials_[contenders[order[position]]];
                    INGOT_ASSIGN(const double value, t.launch->measure());
                    values[order[position]].push_back(value);
                    INGOT_TRY(database_.add_replay(run_, {t.id, report_.replay_rounds, position, value}));
                }
                ++report_.replay_rounds;
            } while (std::ranges::next_permutation(order).found);
        }
        std::vector<double> medians;
        for (auto& v : values) medians.push_back(median(std::move(v)));
        return medians;
    }

    const Kernel& k_;
    TuningDevice& device_;
    const TuningRequest& request_;
    TuningDatabase& database_;
    double start_ = 0;
    TuningKey key_;
    int64_t run_ = 0;
    std::vector<Trial> trials_;
    ptrdiff_t reference_ = 0;  // the trial of the reference way
    TuningReport report_;
};

double magnitude(const std::vector<double>& values) {
    double out = 1;
    for (const double v : values)
        if (std::isfinite(v)) out = std::max(out, std::abs(v));
    return out;
}

}  // namespace

OutputDifference difference(const TuningOutputs& actual, const TuningOutputs& expected) {
    OutputDifference out;
    const auto note = [&](double d, const std::string& name) {
        if (d > out.worst || out.output.empty()) out = {d, name};
    };
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    for (const auto& [name, wanted] : expected) {
        const auto it = actual.find(name);
        if (it == actual.end() || it->second.size() != wanted.size()) return {kInfinite, name};
        const double scale = magnitude(wanted);
        for (size_t i = 0; i < wanted.size(); ++i) {
            const double a = it->second[i], b = wanted[i];
            if (a == b || (std::isnan(a) && std::isnan(b))) continue;
            const double d = std::abs(a - b) / scale;
            note(std::isnan(d) ? kInfinite : d, name);
        }
    }
    return out;
}

Result<TuningReport> tune(const Kernel& k, TuningDevice& device, const TuningRequest& request,
                          TuningDatabase& database) {
    return Tuning(k, device, request, database).run();
}

}  // namespace ingot::tile
