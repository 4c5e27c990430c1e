#include "event_kind.hpp"

namespace outboxd::chaos {

std::string_view name_of(event_kind what) {
  switch (what) {
    case event_kind::good:
      return "good";
    case event_kind::long_header_name:
      return "long_header_name";
    case event_kind::long_routing_key:
      return "long_routing_key";
    case event_kind::cc_header:
      return "cc_header";
    case event_kind::unroutable:
      return "unroutable";
    case event_kind::missing_exchange:
      return "missing_exchange";
  }
  return "?";
}

bool explains(event_kind what, std::string_view last_error) {
  const auto says = [&](std::string_view part) { return last_error.find(part) != std::string_view::npos; };
  switch (what) {
    case event_kind::good:
      return false;
    case event_kind::long_header_name:
      return says("header") && says("256 bytes");
    case event_kind::long_routing_key:
      return says("routing key") && says("256 bytes");
    case event_kind::cc_header:
      return says("\"CC\" is not a list");
    case event_kind::unroutable:
      return says("312 NO_ROUTE");
    case event_kind::missing_exchange:
      return says("404 NOT_FOUND") || says("403 ACCESS_REFUSED");
  }
  return false;
}

}  // namespace outboxd::chaos
