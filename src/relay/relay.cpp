#include "relay/relay.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <utility>

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// After the grace period, PostgreSQL gets this much time to write the outcomes known by then.
constexpr auto last_writes = 2s;

// The time limit for closing the connections in an orderly way.
constexpr auto last_close = 2s;

boost::asio::awaitable<void> keep(std::shared_ptr<sampler> one) {
  co_await one->run();
}

}  // namespace

// A lane and its connection.
struct relay::pipe {
  pipe(boost::asio::io_context& io, const relay_settings& settings, size_limit& largest, flow::lanes& of,
       link_observer& observer)
      : broker(io.get_executor(), settings.broker, largest, observer), line(broker, of, settings.lane) {}

  rabbitmq_broker broker;
  flow::lane line;
};

relay::relay(boost::asio::io_context& io, relay_settings settings, relay_observer tell,
             flow::step_observers steps)
    : io_(io),
      settings_(std::move(settings)),
      tell_(std::move(tell)),
      steps_(std::move(steps)),
      lanes_([] { return clock::now(); },
             [this] {
               watch_deadlines();
               watch_rate();
             },
             flow::destinations(
                 {.on_down = [this](const auto& what, auto reason) { on_destination_down(what, reason); },
                  .on_still_down = [this](const auto& what) { tell_(notice::destination_still_down{what}); },
                  .on_up =
                      [this](const auto& what, bool works) {
                        tell_(notice::destination_up{what, works});
                      }},
                 {.lost_probe = std::max(flow::destination_limits().lost_probe,
                                         settings_.lane.confirm_timeout * 3 / 2)}),
             flow::rate_limit(settings_.max_rate)),
      deadline_timer_(io),
      rate_timer_(io),
      grace_timer_(io) {
  database_.wanted = 1;
  broker_.wanted = settings_.lanes;
  take_routes();
}

relay::~relay() = default;

void relay::start(std::function<void(bool)> on_stopped) {
  on_stopped_ = std::move(on_stopped);
  link_observer& observer = *this;
  for (int i = 0; i < settings_.lanes; ++i) {
    auto& one = *pipes_.emplace_back(std::make_unique<pipe>(io_, settings_, largest_, lanes_, observer));
    lanes_.add(one.line);
    spawn(one.broker.run(one.line));
  }
  add_leader();
}

// While there are shards to lead, the relay has one leader more than the shards that it leads: the standby.
void relay::add_leader() {
  leader_host& host = *this;
  auto& one = *leaders_.emplace_back(
      std::make_unique<leader>(io_.get_executor(), settings_.leader, lanes_, share_, host));
  ++leading_;
  spawn(one.run(), [this] {
    if (--leading_ == 0) close_lanes();
  });
}

// The relay's coroutines do not throw: an exception is a programming error, and ends the process.
void relay::spawn(boost::asio::awaitable<void> activity, std::function<void()> then) {
  ++active_;
  boost::asio::co_spawn(io_, std::move(activity), [this, then = std::move(then)](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(std::move(thrown));
    if (then) then();
    if (--active_ == 0) stopped(true);
  });
}

void relay::stopped(bool clean) {
  grace_timer_.cancel();
  if (on_stopped_) std::exchange(on_stopped_, nullptr)(clean);
}

void relay::adopt(const relay_settings& changed) {
  settings_.shutdown_grace = changed.shutdown_grace;
  settings_.lane = changed.lane;
  settings_.leader.stream.retry = changed.leader.stream.retry;
  settings_.leader.stream.give_up_after = changed.leader.stream.give_up_after;
  settings_.leader.stream.batch_bytes = changed.leader.stream.batch_bytes;
  settings_.leader.stream.read.batch = changed.leader.stream.read.batch;
  settings_.leader.sweep_interval = changed.leader.sweep_interval;
  settings_.leader.standby_interval = changed.leader.standby_interval;
  settings_.leader.doorbell.longest_poll = changed.leader.doorbell.longest_poll;
  settings_.leader.stream.route = changed.leader.stream.route;
  take_routes();
  for (const auto& one : pipes_) one->line.adopt(settings_.lane);
  for (const auto& one : leaders_) one->adopt();
  if (std::exchange(settings_.max_rate, changed.max_rate) != changed.max_rate)
    lanes_.limit_to(flow::rate_limit(settings_.max_rate));
  if (std::exchange(settings_.keep, changed.keep) != changed.keep && leads_first()) begin_pruning();
  deadline_timer_.cancel();  // the next deadline may be earlier
}

// Gives each route a counter from the start.
void relay::take_routes() {
  const routing& all = settings_.leader.stream.route;
  for (const auto& one : all.routes) counts_.published_by_route.try_emplace(one->name, 0);
}

std::optional<payload_type> relay::payload() const {
  return leaders_.empty() ? std::nullopt : leaders_.front()->payload();
}

void relay::stop() {
  if (stage_ != stage::running) return;
  stage_ = stage::draining;
  stopped_at_ = std::chrono::system_clock::now();
  grace_timer_.expires_after(settings_.shutdown_grace);
  grace_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    for (const auto& one : leaders_) one->abandon();
    grace_timer_.expires_after(last_writes);
    grace_timer_.async_wait([this](const boost::system::error_code& again) {
      if (!again) close_lanes();
    });
  });
  settings_.leader.database.url.stop();
  for (const auto& one : leaders_) one->stop();
}

void relay::close_lanes() {
  if (stage_ == stage::closing) return;
  stage_ = stage::closing;
  deadline_timer_.cancel();
  rate_timer_.cancel();
  for (const auto& one : leaders_) one->cut();
  for (const auto& one : settings_.broker.urls) one.stop();
  for (const auto& one : pipes_) one->broker.stop();
  grace_timer_.expires_after(last_close);
  grace_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) stopped(false);
  });
}

// There is one timer for all lanes, which is set only while messages are in flight, and not changed for every
// message.
void relay::watch_deadlines() {
  if (stage_ == stage::closing) return;
  const auto next = lanes_.next_deadline();
  if (!next) return;
  if (watching_) {
    if (*next < deadline_timer_.expiry()) deadline_timer_.cancel();  // its handler sets the timer again
    return;
  }
  watching_ = true;
  deadline_timer_.expires_at(*next);
  deadline_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    watching_ = false;
    if (!cancelled) lanes_.check_deadlines();
    watch_deadlines();
  });
}

void relay::watch_rate() {
  const auto next = lanes_.next_pump();
  if (!next || waits_for_rate_ || stage_ == stage::closing) return;
  waits_for_rate_ = true;
  rate_timer_.expires_at(*next);
  rate_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    waits_for_rate_ = false;
    if (!cancelled) lanes_.pump_and_tell();
  });
}

void relay::tell(const relay_notice& what) {
  std::visit([this](const auto& one) { take(one); }, what);
}

void relay::take(const notice::led& led) {
  const store::shard_view& what = led.what;
  ++counts_.takeovers;
  said_stands_by_ = false;
  tell_(led);
  if (what.shard == first_shard) {
    if (settings_.samples_table) begin_sampling();
    begin_pruning();
  }
  if (stage_ == stage::running && share_.lacks_leader()) add_leader();
}

void relay::begin_sampling() {
  sampler_ = std::make_shared<sampler>(io_.get_executor(), settings_.leader.database,
                                       [this](const result<table_sample>& seen) {
                                         if (seen)
                                           table_ = *seen;
                                         else
                                           tell_(notice::sample_refused{seen.error()});
                                       });
  spawn(keep(sampler_));
}

void relay::end_sampling() {
  if (sampler_) std::exchange(sampler_, nullptr)->stop();
  table_.reset();
}

// Each session sends this notice and the next one, so repeated notices are dropped.
void relay::take(const notice::goes_without& what) {
  if (std::exchange(said_without_, what.words) != what.words) tell_(what);
}

void relay::take(const notice::newer_schema& what) {
  if (std::exchange(said_schema_, what.version) == what.version) return;
  newer_since_ = std::chrono::system_clock::now();
  tell_(what);
}

void relay::take(const notice::queue& what) {
  if (std::exchange(queue_fills_, what.fills) != what.fills) tell_(what);
}

void relay::take(const notice::stands_by& what) {
  if (share_.led() == 0 && !std::exchange(said_stands_by_, true)) tell_(what);
}

void relay::take(const notice::gave_up& what) {
  if (what.shard == first_shard) {
    end_sampling();
    end_pruning();
  }
  if (share_.led() == 0) paused_.clear();
  if (share_.led() == 0) queue_fills_ = false;
  if (stage_ == stage::running) tell_(what);
}

// Each leader reports the pauses, so repeated reports are dropped.
void relay::take(const notice::paused& what) {
  if (std::exchange(paused_, what.in_force) != what.in_force) tell_(what);
}

void relay::take(const notice::failed& what) {
  ++(what.how.to == flow::exception::dead ? counts_.dead : counts_.retried);
  for (std::size_t i = 0; what.sent && i < all_failures.size(); ++i)
    if (name_of(all_failures[i]) == what.how.code) ++counts_.failures[i];
  tell_(what);
}

void relay::take(const notice::changed_after_send& what) {
  ++counts_.changed_after_send;
  tell_(what);
}

void relay::on_link_up(peer which) {
  link_state& state = state_of(which);
  ++state.up;
  if (state.up < state.wanted || state.said_up) return;
  state.ever_up = true;
  state.said_up = true;
  state.said_down.clear();
  if (which == peer::broker) said_created_.clear(), said_token_.clear();
  tell_(notice::connected{which});
}

// Reported once for each server and reason, because every session of a shard finds it.
void relay::on_open_to_network(const std::string& why) {
  if (std::exchange(said_open_, why) != why) tell_(notice::open_to_network{why});
}

// Several connections may have declared the exchange at the same time.
void relay::on_exchange_created(const std::string& name) {
  if (std::exchange(said_created_, name) != name) tell_(notice::exchange_created{name});
}

// Each connection has its own token.
void relay::on_token_not_renewed(wall_time end, const error& why) {
  if (stage_ == stage::running && std::exchange(said_token_, why.message) != why.message)
    tell_(notice::token_not_renewed{end, why});
}

void relay::on_token_renewed() {
  tell_(notice::token_renewed{.at_last = !std::exchange(said_token_, {}).empty()});
}

void relay::on_link_down(peer which, const error& why) {
  if (--state_of(which).up == 0) state_of(which).none_since = std::chrono::system_clock::now();
  ++(which == peer::database ? counts_.database_losses : counts_.broker_losses);
  say_down(which, why);
}

void relay::on_link_refused(peer which, const error& why) {
  if (why.kind == fault::permanent && !state_of(which).ever_up && stage_ == stage::running) {
    failure_ = why;
    stop();
    return;
  }
  say_down(which, why);
}

void relay::on_link_blocked(std::string_view reason) {
  blocked_because_ = reason;
  if (blocked_ == 0) blocked_since_ = std::chrono::system_clock::now();
  if (++blocked_ == 1) tell_(notice::blocked{reason});
}

void relay::on_link_unblocked() {
  if (--blocked_ == 0 && stage_ == stage::running) tell_(notice::unblocked{});
}

// Several sessions report the same fault, which is worth only one line.
void relay::say_down(peer which, const error& why) {
  link_state& state = state_of(which);
  state.latest = why;
  if (stage_ != stage::running) return;
  state.said_up = false;
  if (state.said_down == why.message) return;
  state.said_down = why.message;
  tell_(notice::disconnected{which, why});
}

}  // namespace outboxd::relay
