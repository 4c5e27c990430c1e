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
      {failure::channel_closed, remedy::retry, "channel_closed"},
      {failure::connection_closed, remedy::retry, "connection_closed"},
      {failure::returned, remedy::wait, "returned"},
      {failure::refused, remedy::wait, "refused"},
      {failure::forbidden, remedy::wait, "refused"},
      {failure::topic_forbidden, remedy::wait, "refused"},
      {failure::nacked, remedy::wait, "nacked"},
      {failure::unconfirmed, remedy::wait, "unconfirmed"},
  };
  for (const auto& one : all) {
    CAPTURE(one.name);
    CHECK(judge(one.why) == one.what);
    CHECK(name_of(one.why) == one.name);
  }
}

}  // namespace core_failure_test
