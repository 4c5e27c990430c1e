#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <csignal>

#include "app/commands.hpp"
#include "app/log.hpp"
#include "app/setting_keys.hpp"

namespace outboxd::app {
namespace {

namespace asio = boost::asio;

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
  explicit failure_log(std::shared_ptr<spdlog::logger> log) : log_(std::move(log)) {}

  void say(const event& which, const flow::failure_record& how) {
    if (how.to == flow::exception::dead)
      log_->error("event {} is dead: {}", to_string(which.id), how.reason);
    else
      say_waits(which, how);
  }

 private:
  void say_waits(const event& which, const flow::failure_record& how) {
    const auto now = std::chrono::steady_clock::now();
    const bool quiet = now < said_ + std::chrono::seconds(1);
    log_->log(quiet ? spdlog::level::debug : spdlog::level::warn, "event {} waits {} ms: {}{}",
              to_string(which.id), how.delay.count(), how.reason,
              unsaid_ > 0 ? fmt::format(" (and {} more)", unsaid_) : "");
    if (quiet) {
      ++unsaid_;
      return;
    }
    unsaid_ = 0;
    said_ = now;
  }

  std::shared_ptr<spdlog::logger> log_;
  std::chrono::steady_clock::time_point said_;
  std::size_t unsaid_ = 0;
};

relay::relay_report log_to(const std::shared_ptr<spdlog::logger>& log) {
  return {
      .connected = [log](relay::peer which) { log->info("connected to {}", name_of(which)); },
      .disconnected =
          [log](relay::peer which, const error& why) {
            log->warn("{}: {}; trying again", name_of(which), why.message);
          },
      .failed = [said = failure_log(log)](const event& which,
                                          const flow::failure_record& how) mutable { said.say(which, how); },
      .stuck =
          [log](const event& which, const std::string& why) {
            log->error(
                "event {} is published or refused, and PostgreSQL will not write that: {}; trying again with "
                "growing pauses",
                to_string(which.id), why);
          },
      .deferred = [log](std::string_view why) { log->warn("PostgreSQL: {}; trying again", why); },
      .deferral_over = [log] { log->info("PostgreSQL: reads and marks go on"); },
      .culprit = [log](const std::string& words) { log->warn("PostgreSQL: {}", words); },
      .stands_by = [log] { log->info("stands by: another relay leads"); },
      .in_doubt =
          [log](const std::vector<event_id>& ids) {
            constexpr std::size_t most = 10;
            std::string some;
            for (std::size_t i = 0; i < std::min(ids.size(), most); ++i)
              some += (i == 0 ? "" : ", ") + to_string(ids[i]);
            log->warn(
                "gives up after relay.shutdown_grace: {} events were sent and are not marked, and may go out "
                "again: {}{}",
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
      .gave_up = [log](int shard) { log->info("does not lead shard {} any more", shard); },
      .blocked =
          [log](std::string_view reason) {
            log->warn("RabbitMQ takes nothing for now ({}); waiting until it does", reason);
          },
      .unblocked = [log] { log->info("RabbitMQ takes messages again"); },
      .destination_down =
          [log](const flow::destination& which, std::string_view reason) {
            log->error("{} has stopped working: {}; its events wait, and no attempt is counted",
                       name_of(which), reason);
          },
      .destination_up =
          [log](const flow::destination& which, std::chrono::milliseconds down_for) {
            log->info("{} works again, after {} s", name_of(which), down_for.count() / 1'000);
          },
      .deaf = [log](const std::string& why) { log->warn("PostgreSQL: {}", why); },
      .hearing_again = [log] { log->info("PostgreSQL: notifications arrive again"); },
  };
}

// nohup ignores it for the program that it starts.
bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// The first signal drains, the second ends the process at once (as pgbouncer does). SIGHUP drains and never
// does more: systemd may send it right after SIGTERM (SendSIGHUP=), and a terminal that closes may send it
// twice.
class signals {
 public:
  signals(asio::io_context& io, relay::relay& stops, std::shared_ptr<spdlog::logger> log)
      : set_(io, SIGTERM, SIGINT), relay_(stops), log_(std::move(log)) {
    if (!is_ignored(SIGHUP)) set_.add(SIGHUP);
    wait();
  }
  void cancel() { set_.cancel(); }

 private:
  void wait() {
    set_.async_wait([this](const boost::system::error_code& cancelled, int number) {
      if (cancelled) return;
      if (asked_ && number == SIGHUP) return wait();
      if (asked_) ::_exit(128 + number);
      asked_ = true;
      log_->info("stopping: no new reads, waiting for outstanding confirms");
      wait();  // first: a stop that has nothing to wait for cancels it
      relay_.stop();
    });
  }

  asio::signal_set set_;
  relay::relay& relay_;
  std::shared_ptr<spdlog::logger> log_;
  bool asked_ = false;
};

}  // namespace

int run_command(const settings& from) {
  const auto log = make_logger(from.log);
  for (const auto& warning : from.warnings) log->warn(warning);
  log->info("outboxd {}: schema {}, {} lanes, reads of {}", OUTBOXD_VERSION,
            from.relay.leader.database.schema.name(), from.relay.lanes, from.relay.leader.stream.read.batch);
  std::signal(SIGPIPE, SIG_IGN);  // a closed log pipe or socket is an error of its write
  for (const int unused : {SIGUSR1, SIGUSR2}) std::signal(unused, SIG_IGN);  // they would end the process

  asio::io_context io(1);
  relay::relay relay(io, from.relay, log_to(log));
  signals stop(io, relay, log);
  bool clean = true;
  relay.start([&](bool closed_all) {
    clean = closed_all;
    stop.cancel();
    if (!closed_all) io.stop();
  });
  io.run();
  if (relay.failure()) {
    log->error(relay.failure()->message);
  } else {
    const auto& all = relay.totals();
    log->info("stopped; {} events published, {} sent back to wait, {} dead", all.published, all.retried,
              all.dead);
  }
  const int status = relay.failure() ? exit_failure : exit_success;
  // A name look-up that hangs would be waited for by the reactor's end, and nothing is left to save.
  if (!clean) ::_exit(status);
  return status;
}

}  // namespace outboxd::app
