#include "metal/check/report.h"

#include <fstream>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

#include "metal/check/describe.h"

namespace ingot::metal::check {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> read_lines(const std::string& path) {
    std::vector<std::string> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

std::string place_text(const Finding& finding) {
    if (finding.place.line != 0) return fmt::format("{}:{}", finding.place.file, finding.place.line);
    if (finding.place.instruction == 0 && finding.kernel.empty()) return "program";
    if (finding.place.instruction == 0) return fmt::format("kernel '{}'", finding.kernel);
    return fmt::format("kernel '{}', instruction {}", finding.kernel, finding.place.instruction);
}

// "   14 |     sum += x[i];", for a line that can be read.
std::string shown_line(const std::string& file, uint32_t number, const SourceLines& lines) {
    if (number == 0) return {};
    const auto line = lines(file, number);
    return line ? fmt::format("{:>6} | {}\n", number, *line) : std::string();
}

Json place_json(const CodePlace& place) {
    Json json = Json::object();
    if (place.line != 0) {
        json["file"] = place.file;
        json["line"] = place.line;
    }
    if (place.caller_line != 0) {
        json["called_from"] = {{"file", place.caller_file}, {"line", place.caller_line}};
    }
    if (place.instruction != 0) json["instruction"] = place.instruction;
    return json;
}

Json to_json(const Finding& finding) {
    const KindFacts& kind = facts_of(finding.kind);
    Json json{{"kind", kind.name},        {"checker", all_checkers()[size_t(kind.checker)].name},
              {"kernel", finding.kernel}, {"text", finding.text},
              {"count", finding.count},   {"place", place_json(finding.place)}};
    if (finding.other) json["other"] = place_json(*finding.other);
    if (!finding.memory.empty()) {
        json["memory"] = finding.memory;
        json["offset_bytes"] = finding.offset_bytes;
    }
    if (finding.thread) json["thread"] = *finding.thread;
    if (finding.group) json["threadgroup"] = *finding.group;
    return json;
}

Json sarif_location(const CodePlace& place, const std::string& library) {
    Json physical{{"artifactLocation", {{"uri", place.line != 0 ? place.file : library}}}};
    if (place.line != 0) physical["region"] = {{"startLine", place.line}};
    return {{"physicalLocation", physical}};
}

}  // namespace

SourceLines lines_of_files() {
    auto known = std::make_shared<std::map<std::string, std::vector<std::string>>>();
    return [known](const std::string& file, uint32_t line) -> std::optional<std::string> {
        const auto [entry, is_new] = known->try_emplace(file);
        if (is_new) entry->second = read_lines(file);
        if (line == 0 || line > entry->second.size()) return std::nullopt;
        return entry->second[line - 1];
    };
}

std::string to_text(const Finding& finding, const SourceLines& lines) {
    std::string text =
        fmt::format("{}: {}: {}\n", place_text(finding), facts_of(finding.kind).name, finding.text);
    text += shown_line(finding.place.file, finding.place.line, lines);
    const bool elsewhere = finding.other && (finding.other->line != finding.place.line ||
                                             finding.other->file != finding.place.file);
    if (elsewhere) text += shown_line(finding.other->file, finding.other->line, lines);
    std::string more;
    if (finding.place.line != 0) more = fmt::format("in kernel '{}'", finding.kernel);
    if (finding.place.caller_line != 0) {
        more += fmt::format(", called from {}:{}", finding.place.caller_file, finding.place.caller_line);
    }
    if (finding.count > 1) more += fmt::format("{}seen {} times", more.empty() ? "" : "; ", finding.count);
    return more.empty() ? text : text + fmt::format("       = {}\n", more);
}

std::string to_text(const std::vector<Finding>& findings, const SourceLines& lines) {
    std::string text;
    for (const Finding& finding : findings) text += to_text(finding, lines) + "\n";
    const size_t count = findings.size();
    return text +
           (count == 0 ? "no findings\n" : fmt::format("{} finding{}\n", count, count == 1 ? "" : "s"));
}

std::string to_json(const std::vector<Finding>& findings) {
    Json json = Json::array();
    for (const Finding& finding : findings) json.push_back(to_json(finding));
    return json.dump(1);
}

std::string to_sarif(const std::vector<Finding>& findings, const std::string& library) {
    Json rules = Json::array(), results = Json::array();
    for (const KindFacts& kind : all_finding_kinds()) {
        rules.push_back({{"id", kind.name}, {"shortDescription", {{"text", kind.text}}}});
    }
    for (const Finding& finding : findings) {
        Json result{{"ruleId", facts_of(finding.kind).name},
                    {"ruleIndex", size_t(finding.kind)},
                    {"level", "error"},
                    {"message", {{"text", fmt::format("kernel '{}': {}", finding.kernel, finding.text)}}},
                    {"locations", Json::array({sarif_location(finding.place, library)})},
                    {"occurrenceCount", finding.count}};
        if (finding.other) {
            result["relatedLocations"] = Json::array({sarif_location(*finding.other, library)});
        }
        results.push_back(std::move(result));
    }
    const Json driver{{"name", "ingot metal check"}, {"rules", rules}};
    const Json run{{"tool", {{"driver", driver}}}, {"results", results}};
    return Json{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                {"version", "2.1.0"},
                {"runs", Json::array({run})}}
        .dump(1);
}

}  // namespace ingot::metal::check
