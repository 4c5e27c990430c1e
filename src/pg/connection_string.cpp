#include "pg/connection_string.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>

#include "core/percent_encoding.hpp"

namespace outboxd::pg {
namespace {

using options = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

bool is_uri(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

// After an unencoded @ or / in a password, libpq takes the rest as host, port or database, which are printed.
bool has_stray_at(std::string_view text) {
  if (!is_uri(text)) return false;
  text.remove_prefix(text.find("://") + 3);
  const auto end = text.find_first_of("@/");
  if (end != std::string_view::npos && text[end] == '@') text.remove_prefix(end + 1);
  return text.substr(0, text.find('?')).find('@') != std::string_view::npos;
}

options parse(const std::string& text) {
  if (has_stray_at(text)) return {nullptr, &PQconninfoFree};
  char* words = nullptr;
  options parsed(PQconninfoParse(text.c_str(), &words), &PQconninfoFree);
  PQfreemem(words);  // never shown, because it may quote the string with the password
  return parsed;
}

std::string find(const PQconninfoOption* from, std::string_view keyword) {
  for (; from != nullptr && from->keyword != nullptr; ++from)
    if (from->keyword == keyword) return from->val != nullptr ? from->val : "";
  return {};
}

constexpr std::string_view password_mask = "***";

// libpq flags the options that a dialog should display as asterisks.
bool is_password(const PQconninfoOption& one) {
  return one.dispchar != nullptr && *one.dispchar == '*';
}

// True if the string contains a password that is not masked.
bool holds_password(const options& parsed) {
  for (const PQconninfoOption* one = parsed.get(); one != nullptr && one->keyword != nullptr; ++one)
    if (is_password(*one) && one->val != nullptr && *one->val != '\0' && one->val != password_mask)
      return true;
  return false;
}

// For postgresql://user:password@host
std::string mask_userinfo(const std::string& text) {
  const auto scheme = text.find("://");
  if (scheme == std::string::npos) return text;
  const auto begin = scheme + 3;
  const auto end = text.find_first_of("@/", begin);
  const auto colon = text.find(':', begin);
  if (end == std::string::npos || text[end] != '@' || colon == std::string::npos || colon > end) return text;
  return text.substr(0, colon + 1) + std::string(password_mask) + text.substr(end);
}

// Quotes a value for key=value pairs (manual, "Keyword/Value Connection Strings").
std::string keyword_value(std::string_view value) {
  std::string out = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + "'";
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  for (;;) {
    const auto comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

constexpr std::array<std::string_view, 6> ssl_modes{"disable", "allow",     "prefer",
                                                    "require", "verify-ca", "verify-full"};

// Parameters of other drivers that libpq does not know: Prisma's, JDBC's, pgx's and Rails'.
constexpr std::array<std::string_view, 20> foreign_parameters{
    "schema",           "connection_limit",        "pool_timeout",  "pgbouncer",           "socket_timeout",
    "sslaccept",        "statement_cache_size",    "currentSchema", "ApplicationName",     "stringtype",
    "prepareThreshold", "socketTimeout",           "loginTimeout",  "search_path",         "pool_max_conns",
    "pool_min_conns",   "default_query_exec_mode", "pool",          "prepared_statements", "encoding"};

// Returns which of them a URI contains. No other name is shown, because it could be part of a password.
std::string_view foreign_parameter(std::string_view text) {
  const auto begin = text.find('?');
  if (!is_uri(text) || begin == std::string_view::npos) return {};
  for (auto rest = text.substr(begin); !rest.empty();) {
    rest.remove_prefix(1);
    const auto one = rest.substr(0, rest.find('&'));
    const auto* const found =
        std::find(foreign_parameters.begin(), foreign_parameters.end(), one.substr(0, one.find('=')));
    if (found != foreign_parameters.end()) return *found;
    rest.remove_prefix(one.size());
  }
  return {};
}

bool is_port(std::string_view text) {
  int port = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  return failed == std::errc() && end == text.data() + text.size() && port > 0 && port <= 65535;
}

}  // namespace

result<void> check_connection_string(std::string_view text) {
  const options parsed = parse(std::string(text));
  if (const auto name = parsed ? std::string_view() : foreign_parameter(text); !name.empty())
    return permanent(fmt::format("has the parameter '{}', which PostgreSQL does not know; leave it out{}",
                                 name,
                                 name == "schema" ? " (outbox.schema names the schema of the outbox)" : ""));
  if (!parsed)
    return permanent(
        "is not a connection string that PostgreSQL understands; use postgresql://user@host:5432/database or "
        "key=value pairs, and percent-encode @ : / in a password");
  const auto ports = split(find(parsed.get(), "port"));
  for (const auto& port : ports)
    if (!port.empty() && !is_port(port))
      return permanent("has a port that is not a number from 1 to 65535; percent-encode @ : / in a password");
  if (const auto mode = find(parsed.get(), "sslmode");
      !mode.empty() && std::find(ssl_modes.begin(), ssl_modes.end(), mode) == ssl_modes.end())
    return permanent(
        fmt::format("has an sslmode that PostgreSQL does not know; use {}", fmt::join(ssl_modes, ", ")));
  return {};
}

std::vector<host_entry> hosts_of(const std::string& text) {
  if (!check_connection_string(text)) return {};
  const options parsed = parse(text);
  if (!find(parsed.get(), "service").empty()) return {};
  const options defaults(PQconndefaults(), &PQconninfoFree);
  const auto value = [&](std::string_view keyword) {
    auto own = find(parsed.get(), keyword);
    return own.empty() ? find(defaults.get(), keyword) : own;
  };
  const auto list = [&](std::string_view keyword) {
    const auto text_of = value(keyword);
    return text_of.empty() ? std::vector<std::string>() : split(text_of);
  };
  const auto hosts = list("host");
  const auto addresses = list("hostaddr");
  if (!hosts.empty() && !addresses.empty() && hosts.size() != addresses.size()) return {};
  const auto ports = split(value("port"));
  const auto at = [](const std::vector<std::string>& all, std::size_t i) {
    return i < all.size() ? all[i] : std::string();
  };
  std::vector<host_entry> entries;
  for (std::size_t i = 0; i < std::max(hosts.size(), addresses.size()); ++i)
    entries.push_back({at(hosts, i), ports.size() == 1 ? ports[0] : at(ports, i), at(addresses, i)});
  return entries;
}

// Does not use libpq's defaults, which would always provide a value.
bool says_session_attrs(const std::string& text) {
  const options parsed = parse(text);
  return !find(parsed.get(), "target_session_attrs").empty() ||
         std::getenv("PGTARGETSESSIONATTRS") != nullptr;
}

login_target target_of(const std::string& text) {
  const options parsed = parse(text);
  const options defaults(PQconndefaults(), &PQconninfoFree);
  const auto value = [&](std::string_view keyword) {
    auto own = find(parsed.get(), keyword);
    return own.empty() ? find(defaults.get(), keyword) : own;
  };
  return {.user = value("user"),
          .host = value("hostaddr").empty() ? value("host") : value("hostaddr"),
          .port = value("port"),
          .database = value("dbname").empty() ? value("user") : value("dbname")};
}

std::string display(const std::string& text) {
  if (!check_connection_string(text)) return "a database (the connection string is not valid)";
  const login_target to = target_of(text);
  return fmt::format("database '{}' at {}:{} as user '{}'", to.database,
                     to.host.empty() ? "the local socket" : to.host, to.port, to.user);
}

std::string without_passwords(const std::string& text) {
  if (!holds_password(parse(text))) return text;
  if (auto masked = mask_userinfo(text); !holds_password(parse(masked))) return masked;
  std::string pairs;
  const options parsed = parse(text);
  for (const PQconninfoOption* one = parsed.get(); one != nullptr && one->keyword != nullptr; ++one)
    if (one->val != nullptr)
      pairs += fmt::format("{}{}={}", pairs.empty() ? "" : " ", one->keyword,
                           is_password(*one) ? password_mask : keyword_value(one->val));
  return pairs;
}

bool has_password(const std::string& text) {
  return !find(parse(text).get(), "password").empty();
}

std::string with_password(const std::string& text, std::string_view password) {
  if (!is_uri(text)) return fmt::format("{} password={}", text, keyword_value(password));
  const bool goes_on = text.ends_with('?') || text.ends_with('&');
  return fmt::format("{}{}password={}", text,
                     goes_on                               ? ""
                     : text.find('?') == std::string::npos ? "?"
                                                           : "&",
                     percent_encoded(password));
}

std::string one_line(std::string_view words) {
  std::string line;
  for (const char c : words) {
    const bool blank = c == '\n' || c == '\t' || c == '\r' || c == ' ';
    if (!blank) {
      line.push_back(c);
    } else if (!line.empty() && line.back() != ' ') {
      line.push_back(' ');
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

login_refusal parse_refusal(std::string_view words) {
  constexpr std::size_t sqlstate_length = 5;
  const auto is_code = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
  // "…: FATAL:  28P01: password authentication failed…\nLOCATION:  …"; the severity may be translated.
  for (auto at = words.find(":  "); at != std::string_view::npos; at = words.find(":  ", at + 1)) {
    const auto code = words.substr(at + 3, sqlstate_length);
    const auto rest = words.substr(std::min(words.size(), at + 3 + sqlstate_length));
    if (code.size() == sqlstate_length && std::all_of(code.begin(), code.end(), is_code) &&
        rest.starts_with(": "))
      return {std::string(code), one_line(rest.substr(2, rest.find('\n') - 2))};
  }
  return {{}, one_line(words)};
}

}  // namespace outboxd::pg
