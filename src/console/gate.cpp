#include "console/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "console/origin.hpp"
#include "core/text.hpp"
#include "core/utf8.hpp"

namespace outboxd::console {
namespace {

using nlohmann::json;

constexpr std::string_view cookie_name = "outboxd_console";
constexpr std::size_t longest_token = 4'096;
constexpr std::size_t longest_name = 200;

http::response as_json(int status, const json& body) {
  return {status, "application/json", body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n", {}};
}

std::string_view word_of(level may) {
  return may == level::act ? "act" : "read";
}

bool is_post(const http::request& asked) {
  return asked.method == "POST";
}

// The scheme before the token; it is case-insensitive (RFC 9110).
std::optional<std::string_view> after_scheme(std::string_view header, std::string_view scheme) {
  if (header.size() <= scheme.size() || header[scheme.size()] != ' ') return std::nullopt;
  if (!http::same_header(header.substr(0, scheme.size()), scheme)) return std::nullopt;
  return trimmed(header.substr(scheme.size()));
}

}  // namespace

http::response refused(int status, std::string_view code, std::string_view message) {
  return as_json(status, {{"error", {{"code", code}, {"message", message}}}});
}

logins::logins() : key(random_secret()) {}

level gate::at_most(level may) const {
  return on_.access == app::console_access::act ? may : level::read;
}

std::optional<level> gate::level_of(std::string_view token) const {
  std::optional<level> out;
  if (token.empty() || token.size() > longest_token) return out;
  // Both tokens are always compared, so that the duration reveals nothing.
  for (const auto& [known, may] : {std::pair{&on_.read_token, level::read}, {&on_.act_token, level::act}}) {
    if (!*known) continue;
    const auto now = (*known)();
    if (now && same_secret(token, *now)) out = may;
  }
  return out;
}

std::optional<principal> gate::by_proxy(const http::request& asked) const {
  if (on_.proxy_header.empty()) return std::nullopt;
  const auto& proxies = on_.proxy_addresses;
  if (std::find(proxies.begin(), proxies.end(), asked.peer) == proxies.end()) return std::nullopt;
  const auto name = asked.header(on_.proxy_header);
  if (!name || name->empty()) return std::nullopt;
  const auto& users = on_.act_users;
  const bool acts = std::any_of(users.begin(), users.end(),
                                [&](const std::string& one) { return one == "*" || one == *name; });
  const auto valid = valid_utf8(*name);
  return principal{std::string(whole_characters(valid, longest_name)),
                   at_most(acts ? level::act : level::read), shown_by::proxy, fmt::format("user:{}", *name)};
}

std::optional<principal> gate::by_session(const http::request& asked, clock::time_point now) {
  const auto id = cookie(asked, cookie_name);
  if (!id) return std::nullopt;
  const auto found = sessions_.find(*id, now);
  if (!found) return std::nullopt;
  const auto& token = found->may == level::act ? on_.act_token : on_.read_token;
  const auto is_now = token ? token() : result<std::string>(permanent(""));
  if (!is_now || sha256(*is_now) != found->token) {
    sessions_.end(*id);
    return std::nullopt;
  }
  return principal{fmt::format("{} token", word_of(found->may)), at_most(found->may), shown_by::session,
                   fmt::format("session:{}", *id)};
}

gate::decision gate::by_authorization(std::string_view header, clock::time_point now) {
  if (!pace_.may_try(now)) {
    auto out = refused(429, "too_many_attempts", "too many wrong tokens; try again later");
    out.headers.emplace_back("Retry-After", std::to_string(pace_.wait(now).count()));
    return out;
  }
  std::string token;
  if (const auto bearer = after_scheme(header, "Bearer")) {
    token = *bearer;
  } else if (const auto basic = after_scheme(header, "Basic")) {
    const auto decoded = from_base64(*basic).value_or("");  // the user name is ignored
    const auto colon = decoded.find(':');
    if (colon != std::string::npos) token = decoded.substr(colon + 1);
  }
  if (const auto may = level_of(token))
    return principal{fmt::format("{} token", word_of(*may)), at_most(*may), shown_by::authorization,
                     fmt::format("token:{}", hexadecimal(sha256(token)))};
  pace_.was_wrong(now);
  return refused(401, "wrong_token", "this token is not known");
}

gate::decision gate::who(const http::request& asked, clock::time_point now) {
  if (!on_.asks_who()) return principal{"anybody", level::read, shown_by::nothing, "anybody"};
  // A name from a trusted proxy takes precedence over a session of the browser.
  if (auto named = by_proxy(asked)) return *std::move(named);
  if (const auto header = asked.header("Authorization")) return by_authorization(*header, now);
  if (auto logged_in = by_session(asked, now)) return *std::move(logged_in);
  auto out = refused(401, "login_needed", "log in: this console asks for a token");
  out.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"outboxd\"");
  return out;
}

std::optional<http::response> gate::wrong_with_post(const http::request& asked, bool needs_origin) const {
  const bool says_origin = std::any_of(asked.headers.begin(), asked.headers.end(), [](const auto& one) {
    return http::same_header(one.first, "Origin");
  });
  if ((needs_origin || says_origin) && !is_own(asked, on_.public_url))
    return refused(403, "foreign_origin",
                   "this request does not come from the console's own page; behind a proxy, set "
                   "console.public_url");
  if (asked.header("Content-Type").value_or("") != "application/json")
    return refused(415, "not_json", "the body has to be application/json");
  return std::nullopt;
}

gate::decision gate::look(const http::request& asked, clock::time_point now) {
  if (!may_be_own(asked))
    return refused(403, "foreign_origin", "requests from pages of other sites are refused");
  auto found = who(asked, now);
  if (!is_post(asked) || std::holds_alternative<http::response>(found)) return found;
  const auto& by = std::get<principal>(found);
  if (auto wrong = wrong_with_post(asked, by.how != shown_by::authorization)) return *std::move(wrong);
  if (by.may != level::act)
    return refused(403, "may_only_look",
                   on_.access == app::console_access::act
                       ? "you may look here, and not act"
                       : "this console permits only looking: console.access = read");
  if (!same_secret(asked.header("X-CSRF-Token").value_or(""), csrf_token(by)))
    return refused(403, "no_csrf_token", "the page is out of date; load it again");
  return found;
}

http::response gate::login(const http::request& asked, clock::time_point now) {
  if (!is_post(asked)) return refused(405, "method", "POST it");
  if (auto wrong = wrong_with_post(asked, true)) return *std::move(wrong);
  const auto given = json::parse(asked.body, nullptr, false);
  const auto token = given.is_object() ? given.find("token") : given.end();
  if (!given.is_object() || token == given.end() || !token->is_string())
    return refused(400, "no_token", "a login is {\"token\": \"…\"}");
  const auto found = by_authorization("Bearer " + token->get<std::string>(), now);
  if (const auto* why = std::get_if<http::response>(&found)) return *why;
  if (const auto old = cookie(asked, cookie_name)) sessions_.end(*old);
  const auto may = level_of(token->get<std::string>());
  if (!may) return refused(401, "wrong_token", "this token is not known");
  auto out = as_json(200, {{"may", word_of(at_most(*may))}});
  out.headers.emplace_back("Set-Cookie",
                           cookie_line(asked, sessions_.begin(*may, token->get<std::string>(), now), false));
  return out;
}

http::response gate::logout(const http::request& asked) {
  if (!is_post(asked)) return refused(405, "method", "POST it");
  if (auto wrong = wrong_with_post(asked, true)) return *std::move(wrong);
  if (const auto id = cookie(asked, cookie_name)) sessions_.end(*id);
  auto out = as_json(200, json::object());
  out.headers.emplace_back("Set-Cookie", cookie_line(asked, "", true));
  return out;
}

http::response gate::session(const http::request& asked, clock::time_point now, const json& more) {
  const auto found = look(asked, now);
  if (const auto* why = std::get_if<http::response>(&found)) return *why;
  const auto& by = std::get<principal>(found);
  json out{{"name", by.name},
           {"may", word_of(by.may)},
           {"logged_in", by.how == shown_by::session},
           {"payloads", may_see_payloads(by)},
           {"csrf", csrf_token(by)}};
  out.update(more);
  return as_json(200, out);
}

bool gate::may_see_payloads(const principal& by) const {
  switch (on_.payloads) {
    case app::console_access::off:
      return false;
    case app::console_access::read:
      return true;
    case app::console_access::act:
      return by.may == level::act;
  }
  return false;
}

std::string gate::csrf_token(const principal& of) const {
  return hexadecimal(hmac_sha256(key_, "csrf:" + of.key));
}

// - Strict: the cookie is not sent with cross-site requests.
// - HttpOnly: scripts cannot read the cookie.
// - Secure: only if the browser uses TLS; without TLS, on a loopback address, it would not be stored.
std::string gate::cookie_line(const http::request& asked, std::string_view value, bool ends) const {
  const auto& page = on_.public_url;
  const auto origin = asked.header("Origin").value_or("");
  const bool is_public = page && origin == origin_of(*page);
  return fmt::format("{}={}; Path={}/; HttpOnly; SameSite=Strict{}{}", cookie_name, value,
                     is_public ? page->path : "", origin.starts_with("https://") ? "; Secure" : "",
                     ends ? "; Max-Age=0" : "");
}

}  // namespace outboxd::console
