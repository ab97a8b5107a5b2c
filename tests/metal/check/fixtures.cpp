#include "metal/check/fixtures.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>

#include "metal/check/layouts.h"
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
        const bool same = launch_.value("same", false);
        size_t at = 0;
        for (uint32_t slot = 0; slot < buffers.size(); ++slot) {
            const auto bytes = buffers[slot].get<uint64_t>();
            if (bytes == 0) continue;
            launch.buffers[slot] = {base() + at + shift(slot), bytes};
            if (same) continue;
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
        metal::msl::SourceOptions options;
        options.watch_locals = true;
        auto library = metal::msl::SourceLibrary::open_file(file.string(), options);
        if (!library) throw std::runtime_error(library.error().describe());
        entry = known.emplace(file, *library).first;
    }
    return entry->second;
}

std::shared_ptr<const metal::Kernel> compile_fixture(const metal::msl::SourceLibrary& library,
                                                     const CheckFixture& fixture,
                                                     const metal::CompileOptions& options) {
    const auto module = library.compile(fixture.kernel());
    if (!module) throw std::runtime_error(module.error().describe());
    const auto kernel = metal::testing::the_compiler().compile(*module, fixture.kernel(), options);
    if (!kernel) throw std::runtime_error(kernel.error().describe());
    return *kernel;
}

metal::Launch fixture_launch(const CheckFixture& fixture, FixtureMemory& memory) {
    metal::Launch launch;
    launch.group_threads.x = fixture.launch.at("threads").get<uint32_t>();
    launch.grid_threads.x = fixture.launch.at("grid").get<uint32_t>() * launch.group_threads.x;
    const json threadgroup = fixture.launch.value("threadgroup", json::array());
    for (size_t slot = 0; slot < threadgroup.size(); ++slot) {
        launch.threadgroup_bytes[slot] = threadgroup[slot].get<uint32_t>();
    }
    memory.bind(launch);
    return launch;
}

// What a launch leaves in the buffers, unwatched.
Result<metal::check::BuffersAfter> run_in_layout(const metal::msl::SourceLibrary& library,
                                                 const CheckFixture& fixture,
                                                 metal::CooperativeLayout layout) {
    metal::CompileOptions options;
    options.layout = layout;
    const auto kernel = compile_fixture(library, fixture, options);
    FixtureMemory memory(fixture.launch);
    const metal::Launch launch = fixture_launch(fixture, memory);
    INGOT_ASSIGN(const auto report, metal::testing::the_executor().run(*kernel, launch));
    EXPECT_EQ(metal::LaunchStatus::kDone, report.status);
    metal::check::BuffersAfter after;
    for (uint32_t slot = 0; slot < metal::kNumBufferSlots; ++slot) {
        const auto& [address, bytes] = launch.buffers[slot];
        const auto* begin = static_cast<const std::byte*>(address);
        if (address != nullptr) after[slot].assign(begin, begin + bytes);
    }
    return after;
}

metal::check::Outcome run_in(const metal::msl::SourceLibrary& library, const CheckFixture& fixture,
                             const std::vector<metal::check::CheckerId>& checkers,
                             std::vector<metal::check::Listener*> others) {
    const auto is_on = [&](metal::check::CheckerId id) {
        return std::ranges::find(checkers, id) != checkers.end();
    };
    metal::CompileOptions options;
    options.instrument = true;
    options.watch_overflow = is_on(metal::check::CheckerId::kOverflow);
    const auto kernel = compile_fixture(library, fixture, options);
    FixtureMemory memory(fixture.launch);
    const metal::Launch launch = fixture_launch(fixture, memory);
    metal::check::Request request;
    request.checkers = checkers;
    request.others = std::move(others);
    for (const json& slot : fixture.launch.value("out", json::array())) {
        request.buffers[slot.get<size_t>()].initialised = false;
    }
    auto outcome = run_checked(metal::testing::the_executor(), *kernel, launch, request);
    if (!outcome) throw std::runtime_error(outcome.error().describe());
    if (!is_on(metal::check::CheckerId::kTensor)) return *outcome;
    const auto found = metal::check::compare_layouts(
        *kernel, [&](metal::CooperativeLayout layout) { return run_in_layout(library, fixture, layout); });
    if (!found) throw std::runtime_error(found.error().describe());
    if (*found) outcome->findings.push_back(**found);
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
    options.watch_locals = true;
    options.file = fixture.file.filename().string();
    const auto library = metal::msl::SourceLibrary::open(source, options);
    if (!library) throw std::runtime_error(library.error().describe());
    return run_in(*library, fixture, checkers, {});
}

}  // namespace ingot::tests
