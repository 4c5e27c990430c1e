#include "app/daemon/service_notices.hpp"

#include <fmt/format.h>

#include <utility>

namespace outboxd::app {
namespace {

using namespace std::chrono_literals;

// If looking up a server's name takes longer than this, the server counts as unreachable.
constexpr auto ready_at_latest = 5s;

constexpr auto check_interval = 1s;
constexpr auto check_interval_at_start = 100ms;

// While the relay stops, each check extends the stop timeout by this time, so systemd soon kills a relay that
// hangs.
constexpr auto time_to_stop = 10s;

template <typename Duration>
long long microseconds_of(Duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

std::string status_line(const relay::relay_figures& from) {
  switch (from.now_in) {
    case relay::progress::starting:
      return "connecting to PostgreSQL and RabbitMQ";
    case relay::progress::stopping:
      return "stopping: waiting for outstanding confirms";
    case relay::progress::running:
      break;
  }
  if (!from.obstacles.empty())
    return fmt::format("not publishing ({}): {}", from.obstacles.front().code,
                       from.obstacles.front().message);
  if (from.shards_led == 0) return "standby: another relay leads";
  return fmt::format("leads {} of {} shards", from.shards_led, from.shards);
}

}  // namespace

service_state state_of(const relay::relay_figures& from) {
  return {from.now_in, status_line(from)};
}

service_state state_of(const std::vector<outbox_view>& from) {
  if (from.size() == 1 && from.front().name.empty()) return state_of(from.front().now);
  service_state out{relay::progress::running, {}};
  std::size_t ready = 0;
  std::string wrong;
  for (const auto& one : from) {
    if (one.now.now_in != relay::progress::running) out.now_in = one.now.now_in;
    if (one.now.obstacles.empty())
      ++ready;
    else if (wrong.empty())
      wrong = fmt::format("; {}: {}", one.name, status_line(one.now));
  }
  out.line = fmt::format("{} of {} outboxes are ready{}", ready, from.size(), wrong);
  return out;
}

service_notices::service_notices(boost::asio::io_context& io, const sd_notify& to, service_view of)
    : to_(to), of_(std::move(of)), check_timer_(io), watchdog_timer_(io) {}

void service_notices::start() {
  if (!to_.wanted()) return;
  ready_at_latest_ = clock::now() + ready_at_latest;
  if (to_.watchdog()) feed();
  look();
}

void service_notices::look() {
  if (!to_.wanted() || told_ == told::everything) return;
  const auto now = of_.state();
  tell_state(now.now_in);
  tell_status(now.line);
  wait();
}

void service_notices::wait() {
  const bool starting = told_ == told::nothing && clock::now() < ready_at_latest_;
  check_timer_.expires_after(starting ? check_interval_at_start : check_interval);
  check_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) look();
  });
}

void service_notices::tell_state(relay::progress now_in) {
  if (now_in == relay::progress::stopping) {
    const auto more_time = fmt::format("EXTEND_TIMEOUT_USEC={}", microseconds_of(time_to_stop));
    if (told_ == told::stopping)
      send(more_time);
    else if (send("STOPPING=1\n" + more_time))
      told_ = told::stopping;
    return;
  }
  const bool ready = now_in == relay::progress::running || clock::now() >= ready_at_latest_;
  if (told_ == told::nothing && ready && send("READY=1")) told_ = told::ready;
}

void service_notices::tell_status(const std::string& now) {
  const auto note = settings_refused_ ? "; changed settings were refused, see the log" : "";
  auto line = one_status_line(now + note);
  if (line != status_ && send("STATUS=" + line)) status_ = std::move(line);
}

// A hung relay does not reach this function and a stuck one sends nothing, so systemd restarts both.
void service_notices::feed() {
  if (told_ == told::everything) return;
  if (!of_.stuck()) send("WATCHDOG=1");
  watchdog_timer_.expires_after(*to_.watchdog() / 2);
  watchdog_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) feed();
  });
}

// Only a ready service may report a reload: systemd would take the end of the reload for the end of the
// start.
void service_notices::reloading() {
  if (told_ != told::ready) return;
  send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", microseconds_of(clock::now().time_since_epoch())));
}

void service_notices::reloaded(bool refused) {
  settings_refused_ = refused;
  if (told_ != told::ready) return;
  send("READY=1");
  look();
}

void service_notices::stop() {
  if (to_.wanted() && told_ != told::stopping) send("STOPPING=1");
  told_ = told::everything;
  check_timer_.cancel();
  watchdog_timer_.cancel();
}

bool service_notices::send(const std::string& lines) {
  const auto sent = to_.send(lines);
  if (!sent && !std::exchange(said_unheard_, true)) of_.unheard(sent.error().message);
  return sent.has_value();
}

}  // namespace outboxd::app
