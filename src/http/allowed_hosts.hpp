// allowed_hosts: decides which values of the Host header are accepted. A web page can make a browser send
// requests to 127.0.0.1 under the page's own host name (DNS rebinding); the header contains that name. The
// attacker owns the name in the public DNS, so it contains a dot, and does not end like the name of a
// Kubernetes service: `svc` is not a top-level domain.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace outboxd::http {

class allowed_hosts {
 public:
  // Accepts IP addresses, names without a dot (localhost, a Compose service), and names of Kubernetes
  // services.
  allowed_hosts() = default;

  // Also accepts these names, separated by commas; "*" means all names, and empty means none. The error
  // describes the allowed values. `setting`: the name of the setting, for messages to rejected clients.
  static result<allowed_hosts> parse(std::string_view text, std::string_view setting = "http.allowed_hosts");

  // `host`: the value of the header, with or without a port.
  bool allow(std::string_view host) const;

  const std::string& setting() const { return setting_; }

 private:
  std::vector<std::string> names_;  // lower case
  bool every_ = false;
  std::string setting_ = "http.allowed_hosts";
};

}  // namespace outboxd::http
