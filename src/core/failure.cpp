#include "core/failure.hpp"

namespace outboxd {

remedy judge(failure why) {
  switch (why) {
    case failure::unencodable:
    case failure::unreadable:
      return remedy::dead_letter;
    case failure::channel_closed:
    case failure::connection_closed:
      return remedy::retry_with_backoff;
    case failure::returned:
    case failure::refused:
    case failure::forbidden:
    case failure::topic_forbidden:
    case failure::nacked:
    case failure::unconfirmed:
      return remedy::wait_for_destination;
  }
  return remedy::wait_for_destination;
}

std::string_view name_of(failure why) {
  switch (why) {
    case failure::unencodable:
      return "unencodable";
    case failure::unreadable:
      return "unreadable";
    case failure::channel_closed:
      return "channel_closed";
    case failure::connection_closed:
      return "connection_closed";
    case failure::returned:
      return "returned";
    case failure::refused:
    case failure::forbidden:
    case failure::topic_forbidden:
      return "refused";
    case failure::nacked:
      return "nacked";
    case failure::unconfirmed:
      return "unconfirmed";
  }
  return {};
}

}  // namespace outboxd
