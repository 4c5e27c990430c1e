// transport_risk: only verify-full leaves no risk.
#include "pg/transport_risk.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace outboxd::pg {

bool on_this_machine(const std::string& server) {
  constexpr std::array<std::string_view, 5> local{"the local socket:", "/", "@", "127.", "localhost:"};
  for (const std::string_view one : local)
    if (server.starts_with(one)) return true;
  return server.starts_with("::1:") || server.starts_with("[::1]");
}

std::optional<std::string> transport_risk(const std::string& server, bool encrypted,
                                          const std::string& sslmode) {
  if (on_this_machine(server) || (encrypted && sslmode == "verify-full")) return std::nullopt;
  if (encrypted) return fmt::format("TLS, but sslmode is {}: the server may be anybody", sslmode);
  return fmt::format("no TLS to {} (sslmode {}): the network can read events and change them", server,
                     sslmode.empty() ? "prefer" : sslmode);
}

}  // namespace outboxd::pg
