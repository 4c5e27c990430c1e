#include "store/content_digest.hpp"

#include <openssl/evp.h>

#include <array>
#include <memory>

namespace outboxd::store {

// Each field ends with a zero byte, which names in a row cannot contain. The payload may contain zero bytes,
// so it comes last.
std::string digest_of(const flow::sent_content& what) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  const auto add = [&](std::string_view text) { EVP_DigestUpdate(digest.get(), text.data(), text.size()); };
  const auto add_end = [&] { add(std::string_view("\0", 1)); };
  const auto add_optional = [&](const std::optional<std::string_view>& text) {
    if (text) add("\1");
    if (text) add(*text);
    add_end();
  };
  EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr);
  add(what.event_type);
  add_end();
  add_optional(what.exchange);
  add_optional(what.routing_key);
  add(what.headers);
  add_end();
  add(what.payload);
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(digest.get(), out.data(), &size);
  return {out.begin(), out.begin() + size};
}

}  // namespace outboxd::store
