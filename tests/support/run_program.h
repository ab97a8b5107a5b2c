// Runs the ingot program as a user would and hands back what it printed and how it ended; folders and files
// for it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::test {

// A folder of its own that goes with the object.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::string file(const std::string& name) const { return (path_ / name).string(); }
    // Hands back the path of the file that it wrote.
    std::string write(const std::string& name, std::string_view bytes) const;

  private:
    std::filesystem::path path_;
};

std::string read_bytes(const std::string& path);

struct ProgramResult {
    int exit_code = -1;  // 128 + N if signal N ended it
    std::string out, err;
};

struct ProgramInput {
    std::string in = {};        // what it reads from stdin
    std::string out_path = {};  // where stdout goes instead of ProgramResult::out
};

ProgramResult run_program(std::vector<std::string> arguments, const ProgramInput& input = {});

}  // namespace ingot::test
