#include "console/action.hpp"

#include <algorithm>
#include <thread>

namespace outboxd::console {
std::string_view name_of(action_state state) {
  switch (state) {
    case action_state::previewed:
      return "previewed";
    case action_state::running:
      return "running";
    case action_state::done:
      return "done";
    case action_state::stopped:
      return "stopped";
    case action_state::failed:
      return "failed";
  }
  return {};
}

app::order action::what() const {
  const std::lock_guard lock(guard_);
  auto out = plan_.what;
  out.reason = reason_;
  return out;
}

action_state action::state() const {
  const std::lock_guard lock(guard_);
  return state_;
}

bool action::is_running() const {
  return state() == action_state::running;
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

// The next portion starts within a second, or later if the rate is below one event per second.
bool action::wait_until(clock::time_point when) {
  constexpr std::chrono::milliseconds look_every{100};
  while (!stops_) {
    const auto now = clock::now();
    if (now >= when) return true;
    std::this_thread::sleep_for(std::min<clock::duration>(when - now, look_every));
  }
  return false;
}

void action::see(const app::change_figures& now) {
  const std::lock_guard lock(guard_);
  figures_ = now;
}

void action::add(const std::string& name, nlohmann::json what) {
  const std::lock_guard lock(guard_);
  more_[name] = std::move(what);
}

void action::end(action_state how, std::string message, clock::time_point now) {
  const std::lock_guard lock(guard_);
  state_ = how;
  since_ = now;
  message_ = std::move(message);
}

app::change_figures action::figures() const {
  const std::lock_guard lock(guard_);
  return figures_;
}

nlohmann::json action::told() const {
  const auto order = what();
  const std::lock_guard lock(guard_);
  // The connection was lost in the middle of a portion, and the action is finding out whether that portion
  // was committed.
  const bool unsure = state_ == action_state::running && figures_.unsure > 0;
  nlohmann::json out = plan_.shown;
  out.update(more_);
  out["token"] = token_;
  out["what"] = app::words_of(order.what).name;
  out["who"] = plan_.who;
  out["state"] = unsure ? "unsure" : name_of(state_);
  out["command"] = app::command_line_of(order);
  out["message"] = message_;
  if (order.changes_events()) {
    out["matched"] = matched();
    out["handled"] = figures_.handled;
    out["changed"] = figures_.changed;
    out["otherwise"] = figures_.otherwise;
    out["unsure"] = figures_.unsure;
  }
  return out;
}

}  // namespace outboxd::console
