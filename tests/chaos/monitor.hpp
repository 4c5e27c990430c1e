// monitor: looks at everything several times a second while the faults happen, starts relays again that ended
// as the manual says, and remembers what has to hold all the time.
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
  std::unordered_set<std::string> published;  // ids that once were
  std::vector<std::string> violations;
  std::vector<std::string> delays;             // what took too long for a machine without other work
  std::chrono::milliseconds longest_probe{0};  // a commit of the monitor's own, in a table of its own
  lead_sightings leads;
  std::size_t ended_at_points = 0;  // lives of relays that ended at a failpoint
};

class monitor {
 public:
  monitor(surroundings all, const lead_rules& leads, const writers& load, const injector& faults);
  ~monitor();

  /// Looks no more, and returns what it has seen.
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
  sightings seen_;  // of the thread
  std::optional<test::database> session_;
  std::int64_t published_until_ = 0;  // microseconds since 1970, the server's clock
  moment slow_since_{};
  bool said_slow_ = false;
  lead_watch leads_;
  bool said_open_ = false;
  std::thread thread_;
};

/// The manual allows a relay to end by itself with code 1: refused before it was ever connected.
bool may_end(const death& one, const injector& faults, moment at);

}  // namespace outboxd::chaos
