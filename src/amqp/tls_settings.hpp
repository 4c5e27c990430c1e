// tls_settings: settings for TLS connections to the broker: files, and what to verify.
#pragma once

#include <cstdint>
#include <string>

namespace outboxd::amqp {

enum class verification : std::uint8_t {
  full,  // a trusted CA must have signed the broker's certificate, which must match the URL's host
  ca,    // a trusted CA must have signed the broker's certificate, for any host
  none,
};

struct tls_settings {
  std::string ca_file;           // PEM; empty: the CAs that the system trusts
  std::string certificate_file;  // PEM, the client certificate, followed by intermediate ones; empty: none
  std::string key_file;          // PEM, the private key of the client certificate
  verification verify = verification::full;
};

}  // namespace outboxd::amqp
