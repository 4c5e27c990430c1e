// token_issuer: OAuth 2 at the tests' broker, for the length of a test of the suite "alone": tokens that it
// takes as passwords.
#pragma once

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "core/base64.hpp"
#include "enabled_plugin.hpp"
#include "support/broker_admin.hpp"

namespace outboxd::test {

class token_issuer {
 public:
  token_issuer()
      : plugin_("rabbitmq_auth_backend_oauth2",
                fmt::format(
                    "ok = application:set_env(rabbitmq_auth_backend_oauth2, resource_server_id, "
                    "<<\"rabbitmq\">>), ok = application:set_env(rabbitmq_auth_backend_oauth2, key_config, "
                    "[{{default_key, <<\"k\">>}}, {{signing_keys, #{{<<\"k\">> => {{map, #{{<<\"kty\">> => "
                    "<<\"oct\">>, <<\"alg\">> => <<\"HS256\">>, <<\"k\">> => <<\"{}\">>}}}}}}}}]), "
                    "ok = application:set_env(rabbit, auth_backends, [rabbit_auth_backend_internal, "
                    "rabbit_auth_backend_oauth2]), ",
                    base64url(key))) {}
  ~token_issuer() {
    try {
      broker_eval("application:set_env(rabbit, auth_backends, [rabbit_auth_backend_internal]).");
    } catch (const std::exception&) {
    }
  }
  token_issuer(const token_issuer&) = delete;
  token_issuer& operator=(const token_issuer&) = delete;

  /// For a user who may do everything.
  static std::string token(const std::string& user, std::chrono::sys_seconds end) {
    const auto signed_part =
        base64url(R"({"alg":"HS256","typ":"JWT","kid":"k"})") + "." +
        base64url(fmt::format(
            R"({{"sub":"{}","aud":["rabbitmq"],"exp":{},"scope":"rabbitmq.configure:*/* rabbitmq.write:*/*/* )"
            R"(rabbitmq.read:*/*"}})",
            user, end.time_since_epoch().count()));
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(signed_part.data()), signed_part.size(), digest.data(),
           &size);
    return signed_part + "." + base64url({reinterpret_cast<const char*>(digest.data()), size});
  }

 private:
  static constexpr std::string_view key = "a key that the broker shares with the tests";

  static std::string base64url(std::string_view text) {
    std::string out;
    append_base64(out, text);
    for (char& one : out) one = one == '+' ? '-' : one == '/' ? '_' : one;
    out.erase(out.find_last_not_of('=') + 1);
    return out;
  }

  enabled_plugin plugin_;
};

}  // namespace outboxd::test
