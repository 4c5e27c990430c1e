// lead_watch: polls who leads each shard, and checks that each shard soon has a leader and that no hung relay
// stays leader.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "injector.hpp"
#include "support/database.hpp"
#include "takeovers.hpp"

namespace outboxd::chaos {

struct lead_rules {
  int shards = 1;
  std::chrono::milliseconds claim_timeout{0};
};

struct lead_sightings {
  int changes = 0;  // changes of the leading session
  takeovers times;
  // Times without a leader of a shard, although some relay worked all the time and shortly before.
  std::chrono::milliseconds longest_gap{0};
  // Times when a frozen relay led a shard, although another relay worked all the time and shortly before.
  std::chrono::milliseconds longest_hang{0};
  std::vector<std::string> delays;
};

/// Uses its own thread, because frequent polls determine the resolution of the times.
class lead_watch {
 public:
  lead_watch(const surroundings& all, const lead_rules& rules, const injector& faults);
  ~lead_watch();

  /// Stops polling and returns the observations.
  lead_sightings finish();

 private:
  void run();
  void look(test::database& session);
  /// The locks cannot be read, so the current state is not evaluated.
  void look_away();
  struct lead {
    std::string session;  // name and process of the latest session that held the lock
    moment held{};        // the latest time at which it was held
    moment::duration
        slowest_round{};  // longest interval between two polls since then, which shows a slow machine
    bool said_gap = false;
    bool said_hang = false;
  };

  void look_at_relays(moment now, moment::duration round);
  void change_hands(lead& of, const std::string& to, moment now);
  void judge_gap(lead& of, int shard, moment now);
  void judge_holder(lead& of, int shard, const std::string& name, moment now);
  bool well(const relay& whom, moment from, moment to) const;
  bool one_is_well(moment from, moment to, const std::string& but) const;

  surroundings all_;
  const lead_rules rules_;
  const injector& faults_;
  std::vector<lead> leads_;
  moment looked_{};
  // The state of one relay.
  struct life {
    int number = 0;
    moment since{};                    // the latest possible start
    moment frozen_since{};             // default: it is not frozen
    moment::duration slowest_round{};  // longest interval of our own polls while it is frozen
  };
  std::vector<life> lives_;
  lead_sightings seen_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace outboxd::chaos
