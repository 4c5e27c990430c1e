// sleep_model_test: every order of the steps of writers and relays, and what is never true after any of them.
#include <doctest/doctest.h>

#include <boost/container_hash/hash.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sleep_model.hpp"

namespace sleep_model_test {

using outboxd::test::sleep_model;

namespace {

using bounds = sleep_model::bounds;
using flaw = sleep_model::flaw;

struct finding {
  std::size_t worlds = 0;
  std::size_t silent = 0;  // worlds whose leader sleeps with something committed
  // The ways to:
  std::string missed;  // a leader that sleeps, with nothing under way to it, and an event that is unread
  std::string stuck;   // an event that is not read by what happens by itself, though a relay lives
};

class search {
 public:
  search(const bounds& within, flaw with) : model_(within, with) {}

  finding all() {
    visit({"", 0, "", false, model_.begin()}, 0, false);
    std::vector<sleep_model::step> steps;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const sleep_model::world from = nodes_[i].at;
      if (sleep_model::asleep(from)) ++found_.silent;
      if (sleep_model::misses(from) && found_.missed.empty()) found_.missed = way_to(i);
      nodes_[i].ends_well = sleep_model::all_read(from);
      model_.next(from, steps);
      for (const auto& one : steps) visit(one, i, one.fair && !nodes_[i].ends_well);
    }
    find_stuck();
    found_.worlds = nodes_.size();
    return found_;
  }

 private:
  struct node {
    sleep_model::world at;
    std::uint32_t before;
    const char* who;
    std::size_t which;
    const char* what;
    bool ends_well = false;
  };

  void visit(const sleep_model::step& by, std::size_t from, bool leads_on) {
    const auto source = static_cast<std::uint32_t>(from);
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    const auto [at, fresh] = index_.try_emplace(model_.key_of(by.to), next);
    if (leads_on) edges_.emplace_back(at->second, source);
    if (fresh) nodes_.push_back({by.to, source, by.who, by.which, by.what});
  }

  void find_stuck() {
    for (bool more = true; std::exchange(more, false);)
      for (auto edge = edges_.rbegin(); edge != edges_.rend(); ++edge)
        if (nodes_[edge->first].ends_well && !std::exchange(nodes_[edge->second].ends_well, true))
          more = true;
    for (std::size_t i = 0; i < nodes_.size() && found_.stuck.empty(); ++i)
      if (!nodes_[i].ends_well) found_.stuck = way_to(i);
  }

  std::string way_to(std::size_t last) const {
    std::string out;
    for (auto i = last; i != 0; i = nodes_[i].before) {
      const node& by = nodes_[i];
      out = std::string(by.who) + " " + std::to_string(by.which) + " " + by.what + "\n" + out;
    }
    return out;
  }

  sleep_model model_;
  std::vector<node> nodes_;
  std::unordered_map<sleep_model::key, std::uint32_t, boost::hash<sleep_model::key>> index_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  // to, from: what happens by itself
  finding found_;
};

finding search_all(const bounds& within, flaw with = flaw::none) {
  return search(within, with).all();
}

void check_sound(const bounds& within) {
  const auto found = search_all(within);
  MESSAGE(found.worlds << " states");
  CHECK_MESSAGE(found.missed.empty(), found.missed);
  CHECK_MESSAGE(found.stuck.empty(), found.stuck);
  CHECK(found.silent > 0);
}

void check_needed(flaw without, const bounds& within) {
  const auto whole = search_all(within);
  CHECK_MESSAGE(whole.missed.empty(), whole.missed);
  CHECK_MESSAGE(whole.stuck.empty(), whole.stuck);
  const auto found = search_all(within, without);
  CHECK_FALSE(found.missed.empty());
  CHECK_FALSE(found.stuck.empty());
  MESSAGE(found.worlds << " states; an event is missed when\n" << found.missed);
}

}  // namespace

TEST_CASE("a leader that sleeps has read all that two writers have committed, in whatever order they step") {
  check_sound({.inserts = {2, 1}, .savepoints = true, .prepares = true});
}

TEST_CASE("a leader that sleeps has read all that a long transaction with savepoints leaves") {
  check_sound({.inserts = {3, 0}, .savepoints = true, .prepares = true});
}

TEST_CASE("a leader whose reads may stop short sleeps only when one did not") {
  check_sound({.inserts = {2, 1}, .savepoints = true, .prepares = true, .short_reads = true});
}

TEST_CASE("no event stays unread when a relay is killed or loses a session at any step, if one is left") {
  check_sound({.inserts = {2, 1}, .savepoints = true, .prepares = true, .relays = 2, .faults = 1});
}

TEST_CASE("no event stays unread after two such faults, and with reads that may stop short") {
  check_sound({.inserts = {1, 1}, .prepares = true, .relays = 2, .short_reads = true, .faults = 2});
}

TEST_CASE("of a transaction with events in two shards neither leader misses any, whichever of them sleeps") {
  check_sound({.inserts = {2, 0}, .shards = 2, .savepoints = true, .prepares = true});
}

TEST_CASE("nor of two writers") {
  check_sound({.inserts = {1, 1}, .shards = 2, .prepares = true});
}

TEST_CASE("nor does any of three leaders") {
  check_sound({.inserts = {1, 0}, .shards = 3, .savepoints = true, .prepares = true});
}

TEST_CASE("neither does after a lost session, and with reads that may stop short") {
  check_sound({.inserts = {2, 0}, .shards = 2, .short_reads = true, .faults = 1});
}

TEST_CASE("a leader that does not read after the grant misses an event") {
  check_needed(flaw::no_read_after_grant, {});
}

TEST_CASE("a leader that accepts a read from before the grant misses an event") {
  check_needed(flaw::earlier_read_accepted, {});
}

TEST_CASE("a writer that unlocks before its commit is visible has its event missed") {
  check_needed(flaw::unlocks_before_visible, {});
}

TEST_CASE("a writer that is refused the lock and says nothing has its event missed") {
  check_needed(flaw::refused_says_nothing, {});
}

TEST_CASE("a leader that sleeps on a read that stopped short misses an event") {
  check_needed(flaw::sleeps_on_short_read, {.short_reads = true});
}

TEST_CASE("a leader that takes a read under way for the answer to a notification misses an event") {
  check_needed(flaw::deaf_while_reading, {});
}

TEST_CASE("a leader that sleeps on without its session with the lock misses an event") {
  check_needed(flaw::sleeps_without_session, {.faults = 1});
}

TEST_CASE("a writer that asks for one shard's lock alone has its event in the other one missed") {
  check_needed(flaw::one_answer_for_all, {.shards = 2});
}

TEST_CASE(
    "a writer that rings for the shard alone whose lock it was refused has its event in the other one "
    "missed") {
  check_needed(flaw::rings_for_one, {.shards = 2});
}

}  // namespace sleep_model_test
