#include "metal/check/finding.h"

#include <algorithm>
#include <map>

namespace ingot::metal::check {

const std::vector<CheckerFacts>& all_checkers() {
    static const std::vector<CheckerFacts> facts{
#define X(enumerator, name, by_default, text) {CheckerId::enumerator, #name, text, by_default},
        INGOT_METAL_CHECKERS(X)
#undef X
    };
    return facts;
}

const std::vector<KindFacts>& all_finding_kinds() {
    static const std::vector<KindFacts> facts{
#define X(checker, enumerator, name, text) {FindingKind::enumerator, CheckerId::checker, name, text},
        INGOT_METAL_FINDINGS(X)
#undef X
    };
    return facts;
}

const KindFacts& facts_of(FindingKind kind) {
    return all_finding_kinds()[size_t(kind)];
}

Result<std::vector<CheckerId>> parse_checkers(std::string_view list) {
    std::vector<CheckerId> chosen;
    const auto add = [&](CheckerId id) {
        if (std::ranges::find(chosen, id) == chosen.end()) chosen.push_back(id);
    };
    for (size_t at = 0; at <= list.size();) {
        const size_t end = std::min(list.find(',', at), list.size());
        const std::string_view name = list.substr(at, end - at);
        at = end + 1;
        bool known = name == "all" || name == "default";
        for (const CheckerFacts& facts : all_checkers()) {
            const bool meant = facts.name == name || name == "all" || (name == "default" && facts.by_default);
            if (meant) add(facts.id);
            known = known || meant;
        }
        if (known) continue;
        std::string names;
        for (const CheckerFacts& facts : all_checkers()) names += fmt::format("{}, ", facts.name);
        return fail(ErrorKind::kInvalidArgument, "no checker '{}'; there are {}default and all", name, names);
    }
    return chosen;
}

namespace {

CodePlace code_place(const Site& site) {
    return {.file = site.file,
            .line = site.line,
            .instruction = site.instruction,
            .caller_file = site.caller_file,
            .caller_line = site.caller_line};
}

bool is_one_place(const Site& a, const Site& b) {
    return a.line == b.line && a.object == b.object && a.function == b.function && a.file == b.file;
}

}  // namespace

void Findings::begin(const Kernel& kernel) {
    kernel_ = &kernel;
    const std::vector<Site>& sites = kernel.instrumentation.sites;
    std::multimap<uint32_t, uint32_t> by_line;
    for (uint32_t i = 0; i < sites.size(); ++i) {
        uint32_t place = i;
        const auto [first, last] = by_line.equal_range(sites[i].line);
        for (auto known = first; known != last && sites[i].line != 0; ++known) {
            if (is_one_place(sites[i], sites[known->second])) place = std::min(place, known->second);
        }
        if (place == i) by_line.emplace(sites[i].line, i);
        places_.push_back(place);
    }
}

Finding* Findings::add(FindingKind kind, uint32_t site, uint32_t slot) {
    return add({kind, site == kNoSite ? kNoSite : places_[site], slot}, site, kNoSite);
}

Finding* Findings::add_pair(FindingKind kind, uint32_t site, uint32_t other_site) {
    const auto [first, second] = std::minmax({places_[site], places_[other_site]});
    return add({kind, first, second}, site, other_site);
}

Finding* Findings::add(const Key& key, uint32_t site, uint32_t other_site) {
    const auto [known, is_new] = known_.try_emplace(key, found_.size());
    if (!is_new) {
        ++found_[known->second].count;
        return nullptr;
    }
    const std::vector<Site>& sites = kernel_->instrumentation.sites;
    Finding finding{.kind = std::get<0>(key), .kernel = kernel_->info.name, .place = {}};
    finding.order = next_order_++;
    if (site != kNoSite) finding.place = code_place(sites[site]);
    if (other_site != kNoSite) finding.other = code_place(sites[other_site]);
    found_.push_back(std::move(finding));
    return &found_.back();
}

void Findings::join(Findings& other) {
    for (const auto& [key, index] : other.known_) {
        Finding& theirs = other.found_[index];
        const auto [known, is_new] = known_.try_emplace(key, found_.size());
        if (is_new) {
            found_.push_back(std::move(theirs));
            continue;
        }
        Finding& mine = found_[known->second];
        const uint64_t count = mine.count + theirs.count;
        if (theirs.order < mine.order) mine = std::move(theirs);
        mine.count = count;
    }
}

std::vector<Finding> Findings::take() {
    std::vector<bool> left_out(found_.size());
    for (const auto& [key, index] : known_) {
        const auto& [kind, first, second] = key;
        if (kind != FindingKind::kLockstep) continue;
        left_out[index] = known_.contains({FindingKind::kThreadgroupRace, first, second}) ||
                          known_.contains({FindingKind::kDeviceRace, first, second});
    }
    std::vector<Finding> kept;
    for (size_t i = 0; i < found_.size(); ++i) {
        if (!left_out[i]) kept.push_back(std::move(found_[i]));
    }
    std::ranges::stable_sort(kept, {}, &Finding::order);
    found_.clear();
    known_.clear();
    return kept;
}

}  // namespace ingot::metal::check
