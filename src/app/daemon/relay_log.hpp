// relay_log: writes a relay's notices to the log.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/daemon/log.hpp"
#include "app/daemon/repeated.hpp"
#include "relay/notices.hpp"

namespace outboxd::app {

class relay_log {
 public:
  relay_log(boost::asio::io_context& io, std::shared_ptr<logger> log)
      : log_(std::move(log)), deaths_timer_(io) {}

  void take(const relay::relay_notice& what);
  // Logs the deaths that are still unreported. take() must not be called after it.
  void stop() { deaths_timer_.cancel(); }

 private:
  // Logs at most one line for each notice; a lasting condition is not logged each time.
  void say(const relay::notice::failed& what);
  void say(const relay::notice::stuck& what);
  void say(const relay::notice::changed_after_send& what);
  void say(const relay::notice::paused& what);
  void say(const relay::notice::gave_up& what);
  void say(const relay::notice::stands_by& what);
  void say(const relay::notice::makes_way& what);
  void say(const relay::notice::deferred& what);
  void say(const relay::notice::deferral_over& what);
  void say(const relay::notice::deaf& what);
  void say(const relay::notice::hears_again& what);
  void say(const relay::notice::queue& what);
  void say(const relay::notice::in_doubt& what);
  void say(const relay::notice::connected& what);
  void say(const relay::notice::disconnected& what);
  void say(const relay::notice::open_to_network& what);
  void say(const relay::notice::goes_without& what);
  void say(const relay::notice::newer_schema& what);
  void say(const relay::notice::led& what);
  void say(const relay::notice::shards_mended& what);
  void say(const relay::notice::lock_held& what);
  void say(const relay::notice::blocked& what);
  void say(const relay::notice::unblocked& what);
  void say(const relay::notice::token_not_renewed& what);
  void say(const relay::notice::token_renewed& what);
  void say(const relay::notice::exchange_created& what);
  void say(const relay::notice::destination_down& what);
  void say(const relay::notice::destination_still_down& what);
  void say(const relay::notice::destination_up& what);
  void say(const relay::notice::pruned& what);
  void say(const relay::notice::prune_ended& what);
  void say(const relay::notice::prune_refused& what);
  void say(const relay::notice::prune_kept& what);
  void say(const relay::notice::sample_refused& what);
  void say(const relay::notice::rotated& what);

  void say_of(const relay::notice::failed& what, spdlog::level::level_enum level, std::string_view operation,
              const std::string& message);
  void say_dies(const relay::notice::failed& what);
  void say_waits(const relay::notice::failed& what);

  std::shared_ptr<logger> log_;
  std::map<relay::peer, repeated> losses_;
  repeated stuck_;
  // When a waiting event was last logged, and how many have followed.
  std::chrono::steady_clock::time_point said_waits_;
  std::size_t unsaid_waits_ = 0;
  // The first death is logged at once; further ones are counted and logged when the timer expires, after a
  // second.
  boost::asio::steady_timer deaths_timer_;
  std::optional<std::size_t> unsaid_deaths_;  // nullopt: the timer is not running
};

}  // namespace outboxd::app
