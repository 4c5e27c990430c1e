// Whatever owner, operator and writer do by hand beside two relays, legal or not, from a fixed seed: rows
// stay consistent, nothing goes out more often than it was asked for, and what nobody has touched goes out
// once and in order.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "login.hpp"
#include "partitioned.hpp"

namespace outboxd::test::changes_property_test {
namespace {

constexpr int steps = 1'500;
constexpr int aggregates = 12;

constexpr auto disagreement =
    "SELECT e FROM outbox.event AS e WHERE (status = 'waiting') <>"
    " coalesce(exception IN ('scheduled', 'backing_off', 'parked'), false)"
    " OR (status = 'dead') <> coalesce(exception = 'dead', false)"
    " OR (status = 'published') <> (published_at IS NOT NULL)"
    " OR tx::text = '3' OR attempts < 0";

// SET of an UPDATE.
const std::vector<std::string> operators_changes{
    "status = 'pending'",
    "status = 'waiting'",
    "status = 'published'",
    "status = 'dead'",
    "status = 'published', published_at = NULL",
    "status = 'dead', last_error = 'by hand'",
    "attempts = 1",
    "available_at = now()",
    "available_at = now() + interval '50 ms'",
    "published_at = now()",
    "deferrals = 3",
};
const std::vector<std::string> owners_changes{
    "status = 'waiting', exception = 'parked'",
    "status = 'waiting', exception = 'scheduled', available_at = now() + interval '30 ms'",
    "status = 'waiting', exception = 'backing_off'",
    "status = 'pending', exception = 'dead'",
    "status = 'dead', exception = NULL",
    "status = 'published', exception = 'parked'",
    "exception = 'backing_off'",
    "exception = 'parked'",
    "exception = NULL",
    "seq = 5",
    "seq = -seq, tx = '3'",
    "tx = '3'",
    "headers = '{\"by\": \"hand\"}'",
    "aggregate_id = 'elsewhere'",
};
// Columns of an INSERT by the owner, and their values. Whoever sets a status says all that goes with it.
const std::vector<std::pair<std::string, std::string>> owners_inserts{
    {"status, published_at", "'published', now()"},
    {"status, exception", "'dead', 'dead'"},
    {"status, exception, available_at", "'waiting', 'scheduled', now() + interval '40 ms'"},
    {"status, exception, available_at", "'waiting', 'backing_off', now() + interval '40 ms'"},
    {"seq", "3"},
    {"seq", "-17"},
    {"seq", "1000000"},
    {"tx", "'5'"},
    {"payload", "NULL"},
};
// For those who may not.
const std::vector<std::string> forbidden_to_writers{
    "UPDATE outbox.event SET status = 'pending'", "DELETE FROM outbox.event",
    "SELECT outbox.dead_retry('{}')",
    "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status)"
    " VALUES ('order', '1', 'e', '{}', 'waiting')"};
const std::vector<std::string> forbidden_to_operators{
    "UPDATE outbox.event SET exception = 'parked'", "UPDATE outbox.event SET payload = '{}'",
    "UPDATE outbox.event SET seq = 1", "INSERT INTO outbox.event (aggregate_type) VALUES ('order')"};

/// What may be expected of an event.
struct expectation {
  std::string aggregate;
  std::size_t at_most = 1;   // deliveries: one, and one more for each time that a finished one was requeued
  bool exactly_once = true;  // nobody has touched what decides on it
  bool ordered = true;       // and it has the seq that the database gave it, and was not scheduled
  bool deleted = false;
};

struct row_state {
  std::string status;
  std::string place;  // status, exception and available_at
  bool finished() const { return status == "published" || status == "dead"; }
};

class random_hands {
 public:
  random_hands(const stage& on, unsigned seed)
      : on_{on}, chance_{seed}, partitioned_{attached_partitions(owner_) > 0} {}

  void step() {
    const int what = pick(100);
    if (what < 40) return emit();
    if (what < 46) return insert_as_owner();
    if (what < 60) return change(operator_, any(operators_changes));
    if (what < 74) return change(owner_, owners_change());
    if (what < 80) return call_function();
    if (what < 84) return change(pick(2) == 0 ? operator_ : owner_, "");
    if (what < 92) return refuse(writer_, any(forbidden_to_writers));
    refuse(operator_, any(forbidden_to_operators));
  }

  void check_rows() {
    const auto rows = owner_.exec(disagreement);
    REQUIRE_MESSAGE(rows.empty(), *rows[0][0]);
  }

  // So that all is over soon.
  void make_due() {
    for (const auto& row :
         owner_.exec("UPDATE outbox.event SET available_at = now() WHERE status = 'waiting' AND"
                     " available_at > now() RETURNING id"))
      known_.at(*row[0]).ordered = false;
  }

  void check(const history& seen) {
    for (const auto& [id, of] : known_) {
      CAPTURE(id);
      CHECK(seen.times(id) <= of.at_most);
      if (of.exactly_once && !of.deleted) CHECK(seen.times(id) == 1);
    }
    std::map<std::string, std::int64_t> last;
    for (const auto& id : seen.order()) {
      const auto& of = known_.at(id);
      if (!of.exactly_once || !of.ordered || of.deleted) continue;
      const auto seq = owner_.number("SELECT seq FROM outbox.event WHERE id = $1", {id});
      CHECK_MESSAGE(last[of.aggregate] < seq, of.aggregate);
      last[of.aggregate] = seq;
    }
  }

 private:
  // Between partitions nothing keeps an event in its place: see docs/partitions.md.
  const std::string& owners_change() {
    for (;;) {
      const auto& one = any(owners_changes);
      if (!partitioned_ || !one.starts_with("seq")) return one;
    }
  }
  int pick(int below) { return std::uniform_int_distribution{0, below - 1}(chance_); }
  template <class T>
  const T& any(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(pick(static_cast<int>(from.size())))];
  }
  // Mostly one that is on its way.
  std::string any_event() {
    const auto size = static_cast<int>(ids_.size());
    return ids_[static_cast<std::size_t>(pick(4) == 0 ? pick(size) : size - 1 - pick(std::min(size, 15)))];
  }
  std::string any_aggregate() { return std::to_string(pick(aggregates)); }

  void remember(const std::string& id, expectation what) {
    known_[id] = std::move(what);
    ids_.push_back(id);
  }

  // One of ten has nowhere to go, and holds the others of its aggregate back until it is dead.
  void emit() {
    const bool bad = pick(10) == 0;
    const bool later = pick(8) == 0;
    const auto aggregate = any_aggregate();
    const auto id = writer_.value(
        fmt::format("SELECT outbox.emit('order', $1, $2, '{{}}', available_at => now() + interval '{} ms')",
                    later ? pick(100) + 1 : 0),
        {aggregate, bad ? "unbound-" + on_.queue() : on_.key()});
    remember(id, {.aggregate = aggregate, .exactly_once = !bad, .ordered = !later});
  }

  void insert_as_owner() {
    const auto& [columns, values] = any(owners_inserts);
    const auto aggregate = any_aggregate();
    const bool has_payload = columns == "payload";
    try {
      // What it was at first: a relay may have published it by the time of another statement.
      const auto rows = owner_.exec(
          fmt::format("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, {}{}) VALUES"
                      " ('order', $1, $2, {}{}) RETURNING id, status IN ('published', 'dead')",
                      has_payload ? "" : "payload, ", columns, has_payload ? "" : "'{}', ", values),
          {aggregate, on_.key()});
      const bool finished = *rows[0][1] == "t";
      remember(*rows[0][0], {.aggregate = aggregate,
                             .at_most = finished ? 0U : 1U,
                             .exactly_once = !finished,
                             .ordered = false});
    } catch (const database_error& refused) {
      CHECK_MESSAGE((refused.sqlstate == "23514" || refused.sqlstate == "23502"), refused.what());
    }
  }

  std::optional<row_state> state_of(database& session, const std::string& id) {
    const auto rows = session.exec(
        "SELECT status, concat_ws(' ', status, exception, available_at) FROM outbox.event WHERE id = $1 FOR "
        "UPDATE",
        {id});
    if (rows.empty()) return std::nullopt;
    return row_state{*rows[0][0], *rows[0][1]};
  }

  // Does it in a transaction that has locked the row, so that what it was before is known. An empty change
  // deletes it.
  void change(database& as, const std::string& what) {
    if (ids_.empty()) return;
    const auto id = any_event();
    run(as, id,
        what.empty() ? fmt::format("DELETE FROM outbox.event WHERE id = '{}'", id)
                     : fmt::format("UPDATE outbox.event SET {} WHERE id = '{}'", what, id));
  }

  void call_function() {
    if (ids_.empty()) return;
    const auto id = any_event();
    const std::vector<std::string> functions{"dead_retry", "dead_discard", "replay"};
    run(operator_, id, fmt::format("SELECT outbox.{}('{{{}}}')", any(functions), id));
  }

  void run(database& as, const std::string& id, const std::string& sql) {
    as.exec("BEGIN");
    const auto before = state_of(as, id);
    try {
      as.exec(sql);
      const auto after = before ? state_of(as, id) : std::nullopt;
      as.exec("COMMIT");
      if (before) learn(known_.at(id), *before, after);
    } catch (const database_error& refused) {
      as.exec("ROLLBACK");
      CHECK_MESSAGE(refused.sqlstate == "23514",
                    refused.what());  // another aggregate for an unfinished event
    }
  }

  static void learn(expectation& of, const row_state& before, const std::optional<row_state>& after) {
    if (!after) {
      of.deleted = true;
      return;
    }
    if (before.place == after->place) return;
    of.exactly_once = false;
    if (before.finished() && !after->finished()) ++of.at_most;
  }

  void refuse(database& as, const std::string& sql) {
    try {
      as.exec(sql);
      FAIL_CHECK("this is allowed: " << sql);
    } catch (const database_error& refused) {
      CHECK_MESSAGE(refused.sqlstate == "42501", refused.what());
    }
  }

  const stage& on_;
  std::mt19937_64 chance_;
  login writes_{"outbox_writer"};
  login operates_{"outbox_operator"};
  database owner_{on_.connect()};
  database writer_{writes_.url(on_)};
  database operator_{operates_.url(on_)};
  bool partitioned_;
  std::map<std::string, expectation> known_;
  std::vector<std::string> ids_;
};

void check_hands(
    const stage& on, unsigned seed, const std::function<void()>& now_and_then = [] {}) {
  CAPTURE(seed);
  const arguments quick{"--retry-give-up-after",   "1s", "--relay-sweep-interval", "100ms",
                        "--relay-claim-timeout",   "1m", "--amqp-confirm-timeout", "1m",
                        "--relay-clock-tolerance", "0s"};
  relay first{on, quick};
  relay second{on, quick};
  first.await_connected();
  second.await_connected();
  random_hands hands{on, seed};
  for (int i = 1; i <= steps; ++i) {
    hands.step();
    if (i % 50 == 0) hands.check_rows();
    if (i % 250 == 0) now_and_then();
  }
  hands.make_due();
  on.await_drained();
  hands.check_rows();
  first.stop();
  second.stop();
  history seen;
  on.read_queue(seen);
  hands.check(seen);
}

}  // namespace

TEST_CASE(
    "whatever hands do beside two relays, rows agree, and nothing goes out more often than it was asked "
    "for") {
  for (const unsigned seed : {1U, 2U, 3U}) check_hands(unpartitioned_stage{}, seed);
}

TEST_CASE("whatever hands do to an outbox that goes on in another partition now and then, rows agree, too") {
  for (const unsigned seed : {1U, 4U}) {
    const partitioned_stage on;
    auto session = on.connect();
    check_hands(on, seed, [&] { rotate_partition(session); });
    CHECK(session.number("SELECT count(DISTINCT tableoid) FROM outbox.event") > 3);
  }
}

}  // namespace outboxd::test::changes_property_test
