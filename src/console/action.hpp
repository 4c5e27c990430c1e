// action: one thing that somebody has previewed, and perhaps has had done: what it is about, and how far it
// is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/operate/portions.hpp"
#include "console/wanted.hpp"

namespace outboxd::console {

// What a preview has found: this, and nothing else, is what will be done.
struct action_plan {
  wanted what;
  std::string who;
  std::vector<app::selected_event> events;  // of a change
  std::vector<app::change_value> values;    // of a postponement
  std::string until;                        // of a pause
  std::int64_t audited_before = 0;          // the newest row of outbox.audit
  nlohmann::json shown;                     // what the preview shows beside that
};

enum class action_state : std::uint8_t {
  previewed,
  running,
  unsure,   // PostgreSQL went away in the middle of a portion: whether that was done is being found out
  done,     // with all of it
  stopped,  // by a person, between two portions
  failed,
};
std::string_view name_of(action_state state);

// How much of a change is done.
struct action_figures {
  std::int64_t handled = 0;  // looked at and, as far as possible, changed
  std::int64_t changed = 0;  // of those
  nlohmann::json otherwise =
      nlohmann::json::object();  // of the others: how many were published, waiting, gone …
  std::int64_t unsure = 0;       // handled or not: not known
  nlohmann::json more = nlohmann::json::object();  // other results
};

// Begun by the reactor, worked at by a thread, asked by the reactor.
class action {
 public:
  using clock = std::chrono::steady_clock;

  action(std::string token, action_plan plan, clock::time_point now)
      : token_(std::move(token)), plan_(std::move(plan)), since_(now) {}

  const std::string& token() const { return token_; }
  const action_plan& plan() const { return plan_; }
  std::int64_t matched() const { return static_cast<std::int64_t>(plan_.events.size()); }
  std::optional<std::string> reason() const;
  action_state state() const;
  bool is_running() const;
  // The latest change of its state.
  clock::time_point since() const;

  // False: it has begun before, for whatever reason was given then. So nothing is done twice.
  bool begin(std::string reason, clock::time_point now);
  // Between two portions.
  void stop() { stops_ = true; }

  // For the thread that works at it. False: it is to stop.
  bool wait_until(clock::time_point when) const;
  void handled(std::int64_t events, std::int64_t changed,
               const std::vector<std::pair<std::string, std::int64_t>>& others);
  void is_unsure(std::int64_t events);
  // What has become clear of those.
  void is_sure(std::int64_t handled, std::int64_t changed);
  void add(const std::string& name, nlohmann::json what);
  void end(action_state how, std::string message, clock::time_point now);
  action_figures figures() const;

  // All that can be told of it.
  nlohmann::json told() const;

 private:
  const std::string token_;
  const action_plan plan_;
  std::atomic<bool> stops_ = false;
  mutable std::mutex guard_;
  action_state state_ = action_state::previewed;
  clock::time_point since_;
  std::optional<std::string> reason_;
  std::string message_;
  action_figures figures_;
};

}  // namespace outboxd::console
