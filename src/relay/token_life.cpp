#include "relay/token_life.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;

// A token that expires later counts as one that does not expire.
constexpr wall_time latest_end = std::chrono::sys_days(std::chrono::year(2200) / 1 / 1);

// Decodes base64url without padding (RFC 4648, section 5). Returns an empty text for anything else.
std::string base64url_decoded(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  unsigned bits = 0;
  int held = 0;
  for (const char one : text) {
    const auto value = digits.find(one);
    if (value == std::string_view::npos) return {};
    bits = (bits << 6 | static_cast<unsigned>(value)) & 0xFFFFU;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>(bits >> held);
  }
  return out;
}

// Returns the second of three parts (RFC 7515, section 7.1). Returns an empty text if there are fewer or more
// parts.
std::string_view claims_of(std::string_view token) {
  const auto first = token.find('.');
  if (first == std::string_view::npos) return {};
  const auto second = token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) return {};
  return token.substr(first + 1, second - first - 1);
}

}  // namespace

std::optional<wall_time> end_of_token(std::string_view password) {
  const auto claims = nlohmann::json::parse(base64url_decoded(claims_of(password)), nullptr, false);
  if (!claims.is_object()) return std::nullopt;
  const auto end = claims.find("exp");
  if (end == claims.end() || !end->is_number()) return std::nullopt;
  const auto seconds = end->get<double>();  // a fraction is allowed
  if (!(seconds > 0) || seconds > static_cast<double>(latest_end.time_since_epoch().count()))
    return std::nullopt;
  return wall_time(std::chrono::seconds(static_cast<std::int64_t>(seconds)));
}

wall_time renewal_of(wall_time now, wall_time end) {
  return end - std::clamp<std::chrono::seconds>((end - now) / 3, 0s, 60s);
}

}  // namespace outboxd::relay
