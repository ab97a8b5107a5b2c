#include "metal/check/fixtures.h"

#include <fstream>
#include <map>
#include <stdexcept>

#include "metal/msl/source_library.h"
#include "metal/support.h"

namespace ingot::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Memory for the buffers of one launch: zeros, each at a multiple of 256.
class FixtureMemory {
  public:
    explicit FixtureMemory(const json& launch) : launch_(launch) {}

    void bind(metal::Launch& launch) {
        const json buffers = launch_.value("buffers", json::array());
        const uint64_t gap = launch_.value("together", false) ? 0 : 4096;
        size_t at = 0;
        for (uint32_t slot = 0; slot < buffers.size(); ++slot) {
            const auto bytes = buffers[slot].get<uint64_t>();
            if (bytes == 0) continue;
            launch.buffers[slot] = {base() + at + shift(slot), bytes};
            at += gap == 0 ? bytes : bytes + gap;
            at = gap == 0 ? at : (at + 255) / 256 * 256;
        }
        const json numbers = launch_.value("u32", json::object());
        for (const auto& [slot, number] : numbers.items()) {
            numbers_[std::stoul(slot)] = number.get<uint32_t>();
            launch.buffers[std::stoul(slot)] = {&numbers_[std::stoul(slot)], 4};
        }
    }

  private:
    uint64_t shift(uint32_t slot) const {
        return launch_.value("shift", json::object()).value(std::to_string(slot), uint64_t{0});
    }
    std::byte* base() {
        const auto address = reinterpret_cast<uintptr_t>(bytes_.data());
        return bytes_.data() + (256 - address % 256);
    }

    const json& launch_;
    std::vector<std::byte> bytes_ = std::vector<std::byte>(1 << 20);
    std::map<size_t, uint32_t> numbers_;
};

const metal::msl::SourceLibrary& library_of(const fs::path& file) {
    static std::map<fs::path, metal::msl::SourceLibrary> known;
    auto entry = known.find(file);
    if (entry == known.end()) {
        auto library = metal::msl::SourceLibrary::open_file(file.string(), {});
        if (!library) throw std::runtime_error(library.error().describe());
        entry = known.emplace(file, *library).first;
    }
    return entry->second;
}

metal::check::Outcome run_in(const metal::msl::SourceLibrary& library, const CheckFixture& fixture,
                             const std::vector<metal::check::CheckerId>& checkers,
                             std::vector<metal::check::Listener*> others) {
    const auto module = library.compile(fixture.kernel());
    if (!module) throw std::runtime_error(module.error().describe());
    metal::CompileOptions options;
    options.instrument = true;
    const auto kernel = metal::testing::the_compiler().compile(*module, fixture.kernel(), options);
    if (!kernel) throw std::runtime_error(kernel.error().describe());
    metal::Launch launch;
    launch.group_threads.x = fixture.launch.at("threads").get<uint32_t>();
    launch.grid_threads.x = fixture.launch.at("grid").get<uint32_t>() * launch.group_threads.x;
    const json threadgroup = fixture.launch.value("threadgroup", json::array());
    for (size_t slot = 0; slot < threadgroup.size(); ++slot) {
        launch.threadgroup_bytes[slot] = threadgroup[slot].get<uint32_t>();
    }
    FixtureMemory memory(fixture.launch);
    memory.bind(launch);
    metal::check::Request request;
    request.checkers = checkers;
    request.others = std::move(others);
    for (const json& slot : fixture.launch.value("out", json::array())) {
        request.buffers[slot.get<size_t>()].initialised = false;
    }
    auto outcome = run_checked(metal::testing::the_executor(), **kernel, launch, request);
    if (!outcome) throw std::runtime_error(outcome.error().describe());
    return *outcome;
}

}  // namespace

fs::path check_fixture_folder() {
    return fs::path(INGOT_TEST_DATA).parent_path() / "metal" / "check";
}

std::vector<CheckFixture> check_fixtures(const std::string& file) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(check_fixture_folder())) {
        const bool wanted = file.empty() || entry.path().filename() == file;
        if (entry.path().extension() == ".metal" && wanted) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<CheckFixture> fixtures;
    for (const fs::path& path : files) {
        std::ifstream stream(path);
        for (std::string line; std::getline(stream, line);) {
            const bool bad = line.starts_with("// bad "), good = line.starts_with("// good ");
            const size_t colon = line.find(": {");
            if ((!bad && !good) || colon == std::string::npos) continue;
            const size_t kind = line.find(' ', 3) + 1;
            fixtures.push_back(
                {path, bad, line.substr(kind, colon - kind), json::parse(line.substr(colon + 2))});
        }
    }
    return fixtures;
}

metal::check::Outcome run_fixture(const CheckFixture& fixture,
                                  const std::vector<metal::check::CheckerId>& checkers,
                                  std::vector<metal::check::Listener*> others) {
    return run_in(library_of(fixture.file), fixture, checkers, std::move(others));
}

metal::check::Outcome run_fixture_text(const std::string& source, const CheckFixture& fixture,
                                       const std::vector<metal::check::CheckerId>& checkers) {
    metal::msl::SourceOptions options;
    options.file = fixture.file.filename().string();
    const auto library = metal::msl::SourceLibrary::open(source, options);
    if (!library) throw std::runtime_error(library.error().describe());
    return run_in(*library, fixture, checkers, {});
}

}  // namespace ingot::tests
