// The picture of a plan. Coordinates are pixels; a product has a row: its tile at the left, its bars at the
// right.
#include <algorithm>

#include "tile/plan/execution_map.h"
#include "tile/plan/report.h"

namespace ingot::tile {
namespace {

constexpr int kWidth = 900, kMargin = 24, kMapSide = 320, kBarsLeft = 400, kBarHeight = 18, kBarGap = 8,
              kLabelWidth = 150, kBarLength = kWidth - kBarsLeft - kLabelWidth - 110;

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '<')
            out += "&lt;";
        else if (c == '&')
            out += "&amp;";
        else if (c == '>')
            out += "&gt;";
        else
            out += c;
    }
    return out;
}

std::string text_at(double x, double y, std::string_view text, std::string_view more = "") {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, more, escaped(text));
}

// Simdgroups get hues that lie far apart for neighbours; a fragment shifts the lightness.
std::string colour_of(const AtomOwner& owner, uint32_t fragments) {
    constexpr int kGoldenDegrees = 137;
    const double light = 78.0 - 22.0 * owner.fragment / std::max(1u, fragments);
    return fmt::format("hsl({}, 55%, {:.0f}%)", owner.simdgroup * kGoldenDegrees % 360, light);
}

std::string draw_map(const PlannedProduct& p, double top, double& height) {
    const Partition& a = p.chosen.partition;
    // Atoms keep their shape; the longer side of the tile fills the space.
    const double unit = kMapSide / double(std::max(a.rows * a.atom_m, a.columns * a.atom_n));
    const double h = unit * a.atom_m, w = unit * a.atom_n;
    height = h * a.rows;
    const bool labels = h >= 14;
    std::string out;
    for (uint32_t row = 0; row < a.rows; ++row) {
        for (uint32_t column = 0; column < a.columns; ++column) {
            const AtomOwner owner = owner_of(a, {row, column});
            const double x = kMargin + column * w, y = top + row * h;
            out += fmt::format(
                "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
                "stroke=\"white\"/>\n",
                x, y, w, h, colour_of(owner, a.atoms_each()));
            if (labels)
                out +=
                    text_at(x + w / 2, y + h / 2 + 4, fmt::format("{}.{}", owner.simdgroup, owner.fragment),
                            " text-anchor=\"middle\" class=\"small\"");
        }
    }
    return out;
}

std::string draw_bars(const PlannedProduct& p, double top, double& height) {
    std::vector<PricedPart> parts = p.priced.parts;
    std::ranges::stable_sort(parts, std::ranges::greater(),
                             [](const PricedPart& x) { return std::abs(x.cost); });
    double longest = 1e-9;
    for (const PricedPart& x : parts) longest = std::max(longest, std::abs(x.cost));
    std::string out;
    double y = top;
    for (const PricedPart& x : parts) {
        const double length = std::max(1.0, kBarLength * std::abs(x.cost) / longest);
        out += text_at(kBarsLeft + kLabelWidth - 8, y + 13, x.feature, " text-anchor=\"end\"");
        out +=
            fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>\n",
                        kBarsLeft + kLabelWidth, y, length, kBarHeight, x.cost < 0 ? "#5a9a5a" : "#5577aa");
        out += text_at(kBarsLeft + kLabelWidth + length + 6, y + 13, fmt::format("{:.6g}", x.cost));
        y += kBarHeight + kBarGap;
    }
    height = y - top;
    return out;
}

std::string draw_totals(const GroupPlan& plan, double top, double& height) {
    std::string out = text_at(kMargin, top, "whole plans");
    double y = top + 12, longest = std::max(1e-9, plan.score);
    for (const PlanAlternative& a : plan.alternatives) longest = std::max(longest, a.score);
    const auto bar = [&](const std::string& label, double score, std::string_view fill) {
        const double length = std::max(1.0, (kWidth - 2 * kMargin - 90) * score / longest);
        out += text_at(kMargin, y + 13, label);
        y += kBarHeight;
        out += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>\n",
                           kMargin, y, length, kBarHeight / 2, fill);
        out += text_at(kMargin + length + 6, y + 9, fmt::format("{:.6g}", score));
        y += kBarHeight + kBarGap;
    };
    bar(fmt::format("chosen: {} threads", plan.threads), plan.score, "#5577aa");
    for (const PlanAlternative& a : plan.alternatives) {
        std::string label = fmt::format("{} threads", a.threads);
        for (const Realization& r : a.products) label += "; " + describe(r);
        bar(label, a.score, "#bbbbbb");
    }
    height = y - top;
    return out;
}

}  // namespace

std::string to_svg(const GroupPlan& plan, const ReportTitle& title) {
    std::string body;
    double y = kMargin + 10;
    body += text_at(kMargin, y,
                    fmt::format("{} for {}: {}", title.kernel, title.target,
                                plan.applied ? fmt::format("{} threads, {}", plan.threads, plan.cost_basis())
                                             : "the reference way, as " + plan.why_reference),
                    " class=\"title\"");
    y += 30;
    for (const PlannedProduct& p : plan.products) {
        body += text_at(
            kMargin, y,
            fmt::format("{}: {} x {} x {}, {}", p.where, p.work.m, p.work.n, p.work.k, describe(p.chosen)));
        y += 14;
        double map = 0, bars = 0;
        body += draw_map(p, y, map);
        body += draw_bars(p, y, bars);
        y += std::max(map, bars) + 34;
    }
    if (plan.applied) {
        double totals = 0;
        body += draw_totals(plan, y, totals);
        y += totals;
    }
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" viewBox=\"0 0 {0} "
        "{1:.0f}\">\n<style>text {{ font: 12px sans-serif; }} .small {{ font-size: 9px; }} .title {{ "
        "font-size: 15px; }}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}</svg>\n",
        kWidth, y + kMargin, body);
}

}  // namespace ingot::tile
