#include "rig.hpp"

#include <fmt/format.h>

#include <csignal>

#include "integration/stage.hpp"
#include "support/broker.hpp"
#include "support/consumer.hpp"
#include "support/eventually.hpp"

namespace outboxd::cluster {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr auto long_time_limit = 240s;
constexpr int events_of_pair = 100;

std::string unique_name() {
  static int counter = 0;
  return fmt::format("cluster-{}-{}", now(), ++counter);
}

}  // namespace

rig::rig(rabbit_cluster& all, const rig_settings& how)
    : all_{all}, how_{how}, queue_{unique_name()}, watch_{all, queue_}, pair_watch_{all, pair_} {
  primary_.connect().exec("CREATE DATABASE " + database_);
  database_url_ = url_of({&primary_, &standby_}, database_);
  broker session{all_.url(static_cast<int>(how_.seed % nodes))};
  session.declare_exchange("outbox");
  session.declare_queue(queue_, queue_type::quorum);
  session.bind(queue_, "outbox", queue_ + ".#");
  session.declare_queue(pair_, queue_type::quorum, {{"x-quorum-initial-group-size", 2}});
  watch_.await_leader();
  pair_watch_.await_leader();
  const auto done = run_outboxd({"migrate", "--shards", std::to_string(how_.shards)},
                                {{"OUTBOXD_DATABASE_URL", primary_.url(database_)}});
  if (!done.exited(0)) throw std::runtime_error{done.text()};
  start_relays();
  writers_ = std::make_unique<paced_writers>(database_url_ + "?target_session_attrs=read-write",
                                             queue_ + ".event", how_.seed);
  auto table = connect();
  eventually(
      "events are published",
      [&] { return table.number("SELECT count(*) FROM outbox.event WHERE status = 'published'") > 200; },
      long_time_limit);
}

rig::~rig() {
  try {
    broker session{all_.url(0)};
    session.delete_queue(queue_);
    session.delete_queue(pair_);
  } catch (const std::exception& error) {
    fmt::print(stderr, "queue {} or its pair is left behind: {}\n", queue_, error.what());
  }
}

void rig::start_relays() {
  for (int i = 0; i < how_.relays; ++i) {
    process_options one{.program = "setpriv",
                        .arguments = {"--pdeathsig", "KILL", "--", outboxd_binary(), "run", "--http-listen",
                                      "off", "--log-level", "debug"},
                        .environment = {{"OUTBOXD_DATABASE_URL", database_url_},
                                        {"OUTBOXD_AMQP_URL", all_.urls((i + 1) % nodes)}},
                        .log_file = {}};
    if (!how_.logs.empty()) {
      std::filesystem::create_directories(how_.logs);
      one.log_file = how_.logs / fmt::format("relay{}.log", i);
    }
    relays_.push_back(std::make_unique<process>(one));
  }
  for (const auto& one : relays_) one->wait_line("connected to RabbitMQ", long_time_limit);
}

database rig::connect() const {
  return std::move(*eventually(
      "the primary takes connections",
      [this]() -> std::optional<database> {
        try {
          return database{database_url_ + "?target_session_attrs=read-write"};
        } catch (const database_error&) {
          return std::nullopt;
        }
      },
      long_time_limit));
}

void rig::await_flow() const {
  auto session = connect();
  const auto from = session.number("SELECT max(seq) FROM outbox.event");
  eventually(
      "what is committed from now on is published",
      [&] {
        return session.value(
                   "SELECT count(*) > 100 AND bool_and(status = 'published' OR created_at > now() -"
                   " interval '1 second') FROM outbox.event WHERE seq > $1 AND aggregate_type <> 'pair'",
                   {std::to_string(from)}) == "t" &&
               session.number(
                   "SELECT count(*) FROM outbox.event WHERE status = 'waiting' AND aggregate_type <> "
                   "'pair'") == 0;
      },
      long_time_limit);
}

void rig::write_to_pair() {
  connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, exchange, routing_key, payload)"
      " SELECT 'pair', n, $1, '', $1, '{}' FROM generate_series(1, $2::int) AS n",
      {pair_, std::to_string(events_of_pair)});
}

void rig::await_pair_waiting() const {
  auto session = connect();
  eventually(
      "what nobody can take waits, at no expense of its attempts",
      [&] {
        return session.number(
                   "SELECT count(*) FROM outbox.event WHERE aggregate_type = 'pair' AND status = 'waiting'"
                   " AND first_failed_at IS NOT NULL AND attempts = 0") == events_of_pair;
      },
      long_time_limit);
}

// Acknowledgements of an earlier reading may be lost with its connection: what it had read may come again,
// its own end, too.
void rig::read_queue(const std::string& name, const queue_watch& watch) {
  const auto end_mark = fmt::format("end-of-queue-{}", ++readings_);
  const auto node = watch.await_leader();
  broker{all_.url(node)}.publish("", name, "", end_mark);
  consumer reader{name, 500, all_.url(node)};
  for (;;) {
    auto message = reader.next(60s);
    if (!message) throw std::runtime_error{"the queue does not come to its end"};
    reader.ack(*message);
    if (message->message_id() == end_mark) return;
    if (message->message_id().starts_with("end-of-queue-")) continue;
    message->remove_counts_of_queue();
    history_.record(std::move(*message));
  }
}

std::vector<std::string> rig::settle() {
  writers_->pause();
  std::vector<std::string> wrong;
  auto session = connect();
  try {
    eventually(
        "no event is pending or waiting",
        [&] {
          return session.number("SELECT count(*) FROM outbox.event WHERE status IN ('pending', 'waiting')") ==
                 0;
        },
        long_time_limit);
  } catch (const deadline_passed& late) {
    wrong.emplace_back(late.what());
  }
  read_queue(queue_, watch_);
  read_queue(pair_, pair_watch_);
  for (auto& one : check()) wrong.push_back(std::move(one));
  writers_->resume();
  return wrong;
}

// Also the relays' word: nothing that happened to the servers is a failed attempt of an event.
std::vector<std::string> rig::check() {
  auto session = connect();
  auto found = judge(writers_->all(), committed_events(session), history_, change_);
  duplicates_ = found.duplicates;
  missing_ = found.missing;
  if (const auto tried = session.number("SELECT count(*) FROM outbox.event WHERE attempts > 0"); tried > 0)
    found.wrong.push_back(fmt::format("{} events have failed attempts, which are nobody's fault", tried));
  return found.wrong;
}

stretches rig::served_in(const stretch& during) const {
  return without(watch_.led_in(during), no_primary_);
}

micros rig::longest_gap(const stretch& during) const {
  return cluster::longest_gap(served_in(during), during);
}

micros rig::longest_open(const stretch& during) const {
  stretches events;
  for (const auto& row :
       connect().exec("SELECT (extract(epoch FROM created_at) * 1e6)::bigint,"
                      " (extract(epoch FROM coalesce(published_at, clock_timestamp())) * 1e6)::bigint"
                      " FROM outbox.event WHERE aggregate_type <> 'pair' AND (published_at IS NULL OR"
                      " published_at > to_timestamp($1::bigint / 1e6))",
                      {std::to_string(during.from)}))
    events.push_back({std::stoll(*row[0]), std::stoll(*row[1])});
  return cluster::longest_open(events, served_in(during));
}

void rig::make_synchronous() {
  auto session = primary_.connect();
  session.exec("ALTER SYSTEM SET synchronous_standby_names = '*'");
  session.exec("SELECT pg_reload_conf()");
  eventually(
      "the standby is synchronous",
      [&] {
        return session.number("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1;
      },
      long_time_limit);
  synchronous_ = true;
}

void rig::hold_standby_back() {
  replication_.set(direction::to_client, {flow::kind::drop, {}});
  held_back_ = true;
  const auto from = writers_->all().size();
  eventually(
      "commits go on without it", [&] { return writers_->all().size() > from + 50; }, long_time_limit);
}

// What it has got, it keeps: the position is final when nobody sends any more.
void rig::fail_over() {
  const auto from = now();
  no_primary_.push_back({from, from + std::int64_t{3'600'000'000}});
  primary_.kill();
  replication_.set(welcome::refuse);
  replication_.reset();
  auto session = standby_.connect();
  eventually(
      "nothing comes from the primary any more",
      [&] { return session.number("SELECT count(*) FROM pg_stat_wal_receiver") == 0; }, long_time_limit);
  change_ = failover{.old_port = primary_.port(),
                     .synchronous = synchronous_,
                     .held_back = held_back_,
                     .standby_got_to = session.number("SELECT pg_last_wal_receive_lsn() - '0/0'")};
  standby_.promote();
  no_primary_.back().to = now();
}

std::vector<std::string> rig::stop() {
  std::vector<std::string> wrong;
  writers_.reset();
  for (const auto& one : relays_) one->send(SIGTERM);
  for (const auto& one : relays_)
    if (const auto status = one->wait(long_time_limit); status.code != 0)
      wrong.push_back("a relay does not stop in the orderly way: " + one->tail());
  return wrong;
}

}  // namespace outboxd::cluster
