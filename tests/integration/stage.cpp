// stage: set-up, waiting, and reading the queue.
#include "stage.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>

#include "migrated_template.hpp"

extern char** environ;

namespace outboxd::test {
namespace {

constexpr auto end_mark = "end-of-queue";

process_options outboxd_options(const arguments& words, const environment& variables) {
  process_options options{
      .program = outboxd_binary(), .arguments = words, .environment = variables, .log_file = {}};
  // Instead of the URLs in the environment of the tests; OUTBOXD_TEST_… and OUTBOXD_SERVICES_… are no
  // settings.
  options.environment.try_emplace("OUTBOXD_DATABASE_URL", "");
  options.environment.try_emplace("OUTBOXD_AMQP_URL", "amqp://localhost");
  return options;
}

std::string unique_key() {
  static int counter = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("test-{}-{}-{}", now.count(), ::getpid(), ++counter);
}

arguments with_command(const arguments& flags) {
  arguments all{"run"};
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

environment merged(environment base, const environment& over) {
  for (const auto& [name, value] : over) base[name] = value;
  return base;
}

}  // namespace

namespace {

// What many tests want, and migrate makes once for all of them. A partitioned outbox begins at the time of
// its migration, so it is no copy.
bool is_common(const stage_options& asked) {
  const stage_options common;
  const char* const period = std::getenv("OUTBOXD_TEST_PARTITION");
  return asked.migrated && asked.schema == common.schema && asked.server_url == common.server_url &&
         asked.encoding.empty() && (period == nullptr || *period == '\0');
}

}  // namespace

std::string outboxd_binary() {
  const char* const other = std::getenv("OUTBOXD_TEST_BINARY");
  return other != nullptr ? other : OUTBOXD_BINARY;
}

program_result run_outboxd(const arguments& words, const environment& variables) {
  return run_program(outboxd_options(words, variables), 2 * time_limit);
}

stage::stage(const stage_options& options)
    : database_{options.server_url, options.encoding,
                is_common(options) ? migrated_template(options.payload) : ""},
      queue_{unique_key()},
      schema_{options.schema},
      payload_{options.payload} {
  broker session;
  session.declare_exchange(exchange_);
  session.declare_queue(queue_);
  session.bind(queue_, exchange_, queue_ + ".#");
  if (!options.migrated || is_common(options)) return;
  arguments words{"migrate", "--payload", payload_};
  const char* const period = std::getenv("OUTBOXD_TEST_PARTITION");
  if (period != nullptr && *period != '\0') words.insert(words.end(), {"--partition", period});
  const auto done = run_outboxd(words, variables());
  REQUIRE_MESSAGE(done.exited(0), done.text());
}

stage::~stage() {
  try {
    broker{}.delete_queue(queue_);
  } catch (const std::exception& error) {
    fmt::print(stderr, "queue {} is left behind: {}\n", queue_, error.what());
  }
}

environment stage::variables() const {
  return {{"OUTBOXD_DATABASE_URL", database_url()},
          {"OUTBOXD_AMQP_URL", required_environment("OUTBOXD_AMQP_URL")},
          {"OUTBOXD_OUTBOX_SCHEMA", schema_}};
}

database stage::connect() const {
  return std::move(*eventually(
      "PostgreSQL takes connections",
      [this]() -> std::optional<database> {
        try {
          return database_.connect();
        } catch (const database_error&) {
          return std::nullopt;
        }
      },
      time_limit));
}

void stage::add_events(int count, int aggregates) const {
  connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', a, $1, jsonb_build_object('n', n)"
      " FROM generate_series(1, $2::int) AS n, generate_series(1, $3::int) AS a ORDER BY n, a",
      {key(), std::to_string(count), std::to_string(aggregates)});
}

std::int64_t stage::ask(const std::string& sql, const std::vector<cell>& values) const {
  const std::lock_guard one_at_a_time{asking_};
  for (;;) {
    if (!asked_in_) asked_in_.emplace(connect());
    try {
      return asked_in_->number(sql, values);
    } catch (const database_error&) {
      if (PQstatus(asked_in_->handle()) == CONNECTION_OK) throw;
      asked_in_.reset();
    }
  }
}

std::string stage::event_table() const {
  std::string out = "\"";
  for (const char letter : schema_) out.append(letter == '"' ? 2 : 1, letter);
  return out + "\".event";
}

std::int64_t stage::count(std::string_view status) const {
  return ask(fmt::format("SELECT count(*) FROM {} WHERE status = '{}'", event_table(), status));
}

void stage::await_published(std::int64_t at_least) const {
  eventually(
      fmt::format("{} events are published", at_least), [&] { return count("published") >= at_least; },
      time_limit);
}

void stage::await_drained(std::chrono::milliseconds limit) const {
  eventually(
      "no event is pending or waiting",
      [&] {
        return ask(fmt::format("SELECT (EXISTS (SELECT FROM {0} WHERE status = 'pending')"
                               " OR EXISTS (SELECT FROM {0} WHERE status = 'waiting'))::integer",
                               event_table())) == 0;
      },
      limit);
}

std::int64_t stage::relay_sessions() const {
  return ask(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE "
      "'outboxd % on %'");
}

namespace {

// Of a partitioned outbox those of all partitions together.
constexpr auto of_index =
    "FROM pg_stat_user_indexes WHERE regexp_replace(indexrelname, '^event_p[0-9]+_', 'event_') = $1";

// Of a relay: key 2 is the shard for its lead, and 64 more for the sleep of its leader.
constexpr auto exclusive_locks =
    " FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database"
    " WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted"
    " AND l.mode = 'ExclusiveLock'";

}  // namespace

std::int64_t stage::shards_led() const {
  return ask(fmt::format("SELECT count(*){} AND l.objid < 64", exclusive_locks));
}

std::int64_t stage::leader(int shard) const {
  return ask(fmt::format("SELECT coalesce(max(l.pid), 0){} AND l.objid = {}", exclusive_locks, shard));
}

std::int64_t stage::await_leader(int shard) const {
  return eventually(
      fmt::format("shard {} is led", shard), [&] { return leader(shard); }, time_limit);
}

std::int64_t stage::rows_read(const std::string& index) const {
  return ask(fmt::format("SELECT coalesce(sum(idx_tup_read), 0) {}", of_index), {index});
}

std::int64_t stage::index_scans(const std::string& index) const {
  return ask(fmt::format("SELECT coalesce(sum(idx_scan), 0) {}", of_index), {index});
}

void stage::await_asleep(int shard) const {
  eventually(
      fmt::format("the leader of shard {} sleeps", shard),
      [&] {
        return ask(fmt::format("SELECT count(*){} AND l.objid = {}", exclusive_locks, 64 + shard)) == 1;
      },
      time_limit);
}

void stage::read_queue(history& into) const {
  broker{}.publish("", queue_, "", end_mark);
  consumer reader{queue_, 500};
  for (;;) {
    auto message = reader.next(time_limit);
    REQUIRE_MESSAGE(message, "the queue does not come to its end");
    reader.ack(*message);
    if (message->message_id() == end_mark) return;
    into.record(std::move(*message));
  }
}

history_report stage::check_all(std::chrono::milliseconds limit) const {
  await_drained(limit);
  history seen;
  read_queue(seen);
  auto session = connect();
  const std::string content_type = payload_ == "text"    ? "text/plain"
                                   : payload_ == "bytea" ? "application/octet-stream"
                                                         : "application/json";
  return seen.check(committed_events(session, schema_),
                    {.exchange = exchange_, .content_type = content_type, .unordered = key("scheduled")});
}

relay::relay(const stage& on, const arguments& flags, const environment& variables)
    : process{outboxd_options(with_command(flags), merged(on.variables(), variables))} {}

void relay::await_connected(std::size_t from) {
  wait_line("connected to PostgreSQL", time_limit, from);
  wait_line("connected to RabbitMQ", time_limit, from);
}

void relay::freeze(const stage& on) {
  auto session = on.connect();
  eventually(
      "the relay stands still without a lock",
      [&] {
        send(SIGSTOP);
        if (session.number("SELECT count(*) FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid"
                           " WHERE l.locktype = 'relation' AND a.datname = current_database()"
                           " AND a.application_name LIKE 'outboxd % on %'") == 0)
          return true;
        send(SIGCONT);
        return false;
      },
      time_limit);
}

void relay::stop(int signal) {
  send(signal);
  const auto status = wait(time_limit);
  CHECK_MESSAGE(status.code == 0, tail());
}

}  // namespace outboxd::test
