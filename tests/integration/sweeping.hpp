// sweeping: the sweep and the claim by hand, with what a relay remembers of them.
#pragma once

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "stage.hpp"

namespace outboxd::test {

inline void emit(database& session, const stage& on, const std::string& aggregate) {
  session.exec("SELECT outbox.emit('order', $1, $2, '{}')", {aggregate, on.key()});
}

/// Sweeps again and again, each time with what the last one has found out.
class sweeping {
 public:
  explicit sweeping(const stage& on) : session_(on.connect()) {}

  void look() {
    const auto found = session_.exec(
        "SELECT floors, settled, mark, writers, epoch FROM outbox.sweep(100, $1, $2, $3, $4, $5)", known_);
    known_ = found[0];
  }
  /// Asks for the next 10,000 events to be searched.
  void search() {
    auto parameters = known_;
    parameters.emplace_back(searched_);
    searched_ =
        session_.exec("SELECT searched FROM outbox.sweep(100, $1, $2, $3, $4, $5, $6)", parameters)[0][0]
            .value_or("{-1,0}");
  }
  bool knows_floors() const { return known_[0].has_value(); }
  std::int64_t settled() const { return std::stoll(known_[1].value_or("-1")); }
  std::int64_t lowest() { return of_floors("min"); }
  std::int64_t highest() { return of_floors("max"); }
  /// How many events a claim finds, looking at each shard, and with one look at all of them.
  std::int64_t claimed() {
    const auto each = claimed("NULL");
    CHECK(claimed("(SELECT min(f) FROM unnest($1::bigint[]) AS f)") == each);
    if (knows_floors()) CHECK(claimed_few().value_or(each) == each);
    return each;
  }
  /// From where on a claim has looked at all shards; none if it did not.
  cell looked_from() {
    return session_.exec(
        "SELECT lowest FROM outbox.take_shards(64, $1, $2, (SELECT min(f) FROM unnest($1::bigint[]) AS f))",
        {known_[0], known_[1]})[0][0];
  }

 private:
  /// None if it refuses.
  std::optional<std::int64_t> claimed_few() {
    const auto found = session_.exec(
        "SELECT count(id), count(*) FROM outbox.claim_few(1000, 1000000, $1, $2,"
        " (SELECT min(f) FROM unnest($1::bigint[]) AS f))",
        {known_[0], known_[1]});
    if (found[0][0] != found[0][1]) return std::nullopt;
    return std::stoll(found[0][0].value());
  }
  std::int64_t claimed(const std::string& lowest) {
    session_.exec("BEGIN");
    session_.exec("SELECT outbox.take_shards(64, $1::bigint[], $2, " + lowest + ")", {known_[0], known_[1]});
    const auto count = session_.number("SELECT count(*) FROM outbox.claimed(1000, 1000000)");
    session_.exec("ROLLBACK");
    return count;
  }
  std::int64_t of_floors(const std::string& aggregate) {
    return session_.number("SELECT " + aggregate + "(f) FROM unnest($1::bigint[]) AS f",
                           {known_[0].value_or("{-1}")});
  }

  database session_;
  cells known_ = cells(5);
  std::string searched_ = "{-1,0}";
};

inline void finish_all(database& session) {
  session.exec("UPDATE outbox.event SET status = 'published' WHERE status = 'pending'");
}

}  // namespace outboxd::test
