#include "core/failure.hpp"

namespace outboxd {

judgement judge(failure why) {
  switch (why) {
    case failure::unencodable:
    case failure::unreadable:
      return {blame::event, remedy::dead_letter};
    case failure::returned:
    case failure::refused:
    case failure::forbidden:
    case failure::topic_forbidden:
    case failure::connection_closed:
      return {blame::event, remedy::retry};
    case failure::login_refused:
    case failure::nacked:
    case failure::unconfirmed:
    case failure::destination_down:
    case failure::not_sent:
      return {blame::nobody, remedy::retry_for_ever};
  }
  return {blame::nobody, remedy::retry_for_ever};
}

std::string_view name_of(failure why) {
  switch (why) {
    case failure::unencodable:
      return "unencodable";
    case failure::returned:
      return "returned";
    case failure::refused:
    case failure::forbidden:
    case failure::topic_forbidden:
      return "refused";
    case failure::login_refused:
      return "login_refused";
    case failure::nacked:
      return "nacked";
    case failure::unconfirmed:
      return "unconfirmed";
    case failure::destination_down:
      return "destination_down";
    case failure::not_sent:
      return "not_sent";
    case failure::unreadable:
      return "unreadable";
    case failure::connection_closed:
      return "connection_closed";
  }
  return {};
}

}  // namespace outboxd
