// Ctrl-C as a flag: while an Interrupt lives, the first SIGINT sets the flag and a second one ends the
// program as usual (exit code 130). One at a time.
#pragma once

#include <atomic>

#include <signal.h>

namespace ingot::cli {

class Interrupt {
  public:
    Interrupt();
    ~Interrupt();  // restores what SIGINT did before
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    const std::atomic<bool>& flag() const;
    bool requested() const { return flag().load(); }
    void clear();

  private:
    struct sigaction before_{};
};

}  // namespace ingot::cli
