// core_failure_test: the table of what follows a failure.
#include <doctest/doctest.h>

#include <string>

#include "core/failure.hpp"

namespace core_failure_test {

using namespace outboxd;

TEST_CASE("every failure has its remedy: a destination's costs no attempt") {
  struct {
    failure why;
    remedy what;
    const char* name;
  } const all[] = {
      {failure::unencodable, remedy::dead_letter, "unencodable"},
      {failure::unreadable, remedy::dead_letter, "unreadable"},
      {failure::channel_closed, remedy::retry_with_backoff, "channel_closed"},
      {failure::connection_closed, remedy::retry_with_backoff, "connection_closed"},
      {failure::returned, remedy::wait_for_destination, "returned"},
      {failure::refused, remedy::wait_for_destination, "refused"},
      {failure::forbidden, remedy::wait_for_destination, "refused"},
      {failure::topic_forbidden, remedy::wait_for_destination, "refused"},
      {failure::nacked, remedy::wait_for_destination, "nacked"},
      {failure::unconfirmed, remedy::wait_for_destination, "unconfirmed"},
  };
  for (const auto& one : all) {
    CAPTURE(one.name);
    CHECK(judge(one.why) == one.what);
    CHECK(name_of(one.why) == one.name);
  }
}

}  // namespace core_failure_test
