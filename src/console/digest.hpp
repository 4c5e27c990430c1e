// digest: functions that create and compare secrets.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace outboxd::console {

using digest = std::array<unsigned char, 32>;

digest sha256(std::string_view text);
digest hmac_sha256(std::string_view key, std::string_view text);

// The duration reveals neither where they differ nor how long the expected value is.
bool same_secret(std::string_view given, std::string_view expected);

std::string hexadecimal(const digest& of);

// 32 random bytes as hexadecimal digits. Throws if the system cannot provide them.
std::string random_secret();

// Decodes base64 (RFC 4648) with padding; nullopt if the input is invalid.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace outboxd::console
