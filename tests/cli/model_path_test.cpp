#include "cli/model_path.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ModelPath : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "ingot-cache-XXXXXX").string();
        ASSERT_NE(nullptr, ::mkdtemp(pattern.data()));
        cache_ = pattern;
        if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
        ::setenv("XDG_CACHE_HOME", cache_.c_str(), 1);
    }
    void TearDown() override {
        before_.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", before_.c_str(), 1);
        fs::remove_all(cache_);
    }
    std::string folder() const { return (cache_ / "ingot/models").string(); }
    void add(const std::string& name) const {
        fs::create_directories(folder());
        std::ofstream(fs::path(folder()) / name) << "x";
    }

    fs::path cache_;
    std::string before_;
};

TEST_F(ModelPath, ANameIsLookedForInTheModelFolder) {
    add("a.gguf");
    EXPECT_EQ(folder(), model_folder().value());
    EXPECT_EQ(folder() + "/a.gguf", resolve_model("a.gguf").value());
}

TEST_F(ModelPath, APathThatExistsIsTakenAsItIs) {
    add("a.gguf");
    EXPECT_EQ(folder() + "/a.gguf", resolve_model(folder() + "/a.gguf").value());
}

TEST_F(ModelPath, WhatIsNowhereIsNotFoundAndSaysWhereItWasLookedFor) {
    const auto name = resolve_model("none.gguf");
    ASSERT_FALSE(name);
    EXPECT_EQ(ErrorKind::kNotFound, name.error().kind);
    EXPECT_EQ("none.gguf: no such file here or in " + folder() + "; `ingot models` lists what is there",
              name.error().describe());
    EXPECT_EQ("some/none.gguf: no such file", resolve_model("some/none.gguf").error().describe());
}

TEST_F(ModelPath, WithoutANameTheDemoModelIsMeant) {
    EXPECT_THAT(resolve_model("").error().describe(), HasSubstr("run `make model` to get it"));
    add(std::string(kDemoModel));
    EXPECT_EQ(folder() + "/" + std::string(kDemoModel), resolve_model("").value());
}

TEST_F(ModelPath, TheListIsSortedAndHasOnlyTheFirstPartOfASplitModel) {
    EXPECT_TRUE(list_models().value().empty());
    for (const char* name :
         {"b.gguf", "a.gguf", "notes.txt", "m-00002-of-00002.gguf", "m-00001-of-00002.gguf"})
        add(name);
    EXPECT_THAT(list_models().value(), ElementsAre("a.gguf", "b.gguf", "m-00001-of-00002.gguf"));
}

TEST_F(ModelPath, WithoutXdgCacheHomeTheFolderIsUnderHome) {
    ::setenv("XDG_CACHE_HOME", "", 1);
    EXPECT_EQ(std::string(std::getenv("HOME")) + "/.cache/ingot/models", model_folder().value());
}

}  // namespace
}  // namespace ingot::cli
