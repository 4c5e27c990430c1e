// injector: executes the schedule, with one thread per target, and collects the evidence.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "arena.hpp"
#include "recorder.hpp"
#include "relay.hpp"
#include "schedule.hpp"

namespace outboxd::chaos {

using moment = std::chrono::steady_clock::time_point;

enum class outcome {
  happened,
  missed,   // another fault had removed its target
  nothing,  // no evidence, and no other fault explains that
  failed,   // could not be executed
};

std::string_view name_of(outcome what);

struct injection {
  planned plan;
  outcome result = outcome::nothing;
  std::string evidence;
  std::chrono::milliseconds unroutable{0};  // time during which good events could not be routed to the queue
  moment began;
  moment ended;
};

/// The environment that a fault can act on.
struct surroundings {
  arena& where;
  std::vector<std::unique_ptr<relay>>& relays;
  recorder& records;

  /// The number of lines that contain `part` in the logs of all relays' lives.
  std::size_t lines_with(const std::string& part) const;
};

/// The interface for a fault while it is executed.
class scene {
 public:
  scene(surroundings& stage, const planned& one, std::atomic<bool>& stopping)
      : all{stage}, plan{one}, stopping_{stopping} {}

  surroundings& all;
  const planned& plan;

  /// Waits for the planned duration, or until the run is stopped.
  void hold() { hold(plan.lasts); }
  void hold(std::chrono::milliseconds span);
  /// Waits for a limited time until `seen` is true; returns its last result.
  bool await(const std::function<bool()>& seen, std::chrono::milliseconds limit = std::chrono::seconds{10});
  bool stopping() const { return stopping_; }
  /// Records that good events could not be routed to the queue since then.
  void was_unroutable(moment since) { unroutable_ = std::chrono::steady_clock::now() - since; }
  std::chrono::milliseconds unroutable() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(unroutable_);
  }

  void saw(std::string words) {
    evidence_ = std::move(words);
    seen_ = true;
  }
  /// Records what was observed instead of evidence.
  void saw_nothing(std::string words) { evidence_ = std::move(words); }
  bool seen() const { return seen_; }
  /// Records that this fault is impossible on this server or in this run.
  void pass(std::string why) {
    evidence_ = std::move(why);
    passed_ = true;
  }
  bool passed() const { return passed_; }
  const std::string& evidence() const { return evidence_; }

 private:
  std::atomic<bool>& stopping_;
  bool seen_ = false;
  bool passed_ = false;
  std::string evidence_;
  std::chrono::steady_clock::duration unroutable_{0};
};

/// One kind of fault, and the function that executes it.
struct act {
  fault what;
  void (*play)(scene& on);
};
void play(scene& on, std::span<const act> acts);

void relay_fault(scene& on);
void guest_fault(scene& on);
void leader_fault(scene& on);
void link_fault(scene& on);
void postgres_fault(scene& on);
void rabbitmq_fault(scene& on);
void neighbour_fault(scene& on);
void hand_fault(scene& on);

class injector {
 public:
  injector(surroundings all, std::vector<planned> plan, std::chrono::milliseconds length);
  ~injector();

  /// Waits until all faults are done and the time is over, or until `interrupted` is true; running faults are
  /// undone first.
  void wait(const std::function<bool()>& interrupted);
  std::vector<injection> all() const;
  /// True if a fault of one of these kinds was active at any time between the two moments.
  bool at_work(const std::function<bool(const planned&)>& which, moment from, moment to) const;

 private:
  void run(const std::vector<planned>& own);
  void carry_out(const planned& one);
  outcome judge(const scene& after, const injection& what) const;

  surroundings all_;
  moment start_;
  moment end_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> busy_ = 0;
  mutable std::mutex mutex_;
  std::vector<injection> done_;        // guarded by mutex_
  std::vector<injection*> under_way_;  // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace outboxd::chaos
