#include "http/message.hpp"

#include <algorithm>
#include <cctype>

namespace outboxd::http {

bool same_header(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

std::optional<std::string_view> request::header(std::string_view name) const {
  const auto is_it = [name](const auto& one) { return same_header(one.first, name); };
  const auto first = std::find_if(headers.begin(), headers.end(), is_it);
  if (first == headers.end() || std::any_of(std::next(first), headers.end(), is_it)) return std::nullopt;
  return first->second;
}

later_handler answers_at_once(handler answer) {
  return [answer = std::move(answer)](const request& asked) -> boost::asio::awaitable<response> {
    co_return answer(asked);
  };
}

}  // namespace outboxd::http
