#include "console/action.hpp"

#include <algorithm>
#include <thread>

namespace outboxd::console {
namespace {

bool runs(action_state state) {
  return state == action_state::running || state == action_state::unsure;
}

}  // namespace

std::string_view name_of(action_state state) {
  switch (state) {
    case action_state::previewed:
      return "previewed";
    case action_state::running:
      return "running";
    case action_state::unsure:
      return "unsure";
    case action_state::done:
      return "done";
    case action_state::stopped:
      return "stopped";
    case action_state::failed:
      return "failed";
  }
  return {};
}

std::optional<std::string> action::reason() const {
  const std::lock_guard lock(guard_);
  return reason_;
}

action_state action::state() const {
  const std::lock_guard lock(guard_);
  return state_;
}

bool action::is_running() const {
  return runs(state());
}

action::clock::time_point action::since() const {
  const std::lock_guard lock(guard_);
  return since_;
}

bool action::begin(std::string reason, clock::time_point now) {
  const std::lock_guard lock(guard_);
  if (state_ != action_state::previewed) return false;
  state_ = action_state::running;
  since_ = now;
  reason_ = std::move(reason);
  return true;
}

// Portions follow each other within a second, or as slowly as a rate of less than one in a second asks for.
bool action::wait_until(clock::time_point when) const {
  constexpr std::chrono::milliseconds look_every{100};
  while (!stops_) {
    const auto now = clock::now();
    if (now >= when) return true;
    std::this_thread::sleep_for(std::min<clock::duration>(when - now, look_every));
  }
  return false;
}

void action::handled(std::int64_t events, std::int64_t changed,
                     const std::vector<std::pair<std::string, std::int64_t>>& others) {
  const std::lock_guard lock(guard_);
  figures_.handled += events;
  figures_.changed += changed;
  for (const auto& [status, many] : others)
    figures_.otherwise[status] = figures_.otherwise.value(status, std::int64_t{0}) + many;
}

void action::is_unsure(std::int64_t events) {
  const std::lock_guard lock(guard_);
  state_ = action_state::unsure;
  figures_.unsure = events;
}

void action::is_sure(std::int64_t handled, std::int64_t changed) {
  const std::lock_guard lock(guard_);
  figures_.unsure = 0;
  figures_.handled += handled;
  figures_.changed = changed;
}

void action::add(const std::string& name, nlohmann::json what) {
  const std::lock_guard lock(guard_);
  figures_.more[name] = std::move(what);
}

void action::end(action_state how, std::string message, clock::time_point now) {
  const std::lock_guard lock(guard_);
  state_ = how;
  since_ = now;
  message_ = std::move(message);
}

action_figures action::figures() const {
  const std::lock_guard lock(guard_);
  return figures_;
}

nlohmann::json action::told() const {
  const std::lock_guard lock(guard_);
  nlohmann::json out = plan_.shown;
  out.update(figures_.more);
  out["token"] = token_;
  out["what"] = name_of(plan_.what.what);
  out["who"] = plan_.who;
  out["state"] = name_of(state_);
  out["command"] = command_line_of(plan_.what, reason_);
  out["message"] = message_;
  if (change_of(plan_.what)) {
    out["matched"] = matched();
    out["handled"] = figures_.handled;
    out["changed"] = figures_.changed;
    out["otherwise"] = figures_.otherwise;
    out["unsure"] = figures_.unsure;
  }
  return out;
}

}  // namespace outboxd::console
