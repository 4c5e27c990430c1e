// principal: who asks the console, and what he may do.
#pragma once

#include <cstdint>
#include <string>

namespace outboxd::console {

enum class level : std::uint8_t { read, act };

// How he has shown who he is. What a browser sends by itself on behalf of any page is guarded otherwise.
enum class shown_by : std::uint8_t {
  nothing,        // no login is required
  session,        // a cookie, after a login
  authorization,  // a header that the client sets itself
  proxy,          // a proxy that is believed
};

struct principal {
  std::string name;  // for the page and the audit: of the proxy's user, or "read token"
  level may = level::read;
  shown_by how = shown_by::nothing;
  std::string key;  // the CSRF token is bound to this
};

}  // namespace outboxd::console
