#include "http/allowed_hosts.hpp"

#include <algorithm>
#include <cctype>

#include "core/text.hpp"
#include "http/ip_address.hpp"

namespace outboxd::http {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// [::1] keeps its brackets, which distinguish it from a name.
std::string_view without_port(std::string_view host) {
  const auto colon = host.rfind(':');
  if (colon == std::string_view::npos || host.ends_with(']')) return host;
  const auto port = host.substr(colon + 1);
  const bool is_port = std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_port ? host.substr(0, colon) : host;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
  });
}

// Local names as described in the header. The long form contains the default domain of clusters.
bool is_local(std::string_view name) {
  return is_name(name) && (name.find('.') == std::string_view::npos || name.ends_with(".svc") ||
                           name.ends_with(".svc.cluster.local"));
}

}  // namespace

result<allowed_hosts> allowed_hosts::parse(std::string_view text, std::string_view setting) {
  allowed_hosts out;
  out.setting_ = setting;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto name = trimmed(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    if (name.empty()) continue;
    if (name == "*")
      out.every_ = true;
    else if (is_name(name))
      out.names_.push_back(lower(name));
    else
      return permanent("host names without a port, such as relay.internal, a list of these, or *");
  }
  return out;
}

bool allowed_hosts::allow(std::string_view host) const {
  if (every_) return true;
  const auto name = lower(without_port(host));
  if (name.starts_with('[') && name.ends_with(']')) return is_ipv6(name.substr(1, name.size() - 2));
  return is_local(name) || is_ipv4(name) || std::find(names_.begin(), names_.end(), name) != names_.end();
}

}  // namespace outboxd::http
