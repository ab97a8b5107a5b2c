#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ingot {
namespace {

constexpr uint32_t kRoundConstants[64] = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2};

uint32_t read_big_endian(const std::byte* at) {
    return uint32_t(at[0]) << 24 | uint32_t(at[1]) << 16 | uint32_t(at[2]) << 8 | uint32_t(at[3]);
}

}  // namespace

void Sha256::compress(const std::byte* block) {
    uint32_t schedule[64];
    for (size_t i = 0; i < 16; ++i) schedule[i] = read_big_endian(block + 4 * i);
    for (size_t i = 16; i < 64; ++i) {
        const uint32_t early = schedule[i - 15], late = schedule[i - 2];
        schedule[i] = schedule[i - 16] + schedule[i - 7] +
                      (std::rotr(early, 7) ^ std::rotr(early, 18) ^ (early >> 3)) +
                      (std::rotr(late, 17) ^ std::rotr(late, 19) ^ (late >> 10));
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (size_t i = 0; i < 64; ++i) {
        const uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
        const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + choice +
                               kRoundConstants[i] + schedule[i];
        const uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + majority;
        h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    const std::array<uint32_t, 8> sums{a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; ++i) state_[i] += sums[i];
}

Sha256& Sha256::add(std::span<const std::byte> bytes) {
    size_bytes_ += bytes.size();
    while (!bytes.empty()) {
        if (num_pending_ == 0 && bytes.size() >= kBlockBytes) {
            compress(bytes.data());
            bytes = bytes.subspan(kBlockBytes);
            continue;
        }
        const size_t taken = std::min(bytes.size(), kBlockBytes - num_pending_);
        std::memcpy(pending_.data() + num_pending_, bytes.data(), taken);
        num_pending_ += taken;
        bytes = bytes.subspan(taken);
        if (num_pending_ == kBlockBytes) {
            compress(pending_.data());
            num_pending_ = 0;
        }
    }
    return *this;
}

Sha256Digest Sha256::finish() {
    const uint64_t size_bits = size_bytes_ * 8;
    constexpr std::byte kEnd{0x80}, kZero{0};
    add({&kEnd, 1});
    while (num_pending_ != kBlockBytes - 8) add({&kZero, 1});
    std::array<std::byte, 8> length;
    for (size_t i = 0; i < 8; ++i) length[i] = std::byte(size_bits >> (56 - 8 * i));
    add(length);
    Sha256Digest digest;
    for (size_t i = 0; i < digest.size(); ++i) digest[i] = std::byte(state_[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
}

Sha256Digest sha256(std::span<const std::byte> bytes) {
    return Sha256().add(bytes).finish();
}

std::string to_hex(std::span<const std::byte> bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::byte byte : bytes) {
        text += kDigits[uint8_t(byte) >> 4];
        text += kDigits[uint8_t(byte) & 15];
    }
    return text;
}

}  // namespace ingot
