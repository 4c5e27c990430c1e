#include "console/query.hpp"

#include <algorithm>

#include "core/percent_encoding.hpp"

namespace outboxd::console {

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

std::string_view query_of(std::string_view target) {
  return target.substr(std::min(target.find('?'), target.size()));
}

std::string parameter(std::string_view target, std::string_view name) {
  const auto mark = target.find('?');
  if (mark == std::string_view::npos) return {};
  auto rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const auto end = std::min(rest.find('&'), rest.size());
    const auto one = rest.substr(0, end);
    const auto equals = std::min(one.find('='), one.size());
    if (one.substr(0, equals) == name) {
      std::string value(one.substr(std::min(equals + 1, one.size())));
      std::replace(value.begin(), value.end(), '+', ' ');  // URLSearchParams encodes a space as +
      return percent_decoded(value).value_or("");
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

}  // namespace outboxd::console
