#include "metal/msl/child_process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ingot::metal::msl {
namespace {

constexpr int kExecFailed = 127;

// A file without name in memory: unlike a pipe it needs nobody who reads while the child writes.
class MemoryFile {
  public:
    explicit MemoryFile(const char* name) : descriptor_(::memfd_create(name, MFD_CLOEXEC)) {}
    ~MemoryFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    int descriptor() const { return descriptor_; }

    bool fill(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) return false;
            bytes.remove_prefix(size_t(written));
        }
        return ::lseek(descriptor_, 0, SEEK_SET) == 0;
    }

    std::string contents() const {
        struct stat status{};
        if (::fstat(descriptor_, &status) != 0) return "";
        std::string bytes(size_t(status.st_size), '\0');
        size_t done = 0;
        while (done < bytes.size()) {
            const ssize_t got = ::pread(descriptor_, bytes.data() + done, bytes.size() - done, off_t(done));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) break;
            done += size_t(got);
        }
        bytes.resize(done);
        return bytes;
    }

  private:
    int descriptor_;
};

void limit(__rlimit_resource resource, uint64_t most) {
    const rlimit value{most, most};
    ::setrlimit(resource, &value);
}

// Between fork and exec: only what a signal handler may call.
[[noreturn]] void become(char* const* arguments, const int (&streams)[4], const ChildLimits& limits,
                         pid_t parent) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kExecFailed);
    limit(RLIMIT_AS, limits.memory_bytes);
    limit(RLIMIT_FSIZE, limits.output_bytes);
    limit(RLIMIT_CPU, uint64_t(limits.seconds) + 1);
    limit(RLIMIT_CORE, 0);
    for (int i = 0; i < 4; ++i) {
        if (streams[i] >= 0 && ::dup2(streams[i], i) < 0) ::_exit(kExecFailed);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    char locale[] = "LC_ALL=C";
    char* const environment[] = {locale, nullptr};
    ::execve(arguments[0], arguments, environment);
    ::_exit(kExecFailed);
}

// Waits for the end, or kills it with all its children at the deadline.
ChildResult await(pid_t child, double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
    ChildResult result;
    int status = 0;
    auto pause = std::chrono::microseconds(200);
    while (true) {
        const pid_t ended = ::waitpid(child, &status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR)) break;
        if (Clock::now() >= deadline) {
            result.timed_out = true;
            ::kill(-child, SIGKILL);
            ::waitpid(child, &status, 0);
            break;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(5000));
    }
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    // A child that used up its CPU time ran out of time too.
    if (result.signal == SIGXCPU) result.timed_out = true;
    return result;
}

}  // namespace

Result<ChildResult> run_child(const std::vector<std::string>& arguments, std::string_view input,
                              std::string_view extra_input, const ChildLimits& limits) {
    if (::access(arguments[0].c_str(), X_OK) != 0) {
        return fail(ErrorKind::kNotFound, "{}: {}", arguments[0], std::strerror(errno));
    }
    const MemoryFile in("input"), extra("extra"), out("output"), errors("errors");
    if (!in.fill(input) || !extra.fill(extra_input) || out.descriptor() < 0 || errors.descriptor() < 0) {
        return fail(ErrorKind::kIo, "no memory for the streams of {}: {}", arguments[0],
                    std::strerror(errno));
    }
    // Above what they become, so that none overwrites another.
    int streams[4] = {in.descriptor(), out.descriptor(), errors.descriptor(), extra.descriptor()};
    for (int& stream : streams) stream = ::fcntl(stream, F_DUPFD_CLOEXEC, 10);
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) become(pointers.data(), streams, limits, parent);
    const int fork_error = errno;
    for (const int stream : streams) ::close(stream);
    if (child < 0) {
        return fail(ErrorKind::kIo, "{} can't be started: {}", arguments[0], std::strerror(fork_error));
    }
    ChildResult result = await(child, limits.seconds);
    result.output = out.contents();
    result.errors = errors.contents();
    return result;
}

}  // namespace ingot::metal::msl
