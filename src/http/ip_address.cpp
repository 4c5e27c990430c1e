#include "http/ip_address.hpp"

#include <arpa/inet.h>

#include <array>
#include <string>

namespace outboxd::http {
namespace {

bool is_ip(int family, std::string_view text) {
  std::array<unsigned char, sizeof(in6_addr)> unused{};
  return text.find('\0') == std::string_view::npos &&
         ::inet_pton(family, std::string(text).c_str(), unused.data()) == 1;
}

}  // namespace

bool is_ipv4(std::string_view text) {
  return is_ip(AF_INET, text);
}

bool is_ipv6(std::string_view text) {
  return is_ip(AF_INET6, text);
}

}  // namespace outboxd::http
