#include "tile/plan/plan_text.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace ingot::tile {
namespace {

using TextJson = nlohmann::ordered_json;

// Fixed plans are those that were searched for, whatever a lane holds.
constexpr uint32_t kAnyBudget = 1u << 20;

TextJson choice_json(const ProductChoice& c) {
    const Partition& p = c.partition;
    TextJson out{{"accumulator", kAccumulatorNames[size_t(c.accumulator)]},
                 {"atom", {p.atom_m, p.atom_n}},
                 {"atoms", {p.rows, p.columns}},
                 {"simdgroups", p.simdgroups}};
    if (p.rectangle) out["grid"] = {p.gm, p.gn}, out["local"] = {p.rm, p.rn};
    return out;
}

// Reads members of an object, remembering the first that isn't as it should be.
class PlanReader {
  public:
    explicit PlanReader(const TextJson& json) : json_(json) {}

    bool has(const char* name) const { return json_.is_object() && json_.contains(name); }
    uint32_t number(const char* name) { return number_in(has(name) ? json_[name] : TextJson(), name); }
    std::pair<uint32_t, uint32_t> two(const char* name) {
        if (!has(name) || !json_[name].is_array() || json_[name].size() != 2)
            return wrong(name), std::pair(1u, 1u);
        return {number_in(json_[name][0], name), number_in(json_[name][1], name)};
    }
    bool flag(const char* name) {
        if (!has(name) || !json_[name].is_boolean()) return wrong(name), false;
        return json_[name].get<bool>();
    }
    template <size_t N>
    size_t one_of(const char* name, const std::string_view (&names)[N]) {
        const std::string text = has(name) && json_[name].is_string() ? json_[name].get<std::string>() : "";
        const auto it = std::ranges::find(names, text);
        if (it == std::end(names)) return wrong(name), 0;
        return size_t(it - std::begin(names));
    }
    void wrong(const char* name) {
        if (wrong_.empty()) wrong_ = name;
    }
    const std::string& wrong() const { return wrong_; }

  private:
    uint32_t number_in(const TextJson& value, const char* name) {
        constexpr uint64_t kMost = 1u << 20;
        if (!value.is_number_unsigned() || value.get<uint64_t>() > kMost) return wrong(name), 1;
        return value.get<uint32_t>();
    }

    const TextJson& json_;
    std::string wrong_;
};

ProductChoice read_choice(PlanReader& in) {
    ProductChoice c;
    c.accumulator = Accumulator(in.one_of("accumulator", kAccumulatorNames));
    Partition& p = c.partition;
    std::tie(p.atom_m, p.atom_n) = in.two("atom");
    std::tie(p.rows, p.columns) = in.two("atoms");
    p.simdgroups = in.number("simdgroups");
    p.rectangle = in.has("grid");
    if (!p.rectangle) return c;
    std::tie(p.gm, p.gn) = in.two("grid");
    std::tie(p.rm, p.rn) = in.two("local");
    return c;
}

}  // namespace

std::string to_plan_text(const PlannerOptions& plan) {
    TextJson out{{"plan", 1}, {"planner", plan.enabled}, {"copy_batch", plan.max_copy_batch}};
    if (plan.exact_threads) out["threads"] = *plan.exact_threads;
    if (plan.traversal)
        out["traversal"] = {{"order", kSwizzleNames[size_t(plan.traversal->order)]},
                            {"panel", plan.traversal->panel}};
#define X(name, value, meaning) out["options"][#name] = plan.name;
    INGOT_TILE_PLANNER_FLAGS(X)
#undef X
    out["products"] = TextJson::array();
    for (const ProductChoice& c : plan.fixed) out["products"].push_back(choice_json(c));
    return out.dump();
}

Result<PlannerOptions> parse_plan_text(std::string_view text) {
    const TextJson json = TextJson::parse(text, nullptr, false);
    PlanReader in(json);
    PlannerOptions plan;
    if (in.number("plan") != 1) in.wrong("plan");
    plan.enabled = in.flag("planner");
    plan.max_copy_batch = in.number("copy_batch");
    if (in.has("threads")) plan.exact_threads = in.number("threads");
    if (in.has("traversal")) {
        PlanReader order(json["traversal"]);
        plan.traversal = {SwizzleOrder(order.one_of("order", kSwizzleNames)), order.number("panel")};
        if (!order.wrong().empty()) in.wrong("traversal");
    }
    static const TextJson kNone;
    PlanReader options(in.has("options") ? json["options"] : kNone);
#define X(name, value, meaning) plan.name = options.flag(#name);
    INGOT_TILE_PLANNER_FLAGS(X)
#undef X
    if (!options.wrong().empty()) in.wrong(options.wrong().c_str());
    if (!in.has("products") || !json["products"].is_array()) in.wrong("products");
    if (in.wrong().empty()) {
        for (const TextJson& product : json["products"]) {
            PlanReader one(product);
            plan.fixed.push_back(read_choice(one));
            if (!one.wrong().empty()) in.wrong("products");
        }
    }
    plan.fragment_budget = kAnyBudget;
    if (!in.wrong().empty())
        return fail(ErrorKind::kCorrupt, "no plan of this version: '{}' is missing or isn't what a plan has",
                    in.wrong());
    return plan;
}

}  // namespace ingot::tile
