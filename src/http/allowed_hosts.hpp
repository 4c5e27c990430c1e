// allowed_hosts: which Host header is answered. A web page can make a browser ask 127.0.0.1 under a name of
// its own (DNS rebinding); it then sends that name. Whoever does this owns the name in the public DNS, so the
// name has a dot, and does not end like a service's in Kubernetes: `svc` is no top-level domain.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace outboxd::http {

class allowed_hosts {
 public:
  // IP addresses, names without a dot (localhost, a service of Compose), and names of services in Kubernetes.
  allowed_hosts() = default;

  // These names as well, separated by commas; "*" is every name, empty is none. The error says what is
  // allowed. `setting`: the name of the setting, for refused clients.
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
