// tls_settings: the files that a TLS connection to the broker uses, and what it verifies.
#pragma once

#include <cstdint>
#include <string>

namespace outboxd::amqp {

enum class verification : std::uint8_t {
  full,  // the broker's certificate and that it is for the host of the URL
  ca,    // that a trusted CA has signed it, for any host
  none,
};

struct tls_settings {
  std::string ca_file;           // PEM; empty: those that the system trusts
  std::string certificate_file;  // PEM, ours, with intermediate ones behind it; empty: none
  std::string key_file;          // PEM, of that certificate
  verification verify = verification::full;
};

}  // namespace outboxd::amqp
