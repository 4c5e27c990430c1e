// lead_watch: who leads each shard, looked at again and again: that somebody does soon, and that nobody does
// who hangs.
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
  int changes = 0;  // another session leads
  takeovers times;
  // Nobody led a shard, and some relay was well for so long and before.
  std::chrono::milliseconds longest_gap{0};
  // A frozen relay led a shard, and some other relay was well for so long and before.
  std::chrono::milliseconds longest_hang{0};
  std::vector<std::string> delays;
};

/// One thread, for its looks are frequent: they are the grain of the times.
class lead_watch {
 public:
  lead_watch(const surroundings& all, const lead_rules& rules, const injector& faults);
  ~lead_watch();

  /// Looks no more, and returns what it has seen.
  lead_sightings finish();

 private:
  void run();
  void look(test::database& session);
  /// Nothing can be seen: what is under way is not judged.
  void look_away();
  struct lead {
    std::string session;               // its name and process, of the latest that held it
    moment held{};                     // at the latest
    moment::duration slowest_round{};  // between two looks since then: the machine is slow for everybody
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
  // Of one relay.
  struct life {
    int number = 0;
    moment since{};                    // at the latest
    moment frozen_since{};             // nothing: it is not
    moment::duration slowest_round{};  // of our own looks, while it is frozen
  };
  std::vector<life> lives_;
  lead_sightings seen_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace outboxd::chaos
