// What files of ours that call the operating system share: a descriptor that closes itself, and a failed call
// as an Error.
#pragma once

#include <string>
#include <utility>

#include <unistd.h>

#include "base/result.h"

namespace ingot {

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&&) = delete;

    int get() const { return number_; }  // negative: opening failed

  private:
    int number_;
};

// "PATH: can't ACTION: No such file or directory", by errno: kNotFound for ENOENT, else kIo.
Failure system_error(const std::string& path, const char* action);

}  // namespace ingot
