#include "relay/relay.hpp"

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <random>
#include <utility>

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;

// After the grace, what is known is still written: the time that PostgreSQL gets for it.
constexpr auto last_settle = 2s;

// The same for the orderly close of the connections.
constexpr auto last_close = 2s;

}  // namespace

struct relay::worker {
  worker(boost::asio::io_context& io, const relay_settings& settings, claim_floors& floors, dispatcher& host,
         link_observer& observer, lane_settings lane_settings)
      : outbox(io.get_executor(), settings.database, floors, observer),
        broker(io.get_executor(), settings.broker, observer),
        line(outbox, broker, host, std::move(lane_settings)) {}

  postgres_outbox outbox;
  rabbitmq_broker broker;
  lane line;
};

relay::relay(boost::asio::io_context& io, relay_settings settings, relay_report report)
    : io_(io),
      settings_(std::move(settings)),
      report_(std::move(report)),
      dispatcher_(
          {.now = [] { return clock::now(); },
           .on_waiting = [this] { watch_deadlines(); },
           .on_idle = [this] { finish_when_idle(); },
           .on_published =
               [this](std::size_t events, clock::duration took) {
                 published_ += events;
                 doorbell_.on_marked(took);
               },
           .on_set_back = [this](const event& which, const setback& how) { report_.set_back(which, how); },
           .on_looked = [this](std::size_t events,
                               bool others_hold) { doorbell_.on_looked(events, others_hold); },
           .looks_come = [this] { return doorbell_.rings_soon(); },
           .on_look_owed = [this] { watch_owed_look(); }}),
      doorbell_(io.get_executor(), settings_.database, settings_.sweep_interval, floors_, *this,
                [this] { dispatcher_.ring(); }),
      deadline_timer_(io),
      owed_look_timer_(io),
      grace_timer_(io) {
  database_.wanted = settings_.lanes + doorbell::sessions;
  broker_.wanted = settings_.lanes;
}

relay::~relay() = default;

void relay::start(std::function<void(bool)> on_stopped) {
  on_stopped_ = std::move(on_stopped);
  spawn(doorbell_.run());
  spawn(doorbell_.run_without_session());
  spawn(doorbell_.run_mute());
  spawn(doorbell_.run_looks());
  link_observer& observer = *this;
  std::random_device seeds;
  for (int i = 0; i < settings_.lanes; ++i) {
    lane_settings lane = settings_.lane;
    lane.seed = seeds();
    auto& one = *workers_.emplace_back(
        std::make_unique<worker>(io_, settings_, floors_, dispatcher_, observer, std::move(lane)));
    dispatcher_.add(one.line);
    spawn(one.outbox.run(one.line));
    spawn(one.broker.run(one.line));
  }
}

// A coroutine of the relay never throws on purpose: what comes out is a programming error, and ends the process.
void relay::spawn(boost::asio::awaitable<void> activity) {
  ++active_;
  boost::asio::co_spawn(io_, std::move(activity), [this](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(std::move(thrown));
    if (--active_ == 0) stopped(true);
  });
}

void relay::stopped(bool clean) {
  grace_timer_.cancel();
  if (on_stopped_) std::exchange(on_stopped_, nullptr)(clean);
}

void relay::stop() {
  if (std::exchange(stopping_, true)) return;
  doorbell_.quieten();
  dispatcher_.stop();
  if (closed_) return;
  grace_timer_.expires_after(settings_.shutdown_grace);
  grace_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    dispatcher_.abandon();
    if (closed_) return;
    grace_timer_.expires_after(last_settle);
    grace_timer_.async_wait([this](const boost::system::error_code& again) {
      if (!again) close_sessions();
    });
  });
  finish_when_idle();
}

void relay::finish_when_idle() {
  if (stopping_ && dispatcher_.all_idle()) close_sessions();
}

void relay::close_sessions() {
  if (std::exchange(closed_, true)) return;
  deadline_timer_.cancel();
  owed_look_timer_.cancel();
  doorbell_.stop();
  for (const auto& one : workers_) {
    one->outbox.stop();
    one->broker.stop();
  }
  grace_timer_.expires_after(last_close);
  grace_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) stopped(false);
  });
}

// One timer for all lanes, set only while one of them waits, and not moved for every batch.
void relay::watch_deadlines() {
  if (watching_ || closed_) return;
  const auto next = dispatcher_.next_deadline();
  if (!next) return;
  watching_ = true;
  deadline_timer_.expires_at(*next);
  deadline_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    watching_ = false;
    if (cancelled) return;
    dispatcher_.check_deadlines();
    watch_deadlines();
  });
}

// The same for the look that lanes owe: under load a claim comes first, and there is nothing to do.
void relay::watch_owed_look() {
  if (watching_owed_look_ || closed_) return;
  const auto due = dispatcher_.owed_look();
  if (!due) return;
  watching_owed_look_ = true;
  owed_look_timer_.expires_at(*due);
  owed_look_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    watching_owed_look_ = false;
    if (cancelled) return;
    dispatcher_.look_if_owed();
    watch_owed_look();
  });
}

void relay::on_link_up(peer which) {
  link_state& state = state_of(which);
  ++state.up;
  if (state.up < state.wanted || state.said_up) return;
  state.ever_up = true;
  state.said_up = true;
  state.said_down.clear();
  report_.connected(which);
}

void relay::on_link_down(peer which, const error& why) {
  if (which == peer::database) floors_.forget();
  --state_of(which).up;
  say_down(which, why);
}

void relay::on_link_refused(peer which, const error& why) {
  if (why.kind == fault::permanent && !state_of(which).ever_up && !stopping_) {
    failure_ = why;
    stop();
    return;
  }
  say_down(which, why);
}

void relay::on_link_blocked(std::string_view reason) {
  if (++blocked_ == 1) report_.blocked(reason);
}

void relay::on_link_unblocked() {
  if (--blocked_ == 0 && !stopping_) report_.unblocked();
}

// Several sessions meet the same fault; it is worth one line.
void relay::say_down(peer which, const error& why) {
  link_state& state = state_of(which);
  if (stopping_) return;
  state.said_up = false;
  if (state.said_down == why.message) return;
  state.said_down = why.message;
  report_.disconnected(which, why);
}

}  // namespace outboxd::relay
