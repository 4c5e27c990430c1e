// stage: a fresh, migrated outbox, a queue that gets its events and no others, and relays to run on it.
#pragma once

#include <fmt/format.h>

#include <csignal>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/broker.hpp"
#include "support/consumer.hpp"
#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/history.hpp"
#include "support/process.hpp"
#include "support/program.hpp"

namespace outboxd::test {

using namespace std::chrono_literals;

using arguments = std::vector<std::string>;
using environment = std::map<std::string, std::string>;

inline const auto time_limit = patience;

// For a relay that should live by notifications alone.
inline const arguments no_sweep{"--relay-sweep-interval", "30m", "--relay-claim-timeout", "1h"};

// For what a relay does only after some seconds: it names the session in its way, for one. A build without
// failpoints takes its time.
inline const environment hasty{{"OUTBOXD_FAILPOINT_HASTE", "10"}};

/// The outboxd under test: this build's, or that of OUTBOXD_TEST_BINARY, which tools/test sets to the
/// program that is shipped.
std::string outboxd_binary();

/// Runs outboxd to its end; without a URL among the variables it has none, whatever the tests' own
/// environment says.
program_result run_outboxd(const arguments& words, const environment& variables = {});

struct stage_options {
  std::string payload = "jsonb";
  std::string schema = "outbox";
  bool migrated = true;
  std::string server_url = required_environment("OUTBOXD_DATABASE_URL");
  std::string encoding = {};  // of the database; empty: the server's default
};

class stage {
 public:
  explicit stage(const stage_options& options = {});
  ~stage();
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  const std::string& database_url() const { return database_.url(); }
  const std::string& database_name() const { return database_.name(); }
  const std::string& schema() const { return schema_; }
  const std::string& queue() const { return queue_; }
  const std::string& exchange() const { return exchange_; }
  /// A routing key or event type that reaches this stage's queue and no other.
  std::string key(std::string_view name = "event") const { return fmt::format("{}.{}", queue_, name); }
  /// What an outboxd for this stage needs.
  environment variables() const;

  /// A new session; waits for the server if it is restarting.
  database connect() const;
  /// A number, in the stage's own session: for what is asked again and again. A lost one is opened again.
  std::int64_t ask(const std::string& sql, const std::vector<cell>& values = {}) const;
  /// Adds `count` events to every one of the `aggregates`, to each in turn, in one transaction.
  void add_events(int count, int aggregates = 1) const;
  /// How many events have this status.
  std::int64_t count(std::string_view status) const;
  void await_published(std::int64_t at_least) const;
  /// No event is pending or waiting any more.
  void await_drained(std::chrono::milliseconds limit = time_limit) const;
  /// Sessions of relays with this database.
  std::int64_t relay_sessions() const;
  /// Shards of this database that are led.
  std::int64_t shards_led() const;
  /// The session that leads the shard; 0 if none does.
  std::int64_t leader(int shard = 0) const;
  std::int64_t await_leader(int shard = 0) const;
  /// How many rows relays have read through this index, and how often they have looked; told a second late or
  /// so.
  std::int64_t rows_read(const std::string& index = "event_order") const;
  std::int64_t index_scans(const std::string& index = "event_order") const;
  /// The leader sleeps: writers ring.
  void await_asleep(int shard = 0) const;

  /// Everything in the queue by now.
  void read_queue(history& into) const;
  /// Waits until the outbox is drained, then checks all that was delivered against all that was committed.
  /// Events of the type key("scheduled") may come in any order.
  history_report check_all(std::chrono::milliseconds limit = time_limit) const;

 private:
  std::string event_table() const;

  fresh_database database_;
  mutable std::mutex asking_;
  mutable std::optional<database> asked_in_;
  std::string queue_;
  std::string exchange_ = "outbox";
  std::string schema_;
  std::string payload_;
};

/// A running `outboxd run`; killed when the object goes.
class relay : public process {
 public:
  /// `variables` override the stage's.
  explicit relay(const stage& on, const arguments& flags = {}, const environment& variables = {});

  /// Waits until it has all its connections; `from`: skip the first lines.
  void await_connected(std::size_t from = 0);
  /// SIGSTOP, at a moment when none of its sessions holds a lock on a table: stopped in the midst of a round
  /// trip, it would keep one until SIGCONT.
  void freeze(const stage& on);
  /// Asks it to stop, and expects exit code 0.
  void stop(int signal = SIGTERM);
};

}  // namespace outboxd::test
