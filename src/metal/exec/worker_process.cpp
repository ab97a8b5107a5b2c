#include "metal/exec/worker_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace ingot::metal {
namespace {

using Clock = std::chrono::steady_clock;

enum class Transfer : uint8_t { kDone, kBroken, kLate };

// Waits until `socket` is ready for `events`.
Transfer wait_for(int socket, short events, Clock::time_point deadline) {
    for (;;) {
        int timeout_ms = -1;
        if (deadline != Clock::time_point::max()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
            if (left <= 0) return Transfer::kLate;
            timeout_ms = int(std::min<int64_t>(left, 1'000'000));
        }
        pollfd entry{.fd = socket, .events = events, .revents = 0};
        const int ready = ::poll(&entry, 1, timeout_ms);
        if (ready > 0) return Transfer::kDone;
        if (ready < 0 && errno != EINTR) return Transfer::kBroken;
    }
}

template <typename Move>
Transfer move_all(int socket, short events, size_t size, Clock::time_point deadline, Move move) {
    for (size_t done = 0; done < size;) {
        if (const Transfer ready = wait_for(socket, events, deadline); ready != Transfer::kDone) return ready;
        const ssize_t count = move(done);
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count <= 0) return Transfer::kBroken;
        done += size_t(count);
    }
    return Transfer::kDone;
}

Transfer send_all(int socket, const void* data, size_t size, Clock::time_point deadline) {
    const auto* begin = static_cast<const std::byte*>(data);
    return move_all(socket, POLLOUT, size, deadline, [&](size_t done) {
        return ::send(socket, begin + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    });
}

Transfer receive_all(int socket, void* data, size_t size, Clock::time_point deadline) {
    auto* begin = static_cast<std::byte*>(data);
    return move_all(socket, POLLIN, size, deadline,
                    [&](size_t done) { return ::recv(socket, begin + done, size - done, MSG_DONTWAIT); });
}

// A message is its size, then its bytes.
Transfer send_message(int socket, std::span<const std::byte> bytes, Clock::time_point deadline) {
    const uint64_t size = bytes.size();
    const Transfer sent = send_all(socket, &size, sizeof size, deadline);
    return sent == Transfer::kDone ? send_all(socket, bytes.data(), size, deadline) : sent;
}

Transfer receive_message(int socket, std::vector<std::byte>& bytes, Clock::time_point deadline) {
    constexpr uint64_t kMaxMessageBytes = uint64_t{1} << 30;
    uint64_t size = 0;
    const Transfer received = receive_all(socket, &size, sizeof size, deadline);
    if (received != Transfer::kDone) return received;
    if (size > kMaxMessageBytes) return Transfer::kBroken;
    bytes.resize(size);
    return receive_all(socket, bytes.data(), size, deadline);
}

}  // namespace

class WorkerPool::Child {
  public:
    static Result<std::unique_ptr<Child>> start(const std::string& program) {
        int sockets[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
            return fail(ErrorKind::kIo, "can't make a socket: {}", std::strerror(errno));
        }
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, sockets[1], STDIN_FILENO);
        std::string path = program;
        char* arguments[] = {path.data(), nullptr};
        pid_t pid = 0;
        const int error = ::posix_spawn(&pid, path.c_str(), &actions, nullptr, arguments, environ);
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(sockets[1]);
        auto child = std::unique_ptr<Child>(new Child(error == 0 ? pid : 0, sockets[0]));
        if (error == 0) return child;
        return fail(ErrorKind::kUnsupported,
                    "{} can't be started ({}): files nobody vouches for are compiled by it; build the target "
                    "ingot_metal_worker, or say that the file is trusted",
                    program, std::strerror(error));
    }
    ~Child() {
        ::close(socket_);
        end(true);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    Result<std::vector<std::byte>> request(std::span<const std::byte> bytes, Clock::time_point deadline,
                                           const std::stop_token& stop) {
        std::vector<std::byte> answer;
        // Ends what waits for the child.
        const std::stop_callback hang_up(stop, [this] { ::shutdown(socket_, SHUT_RDWR); });
        Transfer done = send_message(socket_, bytes, deadline);
        if (done == Transfer::kDone) done = receive_message(socket_, answer, deadline);
        if (done == Transfer::kDone) return answer;
        const int status = end(done == Transfer::kLate || stop.stop_requested());
        if (stop.stop_requested()) return fail(ErrorKind::kCorrupt, "it was given up");
        if (done == Transfer::kLate) return fail(ErrorKind::kLimit, "it took too long");
        return fail(ErrorKind::kCorrupt, "{}",
                    WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "it ended");
    }

  private:
    Child(pid_t pid, int socket) : pid_(pid), socket_(socket) {}

    // Its exit status, as waitpid has it. A child that broke the connection is dying: it gets the time to die
    // of what it dies of.
    int end(bool kill) {
        int status = 0;
        const pid_t pid = std::exchange(pid_, 0);
        if (pid == 0) return status;
        for (int waited_ms = 0; !kill && waited_ms < 2000; ++waited_ms) {
            if (::waitpid(pid, &status, WNOHANG) != 0) return status;
            ::usleep(1000);
        }
        ::kill(pid, SIGKILL);
        while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        return status;
    }

    pid_t pid_;
    int socket_;
};

WorkerPool::WorkerPool(std::string program) : program_(std::move(program)) {}
WorkerPool::~WorkerPool() = default;

Result<std::vector<std::byte>> WorkerPool::request(std::span<const std::byte> bytes, Duration limit,
                                                   const std::stop_token& stop) {
    std::unique_ptr<Child> child;
    {
        const std::scoped_lock lock(mutex_);
        if (!idle_.empty()) {
            child = std::move(idle_.back());
            idle_.pop_back();
        }
    }
    if (child == nullptr) {
        INGOT_ASSIGN(child, Child::start(program_));
    }
    auto answer = child->request(bytes, Clock::now() + limit, stop);
    if (answer && !stop.stop_requested()) {
        const std::scoped_lock lock(mutex_);
        idle_.push_back(std::move(child));
    }
    return answer;
}

bool serve_requests(int socket, std::vector<std::byte> (*answer)(std::span<const std::byte> request)) {
    constexpr auto kNever = Clock::time_point::max();
    std::vector<std::byte> request;
    while (receive_message(socket, request, kNever) == Transfer::kDone) {
        if (send_message(socket, answer(request), kNever) != Transfer::kDone) return false;
    }
    return true;
}

}  // namespace ingot::metal
