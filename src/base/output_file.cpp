#include "base/output_file.h"

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_call.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

// What `path` names behind symbolic links, be it there or not.
Result<std::string> follow_links(const std::string& path) {
    constexpr int kMostLinks = 40;  // as many as Linux follows
    fs::path target = path;
    for (int links = 0; links < kMostLinks; ++links) {
        std::error_code error;
        if (!fs::is_symlink(target, error)) return target.string();
        const fs::path next = fs::read_symlink(target, error);
        if (error) return fail(ErrorKind::kIo, "{}: can't follow the link: {}", path, error.message());
        target = target.parent_path() / next;
    }
    errno = ELOOP;
    return system_error(path, "create");
}

Result<void> check_replaceable(const std::string& path) {
    if (path.empty()) return fail(ErrorKind::kInvalidArgument, "the name of the file to write is empty");
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) {
        if (errno == ENOENT) return {};
        return system_error(path, "create");
    }
    if (S_ISREG(info.st_mode)) return {};
    if (S_ISDIR(info.st_mode)) return fail(ErrorKind::kIo, "{}: is a directory, a file is needed", path);
    return fail(ErrorKind::kIo, "{}: not a regular file, only such a one can be written", path);
}

// A new file beside `target`; its name becomes `partial`. The system applies the umask. Negative with errno
// set if there is none.
int create_beside(const std::string& target, std::string& partial) {
    static std::atomic<uint64_t> last_number{0};
    for (;;) {
        partial = fmt::format("{}.{}-{}.partial", target, ::getpid(), ++last_number);
        const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST) return file;
    }
}

}  // namespace

OutputFile::OutputFile(std::string path, std::string target, std::string partial, std::FILE* file)
    : path_(std::move(path)), target_(std::move(target)), partial_(std::move(partial)), file_(file) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      partial_(std::exchange(other.partial_, {})),
      file_(std::exchange(other.file_, nullptr)) {}

OutputFile::~OutputFile() {
    if (file_ != nullptr) std::fclose(file_);
    if (!partial_.empty()) std::remove(partial_.c_str());
}

Result<OutputFile> OutputFile::create(const std::string& path) {
    INGOT_TRY(check_replaceable(path));
    INGOT_ASSIGN(std::string target, follow_links(path));
    std::string partial;
    const int descriptor = create_beside(target, partial);
    if (descriptor < 0) return system_error(path, "create");
    std::FILE* file = ::fdopen(descriptor, "wb");
    if (file == nullptr) {
        auto failure = system_error(path, "create");
        ::close(descriptor);
        std::remove(partial.c_str());
        return failure;
    }
    return OutputFile(path, std::move(target), std::move(partial), file);
}

Result<void> OutputFile::write(std::span<const std::byte> bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size())
        return system_error(path_, "write");
    return {};
}

Result<void> OutputFile::commit() {
    // Some file systems report a full disk only when the file is closed.
    if (std::fclose(std::exchange(file_, nullptr)) != 0) return system_error(path_, "write");
    if (std::rename(partial_.c_str(), target_.c_str()) != 0) return system_error(path_, "put in place");
    partial_.clear();
    return {};
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
    INGOT_ASSIGN(OutputFile file, OutputFile::create(path));
    INGOT_TRY(file.write(bytes));
    return file.commit();
}

}  // namespace ingot
