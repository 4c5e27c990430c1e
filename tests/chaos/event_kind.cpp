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

std::optional<std::string_view> reason_of(event_kind what) {
  switch (what) {
    case event_kind::good:
      return std::nullopt;
    case event_kind::long_header_name:
      return "header";
    case event_kind::long_routing_key:
      return "routing key";
    case event_kind::cc_header:
      return "CC";
    case event_kind::unroutable:
      return "312 NO_ROUTE";
    case event_kind::missing_exchange:
      return "404 NOT_FOUND";
  }
  return std::nullopt;
}

}  // namespace outboxd::chaos
