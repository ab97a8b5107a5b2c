// Runs `ingot metal` as a user does, with a folder and a cache of the test's own.
#pragma once

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "metal/ir_text.h"
#include "metal/library_bytes.h"
#include "support/run_program.h"

namespace ingot::metal::testing {

struct Outcome {
    int status = -1;     // as a shell sees it
    std::string output;  // both streams
};

class Program : public ::testing::Test {
  protected:
    // `prefix` goes before the program, in the same shell.
    Outcome metal(const std::string& arguments, const std::string& prefix = "") {
        return ingot("metal " + arguments, prefix);
    }
    Outcome ingot(const std::string& arguments, const std::string& prefix = "") {
        const std::string command = "cd '" + folder_.file("") + "'; export INGOT_METAL_CACHE='" +
                                    folder_.file("cache") + "'; " + prefix + " '" INGOT_PROGRAM "' " +
                                    arguments + " 2>&1";
        Outcome outcome;
        std::FILE* pipe = ::popen(command.c_str(), "r");
        if (pipe == nullptr) return outcome;
        std::array<char, 4096> part;
        while (const size_t count = std::fread(part.data(), 1, part.size(), pipe)) {
            outcome.output.append(part.data(), count);
        }
        const int status = ::pclose(pipe);
        outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
        return outcome;
    }
    // The same, expected to succeed.
    std::string good(const std::string& arguments) {
        const Outcome outcome = metal(arguments);
        EXPECT_EQ(0, outcome.status) << arguments << "\n" << outcome.output;
        return outcome.output;
    }
    nlohmann::json json(const std::string& arguments) {
        return nlohmann::json::parse(good(arguments + " --json"), nullptr, false);
    }
    // The same, expected to fail.
    std::string bad(const std::string& arguments) {
        const Outcome outcome = metal(arguments);
        EXPECT_EQ(1, outcome.status) << arguments << "\n" << outcome.output;
        return outcome.output;
    }

    void write(const std::string& name, const std::string& content) {
        std::ofstream(folder_.file(name), std::ios::binary) << content;
    }
    std::string read(const std::string& name) {
        std::ostringstream content;
        content << std::ifstream(folder_.file(name), std::ios::binary).rdbuf();
        return content.str();
    }
    // A library of one kernel "k".
    void write_library(const std::string& name, const std::string& module) {
        const Bytes bytes = make_library({{"k", module}});
        write(name, {reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size()});
    }

    test::TemporaryFolder folder_;
};

// b0[i] = b1[i] + 1 over 32-bit integers.
inline std::string add_one_ir() {
    return kernel_ir(
        2, {"thread_position_in_grid"},
        "%i = zext i32 %thread_position_in_grid to i64\n"
        "%p = getelementptr i32, ptr addrspace(1) %b1, i64 %i\n%v = load i32, ptr addrspace(1) %p\n"
        "%w = add i32 %v, 1\n%q = getelementptr i32, ptr addrspace(1) %b0, i64 %i\n"
        "store i32 %w, ptr addrspace(1) %q\nret void");
}

// b0[i] = b1[i], bytes.
inline std::string copy_bytes_ir() {
    return kernel_ir(
        2, {"thread_position_in_grid"},
        "%i = zext i32 %thread_position_in_grid to i64\n"
        "%p = getelementptr i8, ptr addrspace(1) %b1, i64 %i\n%v = load i8, ptr addrspace(1) %p\n"
        "%q = getelementptr i8, ptr addrspace(1) %b0, i64 %i\n"
        "store i8 %v, ptr addrspace(1) %q\nret void");
}

// A file as numpy.save writes it (format 1.0): 10 bytes, the dictionary, spaces and a line feed up to a
// multiple of 64.
inline std::string numpy_file(const std::string& descr, const std::string& shape, const std::string& data) {
    std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
    header.append(64 - (10 + header.size() + 1) % 64, ' ');
    header += '\n';
    std::string file("\x93NUMPY\x01\x00", 8);
    file += char(header.size() & 0xFF);
    file += char(header.size() >> 8);
    return file + header + data;
}

template <typename T>
std::string bytes_of(std::initializer_list<T> values) {
    return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

}  // namespace ingot::metal::testing
