#include "app/daemon/outbox_relay.hpp"

#include <fmt/ranges.h>

#include <utility>

#include "app/config/outbox_files.hpp"
#include "app/config/reload.hpp"

namespace outboxd::app {
namespace {

flow::step_observers with(flow::step_observer* one, flow::step_observers others) {
  others.push_back(one);
  return others;
}

}  // namespace

outbox_relay::outbox_relay(boost::asio::io_context& io, settings from, std::optional<std::int64_t> most_bytes,
                           const flow::step_observers& others)
    : in_force_(std::move(from)),
      most_bytes_(most_bytes),
      log_(make_logger(in_force_.log, in_force_.outbox)),
      steps_(log_),
      said_(io, log_),
      relay_(
          io, limited(), [this](const relay::relay_notice& what) { said_.take(what); },
          with(&steps_, others)) {}

void outbox_relay::start(std::function<void(bool clean)> on_stopped) {
  for (const auto& warning : in_force_.warnings) log_->warn(warning);
  const auto relay = limited();
  log_->info("{}schema {}, {} connections, up to {} events per read",
             in_force_.outbox.empty() ? "outboxd " OUTBOXD_VERSION ": " : "",
             relay.leader.database.schema.name(), relay.lanes, relay.leader.stream.read.batch);
  if (relay.max_rate > 0) log_->info("at most {} messages per second (relay.max_rate)", relay.max_rate);
  relay_.start([this, on_stopped = std::move(on_stopped)](bool clean) {
    said_.stop();
    if (relay_.failure()) {
      log_->error(relay_.failure()->message);
    } else {
      const relay::counts& all = relay_.totals();
      log_->info("stopped; {} events published, {} sent back to wait, {} dead", all.published, all.retried,
                 all.dead);
    }
    on_stopped(clean);
  });
}

relay::relay_settings outbox_relay::limited() const {
  auto out = in_force_.relay;
  if (most_bytes_) limit_memory(out, *most_bytes_);
  return out;
}

void outbox_relay::limit_memory_to(std::int64_t most_bytes) {
  if (std::exchange(most_bytes_, most_bytes) != most_bytes) relay_.adopt(limited());
}

reload_outcome outbox_relay::take_up(const result<raw_settings>& found, bool may_restart) {
  auto changed = found ? reload(in_force_, *found) : tl::make_unexpected(found.error());
  if (const auto payload = relay_.payload(); changed && payload)
    if (const auto why = misfit(changed->in_force.relay.leader.stream.route, *payload))
      changed = permanent(*why);
  if (!changed) {
    log_->error("configuration not reloaded: {}", changed.error().message);
    return reload_outcome::refused;
  }
  if (may_restart) {
    std::erase_if(changed->at_restart, is_of_process);
    if (!changed->at_restart.empty()) {
      log_->info("the relay of this outbox restarts, because {} changed",
                 fmt::join(changed->at_restart, ", "));
      return reload_outcome::restart;
    }
  }
  changed->in_force.outbox = in_force_.outbox;
  const settings before = std::exchange(in_force_, std::move(changed->in_force));
  relay_.adopt(limited());
  log_->adopt(in_force_.log);
  for (const std::string& key : changed->taken_up) {
    const auto now = value_of(in_force_, key);
    log_->info("{} = '{}' ({}) from now on; it was '{}'", key, now.text, now.origin,
               value_of(before, key).text);
  }
  for (const std::string& key : changed->at_restart)
    log_->warn("{} has changed, but takes effect only when the relay restarts", key);
  if (changed->taken_up.empty() && changed->at_restart.empty())
    log_->info("configuration reloaded; no changes");
  steps_.follow_level();
  return reload_outcome::done;
}

}  // namespace outboxd::app
