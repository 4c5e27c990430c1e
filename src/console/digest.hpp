// digest: what makes and compares secrets.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace outboxd::console {

using digest = std::array<unsigned char, 32>;

digest sha256(std::string_view text);
digest hmac_sha256(std::string_view key, std::string_view text);

// In a time that does not tell where they differ, nor how long the expected one is.
bool same_secret(std::string_view given, std::string_view expected);

std::string hexadecimal(const digest& of);

// 32 bytes that nobody can guess, as hexadecimal digits. Throws if the system has none.
std::string random_secret();

// Base64 (RFC 4648) with its padding; nothing, if it is none.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace outboxd::console
