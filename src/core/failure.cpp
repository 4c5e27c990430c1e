#include "core/failure.hpp"

namespace outboxd {

judgement judge(failure why) {
  switch (why) {
    case failure::unencodable:
    case failure::unreadable:
      return {blame::event, remedy::bury};
    case failure::returned:
    case failure::refused:
      return {blame::event, remedy::retry};
    case failure::nacked:
    case failure::unconfirmed:
      return {blame::nobody, remedy::retry_for_ever};
    case failure::channel_closed:
      return {blame::unknown, remedy::isolate};
    case failure::broker_unavailable:
      return {blame::broker, remedy::give_back};
    case failure::outbox_unavailable:
      return {blame::database, remedy::give_back};
  }
  return {blame::unknown, remedy::give_back};
}

std::string_view name_of(failure why) {
  switch (why) {
    case failure::unencodable:
      return "unencodable";
    case failure::returned:
      return "returned";
    case failure::refused:
      return "refused";
    case failure::nacked:
      return "nacked";
    case failure::unconfirmed:
      return "unconfirmed";
    case failure::unreadable:
      return "unreadable";
    case failure::channel_closed:
      return "channel_closed";
    case failure::broker_unavailable:
      return "broker_unavailable";
    case failure::outbox_unavailable:
      return "outbox_unavailable";
  }
  return {};
}

bool is_about_a_message(std::uint16_t reply_code) {
  constexpr std::uint16_t content_too_large = 311;
  constexpr std::uint16_t access_refused = 403;
  constexpr std::uint16_t not_found = 404;
  constexpr std::uint16_t precondition_failed = 406;
  return reply_code == content_too_large || reply_code == access_refused || reply_code == not_found ||
         reply_code == precondition_failed;
}

}  // namespace outboxd
