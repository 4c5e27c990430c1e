#include "app/daemon/relay_host.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "app/config/reload.hpp"

namespace outboxd::app {
namespace {

// The delay before a relay that ended by itself is restarted while others keep running. It equals the delay
// of the systemd unit.
constexpr std::chrono::seconds start_again_after{5};

}  // namespace

// An outbox, and its relay while the relay runs.
struct relay_host::place {
  place(boost::asio::io_context& io, std::string of) : name(std::move(of)), again(io) {}

  std::string name;
  std::optional<settings> wanted;  // nullopt: the settings have been invalid from the start
  bool removed = false;            // the place is erased when its relay has stopped
  std::unique_ptr<outbox_relay> running;
  std::optional<relay::obstacle> refused;  // why the settings file is invalid
  std::optional<relay::obstacle> failed;   // why the latest run failed
  boost::asio::steady_timer again;
};

host_plan plan_of(raw_settings main, const std::vector<outbox_file>& files) {
  host_plan out{.process = std::move(main), .outboxes = {}};
  if (files.empty()) out.outboxes.push_back({"", out.process});
  if (files.size() == 1) {
    auto alone = read_file(files.front().path, "the file of an outbox");
    if (alone) out.process = merge(*std::move(alone), out.process);
    out.outboxes.push_back(
        {files.front().name, alone ? result<raw_settings>(out.process) : tl::make_unexpected(alone.error())});
  }
  if (files.size() > 1)
    for (const auto& one : files) out.outboxes.push_back({one.name, settings_of_outbox(one, out.process)});
  return out;
}

relay_host::relay_host(boost::asio::io_context& io, settings process, std::shared_ptr<logger> log,
                       flow::step_observers steps)
    : io_(io), process_(std::move(process)), log_(std::move(log)), steps_(std::move(steps)) {}

relay_host::~relay_host() = default;

void relay_host::start(const host_plan& plan, std::function<void(bool clean)> on_ended) {
  on_ended_ = std::move(on_ended);
  many_ = plan.outboxes.size() > 1;
  arrange(plan);
}

void relay_host::stop() {
  stopping_ = true;
  for (auto& [name, one] : places_) {
    one->again.cancel();
    if (one->running) one->running->stop();
  }
  end_if_all_stopped();
}

bool relay_host::take_up(const result<host_plan>& plan) {
  if (!plan) {
    log_->error("configuration not reloaded: {}", plan.error().message);
    return false;
  }
  if (plan->outboxes.size() > 1) many_ = true;
  // An empty folder is rather a mistake than the wish to relay the outbox of the main settings instead.
  if (many_ && plan->outboxes.front().name.empty()) {
    log_->error("configuration not reloaded: there is no file of an outbox any more");
    return false;
  }
  if (!many_) {
    auto& only = *places_.begin()->second;
    if (!only.running) return true;
    return only.running->take_up(plan->outboxes.front().raw, false) == reload_outcome::done;
  }
  take_up_process(plan->process);
  return arrange(*plan);
}

// Of the settings of the process, only those of the log change at run time.
void relay_host::take_up_process(const raw_settings& found) {
  auto changed = reload(process_, found);
  if (!changed) return;  // each outbox logs that nothing changed
  process_ = std::move(changed->in_force);
  log_->adopt(process_.log);
  for (const std::string& key : changed->at_restart)
    if (is_of_process(key))
      log_->warn("{} has changed, but takes effect only when the process restarts", key);
}

bool relay_host::arrange(const host_plan& plan) {
  remove_others(plan);
  bool good = true;
  for (const auto& wanted : plan.outboxes) {
    auto& one = places_[wanted.name];
    if (!one) one = std::make_unique<place>(io_, wanted.name);
    one->removed = false;
    auto read = wanted.raw.and_then([](const raw_settings& raw) { return read_settings(raw); });
    if (!read) {
      good = false;
      refuse(*one, read.error());
      continue;
    }
    one->refused.reset();
    if (many_) read->outbox = wanted.name;
    if (many_ && one->running) one->running->name_in_log(wanted.name);
    const auto done = one->running ? one->running->take_up(wanted.raw, many_) : reload_outcome::done;
    if (done == reload_outcome::refused) {
      good = false;
      continue;
    }
    one->wanted = *std::move(read);
    if (done == reload_outcome::restart) one->running->stop();
    if (!one->running) begin(*one);
  }
  share_memory();
  end_if_all_stopped();
  return good;
}

void relay_host::remove_others(const host_plan& plan) {
  const auto is_planned = [&](const std::string& name) {
    return std::any_of(plan.outboxes.begin(), plan.outboxes.end(),
                       [&](const auto& one) { return one.name == name; });
  };
  for (auto at = places_.begin(); at != places_.end();) {
    auto& [name, one] = *at;
    if (is_planned(name)) {
      ++at;
    } else if (one->running) {
      if (!std::exchange(one->removed, true))
        one->running->log()->info("removed from the configuration; stopping");
      one->running->stop();
      ++at;
    } else {
      at = places_.erase(at);
    }
  }
}

// Returns nullopt for a single outbox, because relay.batch_bytes limits it.
std::optional<std::int64_t> relay_host::share_of_memory() const {
  if (!many_) return std::nullopt;
  return process_.total_bytes / static_cast<std::int64_t>(std::max<std::size_t>(1, places_.size()));
}

void relay_host::share_memory() {
  const auto share = share_of_memory();
  if (!share) return;
  for (auto& [name, one] : places_)
    if (one->running) one->running->limit_memory_to(*share);
}

void relay_host::refuse(place& one, const error& why) {
  log_->error("outbox {} {}: {}", one.name, one.wanted ? "keeps its former settings" : "is not relayed",
              why.message);
  one.refused = {"configuration", why.message, std::chrono::system_clock::now()};
}

void relay_host::begin(place& one) {
  one.again.cancel();
  one.running = std::make_unique<outbox_relay>(io_, *one.wanted, share_of_memory(), steps_);
  one.running->start([this, &one](bool clean) {
    clean_ = clean_ && clean;
    // The relay may be destroyed only after the handlers that are ready now.
    boost::asio::post(io_, [this, &one, clean] { on_stopped(one, clean); });
  });
}

void relay_host::on_stopped(place& one, bool clean) {
  auto ended = std::exchange(one.running, nullptr);
  const auto failure = ended->relay().failure();
  if (!clean) hanging_.push_back(std::move(ended));
  if (!many_ && failure) {
    failure_ = failure;
    stopping_ = true;
  }
  if (stopping_) return end_if_all_stopped();
  if (one.removed) {
    places_.erase(one.name);
    return share_memory();
  }
  if (failure) return begin_later(one, *failure);
  one.failed.reset();
  begin(one);
}

// The relay has already logged the reason.
void relay_host::begin_later(place& one, const error& why) {
  if (!one.failed)
    one.failed = {relay::reason_of(why.why, "relay_ended"), "", std::chrono::system_clock::now()};
  one.failed->message = fmt::format("{}; the next try follows within {}", why.message, start_again_after);
  one.again.expires_after(start_again_after);
  one.again.async_wait([this, name = one.name](const boost::system::error_code& cancelled) {
    const auto found = places_.find(name);
    if (!cancelled && !stopping_ && found != places_.end() && !found->second->running) begin(*found->second);
  });
}

void relay_host::end_if_all_stopped() {
  const bool all = std::none_of(places_.begin(), places_.end(),
                                [](const auto& one) { return one.second->running != nullptr; });
  if (stopping_ && all && on_ended_) std::exchange(on_ended_, nullptr)(clean_);
}

std::vector<outbox_view> relay_host::view() const {
  std::vector<outbox_view> out;
  for (const auto& [name, one] : places_) {
    auto& seen =
        out.emplace_back(outbox_view{.name = many_ ? name : "", .runs = one->running != nullptr, .now = {}});
    if (one->running) {
      seen.now = one->running->relay().figures();
      if (one->refused) seen.now.warnings.push_back(*one->refused);
      continue;
    }
    seen.now.now_in = relay::progress::running;
    for (const auto& why : {one->refused, one->failed})
      if (why) seen.now.obstacles.push_back(*why);
  }
  return out;
}

std::optional<std::string> relay_host::stuck() const {
  for (const auto& [name, one] : places_)
    if (const auto why = one->running ? one->running->relay().stuck() : std::nullopt)
      return many_ ? fmt::format("outbox {}: {}", name, *why) : *why;
  return std::nullopt;
}

}  // namespace outboxd::app
