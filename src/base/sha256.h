// SHA-256 (FIPS 180-4): names for content that nobody can make two of, so that a result kept under such a
// name belongs to what it was made from, even if a stranger chose the input.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ingot {

using Sha256Digest = std::array<std::byte, 32>;

class Sha256 {
  public:
    Sha256& add(std::span<const std::byte> bytes);
    // Ends the message; nothing may be added after it.
    Sha256Digest finish();

  private:
    void compress(const std::byte* block);

    static constexpr size_t kBlockBytes = 64;
    std::array<uint32_t, 8> state_{0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                   0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
    std::array<std::byte, kBlockBytes> pending_{};
    size_t num_pending_ = 0;
    uint64_t size_bytes_ = 0;
};

Sha256Digest sha256(std::span<const std::byte> bytes);
std::string to_hex(std::span<const std::byte> bytes);

}  // namespace ingot
