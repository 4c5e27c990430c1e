#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <utility>

#include "app/commands.hpp"
#include "app/effective_settings.hpp"
#include "app/log.hpp"
#include "app/pause_words.hpp"
#include "app/relay_endpoints.hpp"
#include "app/reload.hpp"
#include "app/repeated.hpp"
#include "app/run_signals.hpp"
#include "app/service_notices.hpp"
#include "app/step_log.hpp"
#include "http/server.hpp"
#include "pg/relay_statements.hpp"
#include "pg/transport_risk.hpp"

namespace outboxd::app {
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

// Every death is said. Of the events that wait, which may be thousands a second, one in a second.
class failure_log {
 public:
  failure_log(std::shared_ptr<logger> log, std::string default_exchange)
      : log_(std::move(log)), default_exchange_(std::move(default_exchange)) {}

  void say(const event& which, const flow::destination& to, const flow::failure_record& how) {
    if (how.to == flow::exception::dead)
      say_of(which, to, how, spdlog::level::err, "give_up",
             fmt::format("event {} is dead: {}", to_string(which.id), how.reason));
    else
      say_waits(which, to, how);
    if (how.code == name_of(failure::returned)) say_unbound(to);
  }

 private:
  void say_of(const event& which, const flow::destination& to, const flow::failure_record& how,
              spdlog::level::level_enum level, std::string_view operation, const std::string& message) {
    auto fields = fields_of(which, to, operation);
    fields.push_back({"error.type", how.code});
    log_->say(level, message, fields);
  }

  // Once: of somebody who has forgotten the bindings all events come back.
  void say_unbound(const flow::destination& to) {
    if (to.exchange != default_exchange_ || std::exchange(said_unbound_, true)) return;
    log_->warn(
        "no queue is bound to exchange \"{}\" for routing key \"{}\"; declare a queue and bind it (see "
        "docs/first-session.md)",
        to.exchange, to.routing_key);
  }

  void say_waits(const event& which, const flow::destination& to, const flow::failure_record& how) {
    const auto now = std::chrono::steady_clock::now();
    const bool quiet = now < said_ + std::chrono::seconds(1);
    const auto level = quiet ? spdlog::level::debug : spdlog::level::warn;
    if (log_->should_log(level))
      say_of(which, to, how, level, "wait",
             fmt::format("event {} waits {} ms: {}{}", to_string(which.id),
                         how.delay.value_or(std::chrono::milliseconds(0)).count(), how.reason,
                         unsaid_ > 0 ? fmt::format(" (and {} more)", unsaid_) : ""));
    if (quiet) {
      ++unsaid_;
      return;
    }
    unsaid_ = 0;
    said_ = now;
  }

  std::shared_ptr<logger> log_;
  std::string default_exchange_;
  bool said_unbound_ = false;
  std::chrono::steady_clock::time_point said_;
  std::size_t unsaid_ = 0;
};

void say_queue(logger& log, bool fills, double usage) {
  if (!fills) return log.info("PostgreSQL: the notification queue has room again");
  log.warn(
      "PostgreSQL: the queue of notifications, which all databases of the server share, is full to {:.0f} %: "
      "somebody listens in a transaction that lasts. Events leave by polling, and writers do not notify; "
      "other "
      "programs' commits with a NOTIFY fail when it is full",
      100 * usage);
}

// Of a condition that lasts: each case of it is still said with log.level = debug.
std::string more_often(std::size_t times) {
  return times == 0 ? std::string() : fmt::format(" ({} times since it was said last)", times);
}

relay::relay_report log_to(const std::shared_ptr<logger>& log, const std::string& default_exchange,
                           step_log& steps) {
  const auto losses = std::make_shared<std::map<relay::peer, repeated>>();
  return {
      .connected =
          [log, losses](relay::peer which) {
            (*losses)[which].forget();
            log->info("connected to {}", name_of(which));
          },
      .disconnected =
          [log, losses](relay::peer which, const error& why) {
            const auto times = (*losses)[which].meet(why.message, std::chrono::steady_clock::now());
            log->log(times ? spdlog::level::warn : spdlog::level::debug, "{}: {}; trying again{}",
                     name_of(which), why.message, more_often(times.value_or(0)));
          },
      .failed = [said = failure_log(log, default_exchange)](
                    const event& which, const flow::destination& to,
                    const flow::failure_record& how) mutable { said.say(which, to, how); },
      .stuck =
          [log, often = repeated()](const event& which, const std::string& why) mutable {
            const auto times = often.meet(why, std::chrono::steady_clock::now());
            log->log(times ? spdlog::level::err : spdlog::level::debug,
                     "event {} {}; trying again with growing pauses{}", to_string(which.id), why,
                     more_often(times.value_or(0)));
          },
      .changed_after_send =
          [log](const event& which) {
            log->warn(
                "event {} was changed after it was sent: what was delivered is what its row said before",
                to_string(which.id));
          },
      .deferred = [log](std::string_view why) { log->warn("PostgreSQL: {}; trying again", why); },
      .deferral_over = [log] { log->info("PostgreSQL: reads and status updates succeed again"); },
      .culprit = [log](const std::string& words) { log->warn("PostgreSQL: {}", words); },
      .newer_schema =
          [log](std::int64_t version) {
            log->warn(
                "the schema has version {}, and this outboxd is made for {}; it works with both; run a newer "
                "outboxd before the next migration",
                version, pg::schema_version);
          },
      .makes_way = [log](const std::string& who) { log->info("releasing leadership: {}", who); },
      .shards_mended =
          [log](std::int64_t shards) {
            log->warn(
                "{} of the outbox had no row in the table shard: somebody has deleted it, or a restore has "
                "left "
                "it out; it is made again, and is read from the start",
                shards == 1 ? "a shard" : fmt::format("{} shards", shards));
          },
      .stands_by = [log] { log->info("stands by: another relay leads"); },
      .in_doubt =
          [log](const std::vector<event_key>& ids) {
            constexpr std::size_t most = 10;
            std::string some;
            for (std::size_t i = 0; i < std::min(ids.size(), most); ++i)
              some += (i == 0 ? "" : ", ") + to_string(ids[i].id);
            log->warn(
                "shutdown grace is over: {} events were sent and not marked as published, and may be "
                "delivered again: {}{}",
                ids.size(), some, ids.size() > most ? ", ..." : "");
          },
      .led =
          [log](const relay::shard_view& what) {
            log->info("leads shard {} of {}", what.shard, what.shards);
            if (what.afresh)
              log->warn(
                  "the saved position of shard {} is another server's, or this one has lost transactions; "
                  "reading from the start",
                  what.shard);
          },
      .gave_up = [log](int shard) { log->info("released leadership of shard {}", shard); },
      .blocked =
          [log](std::string_view reason) {
            log->warn("publishing blocked by RabbitMQ ({}); waiting until it is unblocked", reason);
          },
      .unblocked = [log] { log->info("publishing unblocked by RabbitMQ"); },
      .open_to_network =
          [log](const std::string& why) { log->warn("PostgreSQL: {}; set {}", why, pg::transport_remedy); },
      .exchange_created =
          [log](const std::string& name) {
            log->warn(
                "RabbitMQ had no exchange \"{}\", and has it now: no queue is bound to it, so that events "
                "come "
                "back and wait; declare a queue and bind it (see docs/first-session.md)",
                name);
          },
      .destination_down =
          [log](const flow::destination& which, std::string_view reason) {
            log->error("{} has stopped working: {}; its events wait, and no attempt is counted",
                       name_of(which), reason);
          },
      .destination_up =
          [log](const flow::destination& which, std::chrono::milliseconds down_for) {
            log->info("{} works again, after {} s", name_of(which), down_for.count() / 1'000);
          },
      .paused =
          [log](const std::vector<flow::pause>& in_force) {
            if (in_force.empty()) return log->info("all pauses have ended");
            for (const auto& one : in_force) log->warn("paused: {}", words_of(one));
          },
      .deaf = [log](const std::string& why) { log->warn("PostgreSQL: {}", why); },
      .hearing_again = [log] { log->info("PostgreSQL: notifications arrive again"); },
      .queue = [log](bool fills, double usage) { say_queue(*log, fills, usage); },
      .pruned = [log](
                    relay::prunable what,
                    std::int64_t rows) { log->debug("retention.{}: {} rows deleted", name_of(what), rows); },
      .prune_ended =
          [log](const relay::prune_run& run) {
            if (run.rows > 0 && run.what == relay::prunable::partitions)
              log->info("retention.published: {} partitions dropped", run.rows);
            else if (run.rows > 0)
              log->info("retention.{}: {} rows deleted in {:.1f} s", name_of(run.what), run.rows,
                        static_cast<double>(run.took.count()) / 1'000);
          },
      .prune_refused =
          [log](relay::prunable what, const error& why) {
            if (what == relay::prunable::partitions)
              return log->warn("partitions: creating or dropping failed: {}; trying again", why.message);
            log->warn("retention.{}: deleting failed: {}; trying again", name_of(what), why.message);
          },
      .prune_kept =
          [log](relay::prunable what, std::int64_t rows, std::string_view why) {
            log->warn("retention.{}: {} rows that are old stay: {}", name_of(what), rows, why);
          },
      .sample_refused =
          [log](const error& why) {
            log->warn("table sampling failed, so metrics of the table are stale: {}; trying again",
                      why.message);
          },
      .turned =
          [log](std::string_view what, std::int64_t number) {
            if (what == "began") return log->info("partition event_p{} begins", number);
            if (what == "made") return log->info("partition event_p{} is ready", number);
            if (what == "mended")
              return log->warn(
                  "the sequence of the outbox was set to where no event may go: it goes on in partition "
                  "event_p{}",
                  number);
            if (what == "detached")
              return log->warn("partition event_p{} was detached by hand, and is left alone", number);
            log->warn("the table event_p{} is in the way of a partition of that name, which is left out",
                      number);
          },
      .steps = &steps,
  };
}

result<void> listen(http::server& server, const http_settings& on, spdlog::logger& log) {
  for (const auto& where : on.listen) {
    const auto found = server.listen(where);
    if (!found) return tl::make_unexpected(found.error());
    log.info("listening on {}", http::url_of(*found));
  }
  return {};
}

// SIGHUP. What is not good leaves everything as it is; true: it was good.
bool take_up(const result<raw_settings>& found, settings& in_force, relay::relay& relay, logger& log) {
  auto changed = found ? reload(in_force, *found) : tl::make_unexpected(found.error());
  if (const auto payload = relay.payload(); changed && payload)
    if (const auto why = misfit(changed->in_force.relay.leader.stream.route, *payload))
      changed = permanent(*why);
  if (!changed) {
    log.error("configuration not reloaded: {}", changed.error().message);
    return false;
  }
  const settings before = std::exchange(in_force, std::move(changed->in_force));
  relay.adopt(in_force.relay);
  log.adopt(in_force.log);
  for (const std::string& key : changed->taken_up) {
    const auto now = value_of(in_force, key);
    log.info("{} = '{}' ({}) from now on; it was '{}'", key, now.text, now.origin,
             value_of(before, key).text);
  }
  for (const std::string& key : changed->at_restart)
    log.warn("{} has changed, and stays as it was until the relay is restarted", key);
  if (changed->taken_up.empty() && changed->at_restart.empty())
    log.info("configuration reloaded; no changes");
  return true;
}

service_view view_of(const relay::relay& relay, const std::shared_ptr<spdlog::logger>& log) {
  return {
      .figures = [&relay] { return relay.figures(); },
      .stuck = [&relay] { return relay.stuck(); },
      .unheard = [log](const std::string& why) { log->warn("cannot notify systemd: {}", why); },
  };
}

}  // namespace

int run_command(const settings& from, const run_options& options) {
  if (options.print_config) {
    fmt::print("{}", to_toml(from));
    return exit_success;
  }
  const auto service_manager = sd_notify::from_environment();
  const auto log = make_logger(from.log);
  for (const auto& warning : from.warnings) log->warn(warning);
  log->info("outboxd {}: schema {}, {} lanes, reads of {}", OUTBOXD_VERSION,
            from.relay.leader.database.schema.name(), from.relay.lanes, from.relay.leader.stream.read.batch);
  if (from.relay.max_rate > 0)
    log->info("at most {} messages a second (relay.max_rate)", from.relay.max_rate);
  std::signal(SIGPIPE, SIG_IGN);  // a closed log pipe or socket is an error of its write
  for (const int unused : {SIGUSR1, SIGUSR2}) std::signal(unused, SIG_IGN);  // they would end the process

  boost::asio::io_context io(1);
  step_log steps(log);
  relay::relay relay(io, from.relay, log_to(log, from.relay.leader.stream.route.exchange, steps));
  http::server server(io.get_executor(), handler_of(endpoints_of(relay)), from.http.hosts);
  if (const auto heard = listen(server, from.http, *log); !heard) {
    log->error(heard.error().message);
    return exit_failure;
  }
  service_notices notices(io, service_manager, view_of(relay, log));
  settings in_force = from;
  run_signals signals(io, {.stop =
                               [&] {
                                 log->info("stopping: no new reads, waiting for outstanding confirms");
                                 relay.stop();
                                 notices.look();
                               },
                           .reload =
                               [&] {
                                 notices.reloading();
                                 notices.reloaded(!take_up(options.read_again(), in_force, relay, *log));
                                 steps.follow_level();
                               }});
  bool clean = true;
  relay.start([&](bool closed_all) {
    clean = closed_all;
    signals.cancel();
    server.stop();
    notices.stop();
    if (!closed_all) io.stop();
  });
  notices.start();
  io.run();
  if (relay.failure()) {
    log->error(relay.failure()->message);
  } else {
    const relay::counts& all = relay.totals();
    log->info("stopped; {} events published, {} sent back to wait, {} dead", all.published, all.retried,
              all.dead);
  }
  const int status = !relay.failure()                                ? exit_success
                     : relay.failure()->why == cause::schema_version ? exit_usage
                                                                     : exit_failure;
  // A name look-up that hangs would be waited for by the reactor's end, and nothing is left to save.
  if (!clean) ::_exit(status);
  return status;
}

}  // namespace outboxd::app
