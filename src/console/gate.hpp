// gate: authenticates users. It checks each request before anything else handles it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>

#include "app/config/console_settings.hpp"
#include "console/login_pace.hpp"
#include "console/principal.hpp"
#include "console/sessions.hpp"
#include "http/message.hpp"

namespace outboxd::console {

// {"error": {"code": …, "message": …}}, the format of all errors of the console.
http::response refused(int status, std::string_view code, std::string_view message);

// Who is logged in. Several gates may share it.
struct logins {
  logins();

  const std::string key;  // of this process
  sessions open;
  login_pace pace;
};

class gate {
 public:
  using clock = std::chrono::steady_clock;
  using decision = std::variant<principal, http::response>;

  // Both have to outlive it.
  gate(const app::console_settings& on, logins& of)
      : on_(on), key_(of.key), sessions_(of.open), pace_(of.pace) {}

  // For a request for data or a change: returns the user, or the error response.
  decision look(const http::request& asked, clock::time_point now);

  // POST /api/login with {"token": …}. The response sets a cookie.
  http::response login(const http::request& asked, clock::time_point now);
  http::response logout(const http::request& asked);

  // True if the user may see payloads.
  bool may_see_payloads(const principal& by) const;

  // The user as the page shows it, the CSRF token of its POSTs, and what `more` has.
  http::response session(const http::request& asked, clock::time_point now, const nlohmann::json& more);

 private:
  std::optional<level> level_of(std::string_view token) const;
  std::optional<principal> by_proxy(const http::request& asked) const;
  std::optional<principal> by_session(const http::request& asked, clock::time_point now);
  decision by_authorization(std::string_view header, clock::time_point now);
  decision who(const http::request& asked, clock::time_point now);
  std::optional<http::response> wrong_with_post(const http::request& asked, bool needs_origin) const;
  level at_most(level may) const;
  std::string csrf_token(const principal& of) const;
  std::string cookie_line(const http::request& asked, std::string_view value, bool ends) const;

  const app::console_settings& on_;
  const std::string& key_;
  sessions& sessions_;
  login_pace& pace_;
};

}  // namespace outboxd::console
