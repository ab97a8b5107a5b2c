// Every tests/metal/kernels/*.metal: a Metal source that says in its comments how it is launched and what
// comes out. They are compiled in strict mode.
//   // LAUNCH: kernel=NAME grid=GROUPS | grid-threads=THREADS threads=THREADS [threadgroup=SLOT:BYTES]
//   // CONSTANT: KEY=VALUE ...         function constants by index or name; true, false or a number; of
//   vectors all
//                                      elements: 1,2
//   // BUFFER SLOT: TYPE[COUNT] [= VALUES]    f32, i32, u32; zeros without values
//   // EXPECT SLOT: VALUES             after the launch: the first elements, or all by a formula
//   // ERROR [LINE]: TEXT              compiling fails with this in the message, at this line; in place of
//   LAUNCH
// VALUES are numbers, or a formula such as 0.5*i+1 of the element's index.
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "metal/msl/source_library.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Directive {
    std::string name;  // "BUFFER"
    std::string key;   // "0"
    std::string text;
};

std::vector<Directive> read_directives(const fs::path& path) {
    std::vector<Directive> directives;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const size_t colon = line.find(": ");
        if (!line.starts_with("// ") || colon == std::string::npos) continue;
        std::istringstream head(line.substr(3, colon - 3));
        Directive directive;
        head >> directive.name >> directive.key;
        directive.text = line.substr(colon + 2);
        const std::string_view known[] = {"LAUNCH", "CONSTANT", "BUFFER", "EXPECT", "ERROR"};
        if (std::find(std::begin(known), std::end(known), directive.name) != std::end(known)) {
            directives.push_back(directive);
        }
    }
    return directives;
}

std::vector<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> result;
    for (std::string word; stream >> word;) result.push_back(word);
    return result;
}

double number(std::string_view text) {
    double value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    EXPECT_TRUE(parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size()) << text;
    return value;
}

// "2*i+1" -> the value of element `index`; nullopt if the text has no i.
std::optional<double> formula(const std::string& text, size_t index) {
    const size_t at = text.find('i');
    if (at == std::string::npos || text.find(' ') != std::string::npos) return std::nullopt;
    const double factor = at == 0 ? 1 : number(text.substr(0, at - 1));
    const double offset =
        at + 1 == text.size() ? 0 : number(text.substr(text[at + 1] == '+' ? at + 2 : at + 1));
    return factor * double(index) + offset;
}

// The values a directive states for `count` elements; fewer if it lists fewer.
std::vector<double> values_of(const std::string& text, size_t count) {
    std::vector<double> values;
    if (formula(text, 0)) {
        for (size_t i = 0; i < count; ++i) values.push_back(*formula(text, i));
    } else {
        for (const std::string& word : words(text)) values.push_back(number(word));
    }
    return values;
}

struct Memory {
    std::string type;
    std::vector<uint32_t> words;

    void set(size_t i, double value) {
        if (type == "f32") {
            const auto narrow = float(value);
            std::memcpy(&words[i], &narrow, sizeof narrow);
        } else {
            words[i] = uint32_t(int64_t(value));
        }
    }
    double get(size_t i) const {
        if (type == "u32") return words[i];
        if (type == "i32") return int32_t(words[i]);
        float value;
        std::memcpy(&value, &words[i], sizeof value);
        return value;
    }
};

// "f32[8] = i"
Memory make_memory(const std::string& text) {
    const size_t open = text.find('['), close = text.find(']'), equals = text.find("= ");
    Memory memory{text.substr(0, open), {}};
    EXPECT_TRUE(memory.type == "f32" || memory.type == "i32" || memory.type == "u32") << text;
    memory.words.resize(size_t(number(text.substr(open + 1, close - open - 1))));
    if (equals == std::string::npos) return memory;
    const auto values = values_of(text.substr(equals + 2), memory.words.size());
    for (size_t i = 0; i < values.size(); ++i) memory.set(i, values[i]);
    return memory;
}

ConstantValue make_constant(std::string value) {
    if (value == "true" || value == "false") return value == "true";
    if (value.find(',') == std::string::npos) return int64_t(number(value));
    std::replace(value.begin(), value.end(), ',', ' ');
    std::vector<float> elements;
    for (const std::string& word : words(value)) {
        elements.push_back(word == "true" ? 1 : word == "false" ? 0 : float(number(word)));
    }
    return elements;
}

Constants make_constants(const std::string& text) {
    Constants constants;
    for (const std::string& word : words(text)) {
        const size_t equals = word.find('=');
        const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
        const ConstantValue constant = make_constant(value);
        if (key.find_first_not_of("0123456789") == std::string::npos) {
            constants.by_index[uint32_t(number(key))] = constant;
        } else {
            constants.by_name[key] = constant;
        }
    }
    return constants;
}

const fs::path kFolder = fs::path(INGOT_TEST_DATA).parent_path() / "metal" / "kernels";

class KernelFile : public ::testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        path_ = kFolder / GetParam();
        directives_ = read_directives(path_);
        ASSERT_FALSE(directives_.empty()) << "no directives in " << path_;
    }

    Result<std::shared_ptr<const Kernel>> compile(const std::string& kernel) {
        msl::SourceOptions source;
        source.strict = true;  // as for all kernels of our own
        INGOT_ASSIGN(const auto library, msl::SourceLibrary::open_file(path_.string(), source));
        INGOT_TRY(library.check());
        const std::string name = kernel.empty() ? library.kernel_names().at(0) : kernel;
        INGOT_ASSIGN(const auto module, library.compile(name));
        CompileOptions options;
        options.reconverge = false;
        options.require_constants = true;
        for (const Directive& directive : directives_) {
            if (directive.name == "CONSTANT") options.constants = make_constants(directive.text);
        }
        return the_compiler().compile(module, name, options);
    }

    void launch(const Directive& directive);
    void expect_error(const Directive& directive);
    void expect_values();

    fs::path path_;
    std::vector<Directive> directives_;
    std::map<std::string, Memory> memory_;
    std::string errors_;  // of compiling, where that is expected to fail
};

void KernelFile::launch(const Directive& directive) {
    std::map<std::string, std::string> settings;
    for (const std::string& word : words(directive.text)) {
        settings[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    }
    const auto kernel = compile(settings["kernel"]);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    Dispatch dispatch(*kernel);
    for (const Directive& buffer : directives_) {
        if (buffer.name != "BUFFER") continue;
        Memory& memory = memory_[buffer.key] = make_memory(buffer.text);
        dispatch.buffer(uint32_t(number(buffer.key)), memory.words);
    }
    if (const std::string& bytes = settings["threadgroup"]; !bytes.empty()) {
        const size_t colon = bytes.find(':');
        dispatch.threadgroup(uint32_t(number(bytes.substr(0, colon))),
                             uint32_t(number(bytes.substr(colon + 1))));
    }
    const auto threads = uint32_t(number(settings["threads"]));
    const bool by_threads = settings.count("grid-threads") != 0;
    const auto grid = uint32_t(number(settings[by_threads ? "grid-threads" : "grid"]));
    const LaunchReport report = by_threads ? dispatch.threads_of_grid({grid, 1, 1}, {threads, 1, 1})
                                           : dispatch.groups({grid, 1, 1}, {threads, 1, 1});
    ASSERT_EQ(LaunchStatus::kDone, report.status) << report.message;
}

void KernelFile::expect_values() {
    for (const Directive& directive : directives_) {
        if (directive.name != "EXPECT") continue;
        const Memory& memory = memory_.at(directive.key);
        const std::vector<double> expected = values_of(directive.text, memory.words.size());
        ASSERT_LE(expected.size(), memory.words.size());
        for (size_t i = 0; i < expected.size(); ++i) {
            EXPECT_NEAR(expected[i], memory.get(i), 1e-6 * std::fabs(expected[i]))
                << "buffer " << directive.key << ", element " << i;
        }
    }
}

void KernelFile::expect_error(const Directive& directive) {
    if (errors_.empty()) {
        const auto kernel = compile("");
        ASSERT_FALSE(kernel) << "it compiled";
        errors_ = kernel.error().describe();
    }
    const size_t line = directive.key.empty() ? 0 : errors_.find(GetParam() + ":" + directive.key + ": ");
    ASSERT_NE(std::string::npos, line) << "nothing at line " << directive.key << " in\n" << errors_;
    EXPECT_THAT(errors_.substr(line), HasSubstr(directive.text));
}

TEST_P(KernelFile, DoesWhatItSays) {
    size_t launches = 0, errors = 0;
    for (const Directive& directive : directives_) {
        if (directive.name == "LAUNCH") launch(directive);
        if (directive.name == "ERROR") expect_error(directive);
        launches += directive.name == "LAUNCH";
        errors += directive.name == "ERROR";
    }
    EXPECT_EQ(errors == 0 ? 1u : 0u, launches) << "one LAUNCH, or some ERROR, is needed";
    expect_values();
}

std::vector<std::string> kernel_files() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(kFolder)) {
        if (entry.path().extension() == ".metal") names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

INSTANTIATE_TEST_SUITE_P(Kernels, KernelFile, ::testing::ValuesIn(kernel_files()),
                         [](const auto& file) { return file.param.substr(0, file.param.find('.')); });

}  // namespace
}  // namespace ingot::metal::testing
