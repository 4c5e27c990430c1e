// destinations_script: outcomes for destinations, and what is said and probed then.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "flow/dispatch/destinations.hpp"

namespace outboxd::flow {

inline constexpr int here = 0;
inline constexpr int there = 1;

struct destinations_script {
  clock::time_point now{std::chrono::hours(1)};
  std::string said;
  destinations it{{.on_down =
                       [this](const destination_report& what, std::string_view reason) {
                         said += fmt::format("down {}/{} {}; ", what.which.exchange, what.which.routing_key,
                                             reason);
                       },
                   .on_still_down =
                       [this](const destination_report& what) {
                         said += fmt::format("still {} keys {} events; ", what.keys, what.events);
                       },
                   .on_up =
                       [this](const destination_report& what, bool works) {
                         said += fmt::format("{} {}/{}; ", works ? "up" : "over", what.which.exchange,
                                             what.which.routing_key);
                       }}};
  const destination orders{"outbox", "orders"};
  const destination bills{"outbox", "bills"};
  std::int64_t seq = 0;

  // A new event; or one that waits, as the table brings it.
  destination_id fail(const destination& to, failure why = failure::returned) {
    return it.on_failed(to, why, {.seq = ++seq}, here, "reason", now);
  }
  void fail_again(const destination& to, std::int64_t which, failure why = failure::returned) {
    it.on_failed(to, why, waiting(to, which, why), here, "reason", now);
  }
  void deliver(const destination& to) { it.on_delivered(to, {.seq = ++seq}, now); }
  void deliver_again(const destination& to, std::int64_t which) {
    it.on_delivered(to, waiting(to, which, failure::returned), now);
  }
  static destinations::sent_event waiting(const destination& to, std::int64_t which, failure why) {
    return {.seq = which, .waited_for = concerns_exchange(why) ? exchange_id_of(to) : id_of(to)};
  }
  bool sends(const destination& to) const { return !it.find_block(to); }

  std::vector<destinations::look_up> take(int client = here) { return it.take_due(client, 1'000, now); }
  // Takes the probe that is due, which the table answers with this event.
  void probe(const destination& to, std::int64_t which) {
    const auto due = take();
    REQUIRE(due.size() == 1);
    CHECK(due[0].of == id_of(to));
    CHECK_FALSE(due[0].all);
    it.on_probe(due[0].of, which);
  }
  // The pause until the next probe.
  clock::duration pause() { return it.next_due(here, now) - now; }
};

}  // namespace outboxd::flow
