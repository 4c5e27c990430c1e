// doorbell_model_test: every order of the steps of writers and relays, and what is never true after any of them.
#include <doctest/doctest.h>

#include <string>
#include <unordered_map>
#include <utility>

#include "doorbell_model.hpp"

using namespace outboxd::test;

namespace {

struct finding {
  std::size_t worlds = 0;
  // The ways to:
  std::string missed;   // rest, with an event that waits for the sweep
  std::string unswept;  // the same, and the sweep does not see it
  std::string stuck;    // a state from which there is no way to rest
  std::string words() const { return missed + unswept + stuck; }
};

class search {
 public:
  search(const bounds& within, flaw with) : model_(within, with) {}

  finding all() {
    visit({"", 0, "", model_.begin()}, 0);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const world from = nodes_[i].at;
      if (model_.at_rest(from)) judge(i);
      for (const step& one : model_.next(from)) visit(one, i);
    }
    find_stuck();
    found_.worlds = nodes_.size();
    return found_;
  }

 private:
  struct node {
    world at;
    std::uint32_t before = 0;
    step by{};
    bool rests = false;
  };

  void visit(const step& by, std::size_t from) {
    const auto [at, fresh] = index_.try_emplace(key_of(by.to), nodes_.size());
    edges_.emplace_back(at->second, static_cast<std::uint32_t>(from));
    if (fresh) nodes_.push_back({by.to, static_cast<std::uint32_t>(from), by});
  }

  void judge(std::size_t here) {
    nodes_[here].rests = true;
    world now = nodes_[here].at;
    if (!doorbell_model::waiting(now)) return;
    if (!now.crashed && found_.missed.empty()) found_.missed = way_to(here);
    if (!doorbell_model::alive(now)) return;
    doorbell_model::look(now);
    if (doorbell_model::waiting(now)) found_.unswept = way_to(here);
  }

  void find_stuck() {
    for (bool more = true; std::exchange(more, false);)
      for (auto edge = edges_.rbegin(); edge != edges_.rend(); ++edge)
        if (nodes_[edge->first].rests && !std::exchange(nodes_[edge->second].rests, true)) more = true;
    for (std::size_t i = 0; i < nodes_.size() && found_.stuck.empty(); ++i)
      if (!nodes_[i].rests) found_.stuck = way_to(i);
  }

  std::string way_to(std::size_t last) const {
    std::string out;
    for (auto i = last; i != 0; i = nodes_[i].before) {
      const step& by = nodes_[i].by;
      out = std::string(by.who) + " " + std::to_string(by.which) + " " + by.what + "\n" + out;
    }
    return out;
  }

  doorbell_model model_;
  std::vector<node> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  // to, from
  finding found_;
};

finding search_all(const bounds& within, flaw with = flaw::none) {
  return search(within, with).all();
}

void check_sound(const bounds& within) {
  const auto found = search_all(within);
  CHECK_MESSAGE(found.words().empty(), found.words());
  CHECK(found.worlds > 1000);
}

}  // namespace

TEST_CASE("no wake-up is missed whatever the order of the steps of two writers and two relays") {
  check_sound({.savepoints = true});
}

TEST_CASE("no wake-up is missed in a long transaction with savepoints") {
  check_sound({.writers = 1, .statements = 4, .savepoints = true});
}

TEST_CASE("no wake-up is missed whatever sessions of the relays are lost, and when") {
  check_sound({.lost_sessions = true});
}

TEST_CASE(
    "relays are killed at any step and started again: the sweep sees what is left, and nothing gets stuck") {
  check_sound({.lost_sessions = true, .crashes = true});
}

TEST_CASE("each part of the protocol is needed: without it a wake-up is missed") {
  constexpr bounds least{.writers = 1, .statements = 1, .relays = 1};
  for (const flaw with : {flaw::mute_tried_once, flaw::no_skip, flaw::look_before_skip,
                          flaw::skip_before_release, flaw::forgets_timeout}) {
    CAPTURE(static_cast<int>(with));
    CHECK_FALSE(search_all(least, with).missed.empty());
  }
  constexpr bounds losing{.writers = 1, .statements = 1, .relays = 1, .lost_sessions = true};
  CHECK(search_all(losing).words().empty());
  for (const flaw with : {flaw::silent_in_lost_session, flaw::mute_not_checked, flaw::no_look_on_listening}) {
    CAPTURE(static_cast<int>(with));
    CHECK_FALSE(search_all(losing, with).missed.empty());
  }
}
