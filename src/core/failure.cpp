#include "core/failure.hpp"

namespace outboxd {

judgement judge(failure why) {
  switch (why) {
    case failure::unencodable:
    case failure::unreadable:
      return {blame::event, remedy::bury};
    case failure::returned:
    case failure::refused:
    case failure::forbidden:
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

bool is_about_a_message(std::uint16_t reply_code) {
  constexpr std::uint16_t content_too_large = 311;
  constexpr std::uint16_t access_refused = 403;
  constexpr std::uint16_t not_found = 404;
  constexpr std::uint16_t precondition_failed = 406;
  return reply_code == content_too_large || reply_code == access_refused || reply_code == not_found ||
         reply_code == precondition_failed;
}

bool is_about_an_exchange(std::string_view reply) {
  return reply.starts_with("403 ") || reply.starts_with("404 ");
}

bool is_a_fault(std::uint16_t reply_code) {
  constexpr std::uint16_t frame_error = 501;
  constexpr std::uint16_t unexpected_frame = 505;
  constexpr std::uint16_t not_implemented = 540;
  constexpr std::uint16_t internal_error = 541;
  return (reply_code >= frame_error && reply_code <= unexpected_frame) || reply_code == not_implemented ||
         reply_code == internal_error;
}

}  // namespace outboxd
