// relay: one `outboxd run` behind its own proxies, restarted repeatedly, and the records of all its lives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "arena.hpp"
#include "keeper.hpp"
#include "schedule.hpp"
#include "side_outboxes.hpp"
#include "support/process.hpp"
#include "support/tcp_proxy.hpp"

namespace outboxd::chaos {

/// The settings of a relay, on which the schedule's durations are based.
struct relay_settings {
  int lanes = 2;
  int batch = 50;
  std::chrono::milliseconds claim_timeout{4000};
  std::chrono::milliseconds confirm_timeout{2000};
  std::chrono::milliseconds sweep_interval{500};
  std::chrono::milliseconds shutdown_grace{5000};
  int retries = 15;
  std::chrono::milliseconds retry_delay{400};
  /// Longer than any queue stays unbound or exchange deleted, so that good events do not become dead.
  std::chrono::seconds give_up_after{60};
  /// Each life ends at a named failpoint, as if by kill -9, if it passes that point often enough.
  bool failpoints = false;
  std::uint64_t seed = 1;  // selects these points
  bool guest = false;      // runs only while a fault says so
  /// Other outboxes that each process relays; null: none.
  const side_outboxes* beside = nullptr;
  /// Additional or different settings.
  std::map<std::string, std::string> extra = {};

  std::map<std::string, std::string> environment() const;
};

/// Descriptors and memory of a process.
struct footprint {
  std::size_t descriptors = 0;
  std::size_t resident_kb = 0;
};

/// The end of one life of a relay.
struct death {
  int life = 0;
  test::exit_status status;
  bool asked = false;      // by a signal of ours
  bool tolerated = false;  // not asked for, but documented
  bool overdue = false;    // did not stop when asked, and was killed
  std::string last_words;
};

/// Thread-safe.
class relay {
 public:
  relay(int number, arena& where, const relay_settings& how, keeper& guard);
  ~relay();
  relay(const relay&) = delete;
  relay& operator=(const relay&) = delete;

  int number() const { return number_; }
  bool is_guest() const { return settings_.guest; }
  bool has_failpoints() const { return settings_.failpoints; }
  /// The application_name of its PostgreSQL sessions.
  std::string name() const;
  test::tcp_proxy& link(server to) { return to == server::postgres ? database_link_ : broker_link_; }
  /// Writes the current passwords to its secret files, for the next connection.
  void write_secrets();

  void start();
  /// Waits until it has all its connections.
  bool await_connected(std::chrono::milliseconds limit);
  bool running();
  /// Returns how it ended; nullopt if it was not running.
  std::optional<test::exit_status> kill();
  void freeze();
  void thaw();
  bool frozen();
  /// Sends SIGTERM; returns how it ended, or nullopt if it did not end in time and was killed.
  std::optional<test::exit_status> stop(std::chrono::milliseconds limit);

  /// If it has ended by itself: records and reports that, and forgets the process; the caller decides whether
  /// that is allowed.
  std::optional<death> take_unasked_death();
  void record(death one);

  footprint now();
  /// The number of log lines of all lives that contain `part`.
  std::size_t lines_with(const std::string& part);
  std::vector<std::string> all_lines();
  std::vector<death> deaths();
  std::vector<std::filesystem::path> log_files();
  int lives();
  /// For the current life; throws if it does not listen within a minute.
  std::uint16_t http_port();

 private:
  /// Which outbox, or outboxes, `outboxd run` relays.
  std::vector<std::string> run_arguments() const;
  std::string next_failpoint() const;
  void forget(const test::exit_status& status, bool asked);

  int number_;
  arena& arena_;
  relay_settings settings_;
  keeper& keeper_;
  test::tcp_proxy database_link_;
  test::tcp_proxy broker_link_;
  std::recursive_mutex mutex_;
  std::shared_ptr<test::process> process_;
  int lives_ = 0;
  bool stopping_ = false;           // asked to stop, and not restarted yet
  std::vector<std::string> lines_;  // log lines of past lives
  std::vector<death> deaths_;
  std::vector<std::filesystem::path> log_files_;
};

footprint footprint_of(pid_t pid);

}  // namespace outboxd::chaos
