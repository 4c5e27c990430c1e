// principal: the user of a request, and the user's rights.
#pragma once

#include <cstdint>
#include <string>

namespace outboxd::console {

enum class level : std::uint8_t { read, act };

// How the user was authenticated. Credentials that a browser sends automatically for any page need further
// protection.
enum class shown_by : std::uint8_t {
  nothing,        // no login is required
  session,        // a cookie set by a login
  authorization,  // a header that the client sets itself
  proxy,          // the header of a trusted proxy
};

struct principal {
  std::string name;  // for the page and the audit: the proxy's user, or "read token"
  level may = level::read;
  shown_by how = shown_by::nothing;
  std::string key;  // the CSRF token is bound to this
};

}  // namespace outboxd::console
