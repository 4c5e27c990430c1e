// relay: one `outboxd run` behind proxies of its own, started again and again; what all its lives have left
// behind.
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
#include "support/process.hpp"
#include "support/tcp_proxy.hpp"

namespace outboxd::chaos {

/// What a relay runs with; the schedule's durations fit to it.
struct relay_settings {
  int lanes = 2;
  int batch = 50;
  std::chrono::milliseconds claim_timeout{4000};
  std::chrono::milliseconds confirm_timeout{2000};
  std::chrono::milliseconds sweep_interval{500};
  std::chrono::milliseconds shutdown_grace{5000};
  int retries = 15;
  std::chrono::milliseconds retry_delay{400};
  /// Longer than any queue stays unbound or exchange deleted, so that good events outlive it.
  std::chrono::seconds give_up_after{60};
  /// Each life ends at a named point of the code, as by kill -9, if it passes there often enough.
  bool failpoints = false;
  std::uint64_t seed = 1;  // of these
  bool guest = false;      // runs only while a fault says so
  /// More, or other ones.
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
  bool tolerated = false;  // not asked for, but what the manual says
  bool overdue = false;    // asked to stop, it did not, and was killed
  std::string last_words;
};

/// May be used from any thread.
class relay {
 public:
  relay(int number, arena& where, const relay_settings& how, keeper& guard);
  ~relay();
  relay(const relay&) = delete;
  relay& operator=(const relay&) = delete;

  int number() const { return number_; }
  bool is_guest() const { return settings_.guest; }
  bool has_failpoints() const { return settings_.failpoints; }
  /// Of its sessions in PostgreSQL.
  std::string name() const;
  test::tcp_proxy& link(server to) { return to == server::postgres ? database_link_ : broker_link_; }
  /// The present passwords, for the next connection.
  void write_secrets();

  void start();
  /// Waits until it has all its connections.
  bool await_connected(std::chrono::milliseconds limit);
  bool running();
  /// How it ended; nothing, if it did not run.
  std::optional<test::exit_status> kill();
  void freeze();
  void thaw();
  bool frozen();
  /// SIGTERM; returns how it ended, or nothing when it did not end in time (and was then killed).
  std::optional<test::exit_status> stop(std::chrono::milliseconds limit);

  /// Ended by itself: records it, says so, and forgets the process; the caller decides whether it may.
  std::optional<death> take_unasked_death();
  void record(death one);

  footprint now();
  /// Lines of all lives that contain `part`.
  std::size_t lines_with(const std::string& part);
  std::vector<std::string> all_lines();
  std::vector<death> deaths();
  std::vector<std::filesystem::path> log_files();
  int lives();
  /// Of this life; throws when it does not listen within a minute.
  std::uint16_t http_port();

 private:
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
  bool stopping_ = false;           // asked to, and not started again yet
  std::vector<std::string> lines_;  // of past lives
  std::vector<death> deaths_;
  std::vector<std::filesystem::path> log_files_;
};

footprint footprint_of(pid_t pid);

}  // namespace outboxd::chaos
