#include "base/mapped_file.h"

#include <cerrno>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_call.h"

namespace ingot {
namespace {

Result<struct stat> status_of(const std::string& path, const Descriptor& file) {
    if (file.get() < 0) return system_error(path, "open");
    struct stat info{};
    if (::fstat(file.get(), &info) != 0) return system_error(path, "read its size");
    if (S_ISDIR(info.st_mode)) return fail(ErrorKind::kIo, "{}: is a directory, a file is needed", path);
    return info;
}

}  // namespace

MappedFile::MappedFile(std::string path, const std::byte* data, size_t size_bytes)
    : path_(std::move(path)), data_(data), size_bytes_(size_bytes) {}

MappedFile::MappedFile(MappedFile&& other) noexcept {
    *this = std::move(other);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_bytes_);
}

Result<MappedFile> MappedFile::open(const std::string& path) {
    // A pipe is refused below, whether or not someone writes to it.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    INGOT_ASSIGN(const struct stat info, status_of(path, file));
    if (!S_ISREG(info.st_mode))
        return fail(ErrorKind::kIo, "{}: not a regular file, it can't be mapped", path);
    const size_t size_bytes = size_t(info.st_size);
    if (size_bytes == 0) return MappedFile(path, nullptr, 0);
    void* data = ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (data == MAP_FAILED) return system_error(path, "map");
    return MappedFile(path, static_cast<const std::byte*>(data), size_bytes);
}

void MappedFile::release(std::span<const std::byte> bytes) const {
    const uintptr_t page = uintptr_t(::sysconf(_SC_PAGESIZE));
    const uintptr_t begin = (uintptr_t(bytes.data()) + page - 1) / page * page;
    const uintptr_t end = (uintptr_t(bytes.data()) + bytes.size()) / page * page;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Result<std::string> read_text_file(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    INGOT_TRY(status_of(path, file));
    std::string text;
    char block[1 << 16];
    for (;;) {
        const ssize_t count = ::read(file.get(), block, sizeof block);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return system_error(path, "read");
        if (count == 0) return text;
        text.append(block, size_t(count));
    }
}

}  // namespace ingot
