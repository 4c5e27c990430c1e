#include "console/digest.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <stdexcept>

namespace outboxd::console {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

digest sha256(std::string_view text) {
  digest out{};
  ::SHA256(bytes_of(text), text.size(), out.data());
  return out;
}

digest hmac_sha256(std::string_view key, std::string_view text) {
  digest out{};
  unsigned size = 0;
  ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(text), text.size(), out.data(),
         &size);
  return out;
}

bool same_secret(std::string_view given, std::string_view expected) {
  const auto one = sha256(given);
  const auto other = sha256(expected);
  return ::CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string hexadecimal(const digest& of) {
  std::string out;
  for (const unsigned char one : of) out += fmt::format("{:02x}", one);
  return out;
}

std::string random_secret() {
  digest out{};
  if (::RAND_bytes(out.data(), static_cast<int>(out.size())) != 1)
    throw std::runtime_error("the system has no random bytes");
  return hexadecimal(out);
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const auto padding = static_cast<std::size_t>(text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0);
  const auto digits = text.substr(0, text.size() - padding);
  // EVP_DecodeBlock ignores whitespace at both ends.
  const bool only_digits = std::all_of(digits.begin(), digits.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  });
  if (!only_digits) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(text),
                                     static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

}  // namespace outboxd::console
