// What is changed after it was read: an event goes out as its row says when it is sent, and a row that was
// changed later than that does not say that it is what was sent.
#include <doctest/doctest.h>

#include <memory>

#include "patient_relay.hpp"
#include "support/suspended_queue.hpp"

namespace outboxd::test::changed_after_read_test {
namespace {

// A relay with events of one aggregate in memory: the first one is in flight to a queue that hangs.
struct held_up {
  explicit held_up(std::string kept_for = "7d")
      : running{on, {"--retention-published", std::move(kept_for)}} {
    hangs = std::make_unique<suspended_queue>(on.queue());
    session.exec("BEGIN");
    for (int i = 0; i < 6; ++i)
      ids.push_back(
          session.value("SELECT outbox.emit('order', '1', $1, '{\"says\": \"before\"}')", {on.key()}));
    session.exec("COMMIT");
    eventually(
        "all are in memory, and one is on its way",
        [&] {
          return metric(running, "outboxd_unsettled_events") == 6 &&
                 metric(running, "outboxd_confirms_in_flight") == 1;
        },
        time_limit);
  }

  // After that all but the first have waited for more than the second in which they may go out unseen.
  void wait() const {
    const auto sweeps = metric(running, "outboxd_sweeps_total");
    eventually(
        "seconds have passed", [&] { return metric(running, "outboxd_sweeps_total") >= sweeps + 3; },
        time_limit);
  }
  void change(int which, const std::string& how) {
    session.exec(fmt::format("UPDATE outbox.event SET {} WHERE id = $1", how),
                 {ids.at(static_cast<std::size_t>(which))});
  }
  std::string status(int which) {
    return session.value(
        "SELECT status || ' ' || coalesce(exception::text, '-') || ' ' || coalesce(last_error_code, '-')"
        " FROM outbox.event WHERE id = $1",
        {ids.at(static_cast<std::size_t>(which))});
  }

  stage on;
  patient_relay running;
  database session = on.connect();
  std::unique_ptr<suspended_queue> hangs;
  std::vector<std::string> ids;
};

}  // namespace

TEST_CASE("what is changed, put off or given up while it waits in memory goes out as its row says") {
  held_up its;
  its.wait();
  its.change(1, "payload = '{\"says\": \"after\"}', headers = '{\"x\": 1}'");
  its.change(2, "available_at = now() + interval '1 h'");
  its.change(3, "status = 'dead'");
  its.change(4, "status = 'published'");
  its.hangs.reset();
  eventually(
      "what may go out has gone out", [&] { return its.on.count("pending") == 0; }, time_limit);
  CHECK(its.status(0) == "published - -");
  CHECK(its.status(1) == "published - -");
  CHECK(its.status(2) == "waiting scheduled -");
  CHECK(its.status(3) == "dead dead -");
  CHECK(its.status(5) == "published - -");
  history seen;
  its.on.read_queue(seen);
  CHECK(seen.order() == std::vector<std::string>{its.ids[0], its.ids[1], its.ids[5]});
  auto committed = committed_events(its.session);
  std::erase_if(committed, [&](const committed_event& one) {
    return one.id == its.ids[2] || one.id == its.ids[3] || one.id == its.ids[4];
  });
  const auto report = seen.check(committed);
  CHECK_MESSAGE(report.exact(), report.words());  // also that each body is what its row says
  CHECK(metric(its.running, "outboxd_events_changed_after_send_total") == 0);
  its.running.stop();
}

TEST_CASE("what is changed in flight is published, and its row says that it has changed since") {
  for (const std::string how : {"payload = '{\"says\": \"after\"}'", "available_at = now() + interval '1 h'",
                                "status = 'dead'", "routing_key = 'elsewhere'"}) {
    CAPTURE(how);
    held_up its;
    its.change(0, how);
    its.hangs.reset();
    eventually(
        "all have gone out", [&] { return its.on.count("published") == 6; }, time_limit);
    CHECK(its.status(0) == "published - changed_after_send");
    CHECK(its.status(1) == "published - -");
    its.running.wait_line(its.ids[0] + " was changed after it was sent", time_limit);
    CHECK(metric(its.running, "outboxd_events_changed_after_send_total") == 1);
    its.running.stop();
  }
}

TEST_CASE("a row that is only touched, or moved, is not called changed") {
  held_up its;
  its.change(0, "payload = payload, attempts = 1");
  its.wait();
  its.change(1, "payload = payload, attempts = 1");
  its.hangs.reset();
  eventually(
      "all have gone out", [&] { return its.on.count("published") == 6; }, time_limit);
  CHECK(its.status(0) == "published - -");
  CHECK(its.status(1) == "published - -");
  const auto report = its.on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  its.running.stop();
}

TEST_CASE("with retention.published = 0s what is changed in flight goes, and the log tells it") {
  held_up its{"0s"};
  its.change(0, "payload = '{\"says\": \"after\"}'");
  its.hangs.reset();
  its.running.wait_line(its.ids[0] + " was changed after it was sent", time_limit);
  eventually(
      "all have gone out", [&] { return its.session.number("SELECT count(*) FROM outbox.event") == 0; },
      time_limit);
  its.running.stop();
}

TEST_CASE(
    "a pending event that is put off becomes scheduled, with or without a relay, and leaves when it is due") {
  const stage on;
  auto session = on.connect();
  on.add_events(1, 10);
  session.exec("UPDATE outbox.event SET available_at = now() + interval '1 h'");
  CHECK(session.number(
            "SELECT count(*) FROM outbox.event WHERE status = 'waiting' AND exception = 'scheduled'") == 10);
  relay running{on};
  on.await_asleep();
  CHECK(on.count("published") == 0);
  session.exec("UPDATE outbox.event SET available_at = now()");
  on.await_published(10);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

}  // namespace outboxd::test::changed_after_read_test
