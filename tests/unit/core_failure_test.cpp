// core_failure_test: the table of whose fault it is.
#include <doctest/doctest.h>

#include <string>

#include "core/failure.hpp"

namespace core_failure_test {

using namespace outboxd;

TEST_CASE("every failure has its blame and its remedy") {
  struct {
    failure why;
    blame whose;
    remedy what;
    const char* name;
  } const all[] = {
      {failure::unencodable, blame::event, remedy::dead_letter, "unencodable"},
      {failure::returned, blame::event, remedy::retry, "returned"},
      {failure::refused, blame::event, remedy::retry, "refused"},
      {failure::forbidden, blame::event, remedy::retry, "refused"},
      {failure::topic_forbidden, blame::event, remedy::retry, "refused"},
      {failure::login_refused, blame::nobody, remedy::retry_for_ever, "login_refused"},
      {failure::nacked, blame::nobody, remedy::retry_for_ever, "nacked"},
      {failure::connection_closed, blame::event, remedy::retry, "connection_closed"},
      {failure::unconfirmed, blame::nobody, remedy::retry_for_ever, "unconfirmed"},
      {failure::destination_down, blame::nobody, remedy::retry_for_ever, "destination_down"},
      {failure::not_sent, blame::nobody, remedy::retry_for_ever, "not_sent"},
      {failure::unreadable, blame::event, remedy::dead_letter, "unreadable"},
  };
  for (const auto& one : all) {
    CAPTURE(one.name);
    CHECK(judge(one.why).whose == one.whose);
    CHECK(judge(one.why).what == one.what);
    CHECK(name_of(one.why) == one.name);
  }
}

}  // namespace core_failure_test
