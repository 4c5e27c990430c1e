// core_failure_test: the table of whose fault it is.
#include <doctest/doctest.h>

#include <string>

#include "core/failure.hpp"

using namespace outboxd;

TEST_CASE("every failure has its blame and its remedy") {
  struct {
    failure why;
    blame whose;
    remedy what;
    const char* name;
  } const all[] = {
      {failure::unencodable, blame::event, remedy::bury, "unencodable"},
      {failure::returned, blame::event, remedy::retry, "returned"},
      {failure::refused, blame::event, remedy::retry, "refused"},
      {failure::nacked, blame::nobody, remedy::retry_for_ever, "nacked"},
      {failure::channel_closed, blame::unknown, remedy::isolate, "channel_closed"},
      {failure::broker_unavailable, blame::broker, remedy::give_back, "broker_unavailable"},
      {failure::outbox_unavailable, blame::database, remedy::give_back, "outbox_unavailable"},
  };
  for (const auto& one : all) {
    CAPTURE(one.name);
    CHECK(judge(one.why).whose == one.whose);
    CHECK(judge(one.why).what == one.what);
    CHECK(name_of(one.why) == one.name);
  }
}

TEST_CASE("an outage of either server counts no attempt") {
  for (const failure outage :
       {failure::broker_unavailable, failure::outbox_unavailable, failure::channel_closed})
    CHECK(judge(outage).what != remedy::retry);
}

TEST_CASE("four reply codes of a closed channel are about a message") {
  for (int code = 200; code < 600; ++code) {
    CAPTURE(code);
    const bool expected = code == 311 || code == 403 || code == 404 || code == 406;
    CHECK(is_about_a_message(static_cast<std::uint16_t>(code)) == expected);
  }
}
