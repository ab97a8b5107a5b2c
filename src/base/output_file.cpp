#include "base/output_file.h"

#include <utility>

#include "base/system_call.h"

namespace ingot {

OutputFile::OutputFile(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, nullptr)) {}

OutputFile::~OutputFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::remove(partial_path().c_str());
}

Result<OutputFile> OutputFile::create(const std::string& path) {
    std::FILE* file = std::fopen((path + ".partial").c_str(), "wb");
    if (file == nullptr) return system_error(path, "create");
    return OutputFile(path, file);
}

Result<void> OutputFile::write(std::span<const std::byte> bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size())
        return system_error(path_, "write");
    return {};
}

Result<void> OutputFile::commit() {
    if (std::fflush(file_) != 0) return system_error(path_, "write");
    if (std::rename(partial_path().c_str(), path_.c_str()) != 0) return system_error(path_, "put in place");
    std::fclose(std::exchange(file_, nullptr));
    return {};
}

}  // namespace ingot
