// flow_chaos_test: the flow under random faults, in virtual time, from a seed.
//
// OUTBOXD_SIMULATION_SEED=<n> runs that seed alone, OUTBOXD_SIMULATION_SEEDS=<n> that many;
// OUTBOXD_SIMULATION_ROW=<n> tells what happens to that row.
#include <doctest/doctest.h>

#include <cstdlib>

#include "flow_chaos.hpp"

namespace flow_chaos_test {

using namespace outboxd;
using namespace outboxd::test;

namespace {

struct tally {
  std::size_t failed = 0;
  std::size_t steps = 0;
  std::size_t events = 0;
  std::size_t duplicates = 0;
};

std::pair<std::uint64_t, std::uint64_t> seeds(std::uint64_t count) {
  if (const char* const one = std::getenv("OUTBOXD_SIMULATION_SEED")) {
    const auto seed = std::strtoull(one, nullptr, 10);
    return {seed, seed};
  }
  if (const char* const many = std::getenv("OUTBOXD_SIMULATION_SEEDS"))
    count = std::strtoull(many, nullptr, 10);
  return {1, count};
}

tally run(std::uint64_t count, const chaos& how) {
  tally out;
  const auto [first, last] = seeds(count);
  for (std::uint64_t seed = first; seed <= last && out.failed < 10; ++seed) {
    flow_chaos one(seed, how);
    if (const char* const row = std::getenv("OUTBOXD_SIMULATION_ROW"))
      one.follow(std::strtoull(row, nullptr, 10));
    one.run();
    std::string broken;
    for (const std::string& rule : one.broken()) broken += rule + "\n";
    CHECK_MESSAGE(broken.empty(), "seed ", seed, ":\n", broken, out.failed == 0 ? one.schedule() : "");
    if (!broken.empty()) ++out.failed;
    out.steps += one.steps();
    out.events += one.events();
    out.duplicates += one.duplicates();
  }
  MESSAGE(out.events, " events, ", out.steps, " steps, ", out.duplicates, " duplicates");
  return out;
}

// What a schedule, with and without faults, shows of a rule that is left out; empty if nothing.
std::string shown_by(std::uint64_t seed, const rules& with) {
  for (const bool faults : {true, false}) {
    const auto after = with.dead_first ? flow::after_dead::go_on : flow::after_dead::hold;
    flow_chaos one(seed, {.faults = faults, .after_dead = after, .with = with});
    one.run();
    if (!one.broken().empty()) return one.broken().front();
  }
  return {};
}

struct rule {
  const char* name;
  bool rules::*member;
  std::uint64_t seed;  // shows it; to save time alone
  std::uint64_t most;  // seeds that are tried
};

// Another program has other schedules: where a seed shows nothing any more, all are tried.
void check_needed(std::initializer_list<rule> all) {
  for (const rule& one : all) {
    rules with;
    with.*one.member = false;
    std::uint64_t seed = one.seed;
    std::string shown = shown_by(seed, with);
    if (shown.empty())
      for (seed = 0; shown.empty() && seed < one.most;) shown = shown_by(++seed, with);
    CHECK_MESSAGE(!shown.empty(), "nobody misses: ", std::string(one.name));
    if (seed != one.seed) MESSAGE(std::string(one.name), ": now shown by seed ", seed, ": ", shown);
  }
}

}  // namespace

TEST_CASE(
    "under any faults no event is lost, none is published without its ack, and aggregates keep their order") {
  run(150, {});
}

TEST_CASE("where dead events hold their aggregates nothing goes out behind one, until it is discarded") {
  run(50, {.after_dead = flow::after_dead::hold, .with = {}});
}

TEST_CASE("pipelined, too, no event is lost, and only what the broker refuses is overtaken") {
  run(50, {.order = order_mode::pipelined, .with = {}});
}

// What waits in memory is looked at again all the time.
TEST_CASE("pipelined, too, aggregates keep their order while nothing is refused") {
  for (const int milliseconds : {2, 10, 50})
    for (const bool faults : {true, false})
      run(20, {.faults = faults,
               .refusals = false,
               .order = order_mode::pipelined,
               .fresh_for = std::chrono::milliseconds(milliseconds),
               .with = {}});
}

TEST_CASE("under a rate limit, too, no event is lost and none is published without its ack") {
  run(30, {.max_rate = 60, .with = {}});
}

TEST_CASE(
    "without faults every event is delivered exactly once, whatever is locked, refused or handed over") {
  run(50, {.faults = false, .with = {}});
}

TEST_CASE("every rule of reads is needed: left out, it is missed") {
  check_needed({
      {"(a) ends WITH TIES", &rules::ties, 16, 500},
      {"rows are known by their keys", &rules::by_key, 3, 100},
      {"the next seq is the highest visible one, whatever its status", &rules::top_of_any, 2, 100},
      {"(b)", &rules::late_open, 1, 100},
      {"(c)", &rules::late_new, 2, 100},
      {"rows of a read that goes back are not used", &rules::going_back_alone, 5306, 10'000},
      {"a slice of (c) cuts what the position has seen", &rules::slice_cuts, 1, 100},
      {"(c) passes transactions without rows at once", &rules::empty_spans, 1, 100},
      {"(a) waits for the last slice of (c)", &rules::slices_first, 46, 100},
      {"a walk goes over what the position has passed", &rules::background_walk, 5, 100},
      {"a due read begins after what has been read", &rules::due_after, 3, 100},
      {"who was left behind is read after the others", &rules::laggards_after_read, 234, 500},
  });
}

TEST_CASE("every rule of marks and releases is needed: left out, it is missed") {
  check_needed({
      {"dead is written synchronously", &rules::dead_synchronous, 1284, 2'000},
      {"the successors of a dead one wait until that is written", &rules::dead_awaited, 1, 100},
      {"what is held is known before the first send", &rules::held_first, 1, 100},
      {"an empty look-up sees all that is parked", &rules::look_up_after_records, 5, 100},
      {"parked events above the position stay", &rules::release_below_position, 25, 2'000},
      {"a new leader looks for what waits for pauses that have ended", &rules::resumed_at_start, 9, 500},
      {"a new leader that holds behind dead events knows them before it sends", &rules::dead_first, 40, 100},
      {"what somebody has locked is marked later", &rules::marks_again, 4, 100},
      {"a mark passes over what is locked", &rules::locked_skipped, 20, 500},
      {"a mark by place counts its rows", &rules::places_counted, 219, 500},
      {"a hand's reset keeps the kind", &rules::kind_kept, 14, 500},
      {"held aggregates are looked at without a hit", &rules::look_up_unasked, 1, 100},
      {"a leader learns which destinations events wait for", &rules::waits_found, 436, 2'000},
      {"what waits for longer is looked at again", &rules::looked_again, 2773, 5'000},
      {"a mark by key tells what has changed", &rules::changes_told, 586, 2'000},
  });
}

TEST_CASE("every rule of the saved position is needed: left out, it is missed") {
  check_needed({
      {"a lost connection drops the position", &rules::position_dropped, 4, 500},
      {"the saved seq is below what is unsettled", &rules::saved_below_unsettled, 6, 100},
      {"what is unsettled is saved beside the position", &rules::unsettled_saved, 1, 100},
      {"a position that was copied here is not taken up", &rules::copy_told, 4, 2'000},
  });
}

TEST_CASE("every rule of the lead is needed: left out, it is missed") {
  check_needed({
      {"who was stopped for long sends nothing before an answer", &rules::lead_checked, 44, 2'000},
      {"a standby gives no lead", &rules::no_lead_in_recovery, 25, 500},
      {"a leader without a broker makes way", &rules::makes_way, 21, 100},
  });
}

}  // namespace flow_chaos_test
