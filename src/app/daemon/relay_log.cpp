#include "app/daemon/relay_log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "app/daemon/step_log.hpp"
#include "app/operate/pausing.hpp"
#include "core/iso8601.hpp"
#include "pg/transport_risk.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::app {

namespace notice = relay::notice;

namespace {

std::string_view name_of(relay::peer which) {
  switch (which) {
    case relay::peer::database:
      return "PostgreSQL";
    case relay::peer::broker:
      return "RabbitMQ";
  }
  return {};
}

std::string name_of(const flow::destination& which) {
  const auto exchange = which.exchange.empty() ? std::string("the default exchange")
                                               : fmt::format("exchange \"{}\"", which.exchange);
  return which.routing_key.empty() ? exchange
                                   : fmt::format("{} with routing key \"{}\"", exchange, which.routing_key);
}

// Returns the remedy for messages that RabbitMQ returned.
std::string_view remedy_of(std::string_view reason) {
  return reason.ends_with("NO_ROUTE")
             ? " (no queue is bound: declare a queue and bind it; see \"Unroutable events\" in the runbook)"
             : "";
}

// Returns a suffix for a lasting condition. With log.level = debug, each of its occurrences is logged.
std::string more_often(std::size_t times) {
  return times == 0 ? std::string() : fmt::format(" ({} times since the last such line)", times);
}

}  // namespace

void relay_log::take(const relay::relay_notice& what) {
  std::visit([this](const auto& one) { say(one); }, what);
}

void relay_log::say(const notice::failed& what) {
  what.how.to == flow::exception::dead ? say_dies(what) : say_waits(what);
}

void relay_log::say_of(const notice::failed& what, spdlog::level::level_enum level,
                       std::string_view operation, const std::string& message) {
  auto fields = fields_of(what.which, what.to, operation);
  fields.push_back({"error.type", what.how.code});
  log_->say(level, message, fields);
}

// Thousands of events may become dead at once, so only one per second is logged, with the number of the
// others.
void relay_log::say_dies(const notice::failed& what) {
  const auto level = unsaid_deaths_ ? spdlog::level::debug : spdlog::level::err;
  if (log_->should_log(level))
    say_of(what, level, "give_up",
           fmt::format("event {} is dead: {}", to_string(what.which.id), what.how.reason));
  if (unsaid_deaths_) {
    ++*unsaid_deaths_;
    return;
  }
  unsaid_deaths_ = 0;
  deaths_timer_.expires_after(std::chrono::seconds(1));
  deaths_timer_.async_wait([this](const boost::system::error_code&) {
    if (*unsaid_deaths_ > 0)
      log_->error("{} more events are dead; `outboxd events list --status dead` shows which and why",
                  *unsaid_deaths_);
    unsaid_deaths_.reset();
  });
}

// Events that wait for a destination are reported with the destination. Of all other waiting events, which
// may be thousands per second, one per second is logged.
void relay_log::say_waits(const notice::failed& what) {
  if (what.how.waits_for) {
    if (log_->should_log(spdlog::level::debug))
      say_of(
          what, spdlog::level::debug, "wait",
          fmt::format("event {} waits for its destination: {}", to_string(what.which.id), what.how.reason));
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  const bool quiet = now < said_waits_ + std::chrono::seconds(1);
  const auto level = quiet ? spdlog::level::debug : spdlog::level::warn;
  if (log_->should_log(level))
    say_of(what, level, "wait",
           fmt::format("event {} waits {} ms: {}{}", to_string(what.which.id),
                       what.how.delay.value_or(std::chrono::milliseconds(0)).count(), what.how.reason,
                       unsaid_waits_ > 0 ? fmt::format(" (and {} more)", unsaid_waits_) : ""));
  if (quiet) {
    ++unsaid_waits_;
    return;
  }
  unsaid_waits_ = 0;
  said_waits_ = now;
}

void relay_log::say(const notice::stuck& what) {
  const auto times = stuck_.meet(what.reason, std::chrono::steady_clock::now());
  log_->log(times ? spdlog::level::err : spdlog::level::debug,
            "event {} {}; trying again with growing pauses{}", to_string(what.which.id), what.reason,
            more_often(times.value_or(0)));
}

void relay_log::say(const notice::changed_after_send& what) {
  log_->warn("event {} was changed after it was sent: RabbitMQ has it as it was before the change",
             to_string(what.which.id));
}

void relay_log::say(const notice::paused& what) {
  if (what.in_force.empty()) return log_->info("all pauses have ended");
  for (const auto& one : what.in_force) log_->warn("paused: {}", words_of(one));
}

void relay_log::say(const notice::gave_up& what) {
  log_->info("released leadership of shard {}", what.shard);
}

void relay_log::say(const notice::stands_by&) {
  log_->info("standby: another relay leads");
}

void relay_log::say(const notice::makes_way& what) {
  log_->info("releasing leadership: {}", what.who);
}

void relay_log::say(const notice::deferred& what) {
  log_->warn("PostgreSQL: {}; trying again", what.reason);
}

void relay_log::say(const notice::deferral_over&) {
  log_->info("PostgreSQL: reads and status updates succeed again");
}

void relay_log::say(const notice::deaf&) {
  log_->warn("PostgreSQL: notifications do not arrive; polling instead, and trying LISTEN again");
}

void relay_log::say(const notice::hears_again&) {
  log_->info("PostgreSQL: notifications arrive again");
}

void relay_log::say(const notice::queue& what) {
  if (!what.fills) return log_->info("PostgreSQL: the notification queue has room again");
  log_->warn(
      "PostgreSQL: the notification queue, which all databases of the server share, is {:.0f} % full: a "
      "session listens and keeps a transaction open; `outboxd check` names it. The relay polls, and writers "
      "do not notify; when the "
      "queue is full, commits of other programs that use NOTIFY fail",
      100 * what.usage);
}

void relay_log::say(const notice::in_doubt& what) {
  constexpr std::size_t most = 10;
  std::string some;
  for (std::size_t i = 0; i < std::min(what.keys.size(), most); ++i)
    some += (i == 0 ? "" : ", ") + to_string(what.keys[i].id);
  log_->warn(
      "shutdown grace is over: {} events were sent and not marked as published, and may be delivered again: "
      "{}{}",
      what.keys.size(), some, what.keys.size() > most ? ", ..." : "");
}

void relay_log::say(const notice::connected& what) {
  losses_[what.to].forget();
  log_->info("connected to {}", name_of(what.to));
}

void relay_log::say(const notice::disconnected& what) {
  const auto times = losses_[what.from].meet(what.why.message, std::chrono::steady_clock::now());
  log_->log(times ? spdlog::level::warn : spdlog::level::debug, "{}: {}; trying again{}", name_of(what.from),
            what.why.message, more_often(times.value_or(0)));
}

void relay_log::say(const notice::open_to_network& what) {
  log_->warn("PostgreSQL: {}; set {}", what.why, pg::transport_remedy);
}

void relay_log::say(const notice::goes_without& what) {
  log_->warn("PostgreSQL denies this user something that the relay can do without: {}", what.words);
}

void relay_log::say(const notice::newer_schema& what) {
  log_->warn(
      "the schema has version {}, and this outboxd was built for {}; it works with both, but install a newer "
      "outboxd before the next migration",
      what.version, store::schema_version);
}

void relay_log::say(const notice::led& what) {
  log_->info("leads shard {} of {}", what.what.shard, what.what.shards);
  if (what.what.afresh)
    log_->warn(
        "the saved position of shard {} comes from another server, or this server has lost transactions; "
        "reading from the start",
        what.what.shard);
}

void relay_log::say(const notice::shards_mended& what) {
  log_->warn(
      "{} of the outbox had no row in the table shard: the row was deleted, or a restore left it out; "
      "created it again, reading from the start",
      what.shards == 1 ? "a shard" : fmt::format("{} shards", what.shards));
}

void relay_log::say(const notice::lock_held& what) {
  log_->warn("PostgreSQL: since {:%H:%M:%S} UTC, {}",
             fmt::gmtime(std::chrono::floor<std::chrono::seconds>(what.since)), what.words);
}

void relay_log::say(const notice::blocked& what) {
  log_->warn("publishing blocked by RabbitMQ ({}); waiting until it is unblocked", what.reason);
}

void relay_log::say(const notice::unblocked&) {
  log_->info("publishing unblocked by RabbitMQ");
}

void relay_log::say(const notice::token_not_renewed& what) {
  log_->warn(
      "RabbitMQ: the token of the login ends at {} and is not renewed: {}; trying again. After its end, "
      "RabbitMQ refuses events until the relay has logged in again",
      to_iso8601(what.end), what.why.message);
}

void relay_log::say(const notice::token_renewed& what) {
  log_->log(what.at_last ? spdlog::level::info : spdlog::level::debug,
            "RabbitMQ: the token of the login is renewed");
}

void relay_log::say(const notice::exchange_created& what) {
  log_->warn(
      "declared the exchange \"{}\", which did not exist: no queue is bound to it yet, so RabbitMQ returns "
      "events, and they wait; declare a queue and bind it (see \"Unroutable events\" in the runbook)",
      what.name);
}

void relay_log::say(const notice::destination_down& what) {
  log_->error("{} does not accept events: {}{}; they wait, and are dead after retry.give_up_after",
              name_of(what.what.which), what.reason, remedy_of(what.reason));
}

void relay_log::say(const notice::destination_still_down& what) {
  const auto& of = what.what;
  log_->error("{} has not accepted events for {} s; {} events are waiting",
              of.which.routing_key.empty() || of.keys == 1
                  ? name_of(of.which)
                  : fmt::format("{} with {} routing keys", name_of({of.which.exchange, {}}), of.keys),
              of.lasts.count() / 1'000, of.events);
}

void relay_log::say(const notice::destination_up& what) {
  const auto& of = what.what;
  if (what.works)
    log_->info("{} accepts events again after {} s; {} events were waiting", name_of(of.which),
               of.lasts.count() / 1'000, of.events);
  else
    log_->info("no event waits for {} any more, after {} s", name_of(of.which), of.lasts.count() / 1'000);
}

void relay_log::say(const notice::pruned& what) {
  log_->debug("retention.{}: {} rows deleted", name_of(what.what), what.rows);
}

void relay_log::say(const notice::prune_ended& what) {
  const auto& run = what.run;
  if (run.rows > 0 && run.what == relay::prunable::partitions)
    log_->info("retention.published: {} partitions dropped", run.rows);
  else if (run.rows > 0)
    log_->info("retention.{}: {} rows deleted in {:.1f} s", name_of(run.what), run.rows,
               static_cast<double>(run.took.count()) / 1'000);
}

void relay_log::say(const notice::prune_refused& what) {
  if (what.what == relay::prunable::partitions)
    return log_->warn("partitions: creating or dropping failed: {}; trying again", what.why.message);
  log_->warn("retention.{}: deleting failed: {}; trying again", name_of(what.what), what.why.message);
}

void relay_log::say(const notice::prune_kept& what) {
  log_->warn("retention.{}: {} old rows are kept: {}", name_of(what.what), what.rows, what.why);
}

void relay_log::say(const notice::sample_refused& what) {
  log_->warn("table sampling failed, so metrics of the table are stale: {}; trying again", what.why.message);
}

void relay_log::say(const notice::rotated& what) {
  if (what.what == "began") return log_->info("partition event_p{} begins", what.number);
  if (what.what == "made") return log_->info("partition event_p{} is ready", what.number);
  if (what.what == "mended")
    return log_->warn(
        "the sequence of the outbox was set to a number that no partition takes: numbering continues in "
        "partition event_p{}",
        what.number);
  if (what.what == "detached")
    return log_->warn("partition event_p{} was detached by hand, and is left alone", what.number);
  log_->warn("cannot create partition event_p{0}: a table event_p{0} already exists", what.number);
}

}  // namespace outboxd::app
