// monitor: checks everything several times a second during the faults, restarts relays that exited as
// documented, and records violations of permanent invariants.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "injector.hpp"
#include "lead_watch.hpp"
#include "writers.hpp"

namespace outboxd::chaos {

struct sightings {
  std::unordered_set<std::string> published;  // ids that were ever marked published
  std::vector<std::string> violations;
  std::vector<std::string> delays;  // operations that would be too slow on an otherwise idle machine
  std::chrono::milliseconds longest_probe{0};  // a commit by the monitor in its own table
  lead_sightings leads;
  std::size_t ended_at_points = 0;  // lives of relays that ended at a failpoint
};

class monitor {
 public:
  monitor(surroundings all, const lead_rules& leads, const writers& load, const injector& faults);
  ~monitor();

  /// Stops the checks and returns the observations.
  sightings finish();

 private:
  void run();
  void look_at_relays();
  void look_at_table();
  void look_at_transactions();
  void look_at_writers();
  void probe();

  surroundings all_;
  const writers& writers_;
  const injector& faults_;
  std::atomic<bool> stopping_ = false;
  sightings seen_;  // used only by the thread
  std::optional<test::database> session_;
  std::int64_t published_until_ = 0;  // microseconds since 1970, the server's clock
  moment slow_since_{};
  bool said_slow_ = false;
  lead_watch leads_;
  bool said_open_ = false;
  std::thread thread_;
};

/// True if the documentation allows the relay to exit with status 1: it was refused before it was ever
/// connected.
bool may_end(const death& one, const injector& faults, moment at);

}  // namespace outboxd::chaos
