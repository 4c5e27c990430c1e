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

#include "app/operate/changing.hpp"

namespace outboxd::console {

// What a preview has found: this, and nothing else, is what will be done.
struct action_plan {
  app::order what;
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
  done,     // with all of it
  stopped,  // by a person, between two portions
  failed,
};
std::string_view name_of(action_state state);

// Begun by the reactor, worked at by a thread, asked by the reactor.
class action : public app::onlooker {
 public:
  using clock = std::chrono::steady_clock;

  action(std::string token, action_plan plan, clock::time_point now)
      : token_(std::move(token)), plan_(std::move(plan)), since_(now) {}

  const std::string& token() const { return token_; }
  const action_plan& plan() const { return plan_; }
  std::int64_t matched() const { return static_cast<std::int64_t>(plan_.events.size()); }
  // With the reason.
  app::order what() const;
  action_state state() const;
  bool is_running() const;
  // The latest change of its state.
  clock::time_point since() const;

  // False: it has begun before, for whatever reason was given then. So nothing is done twice.
  bool begin(std::string reason, clock::time_point now);
  // Between two portions.
  void stop() { stops_ = true; }

  // For the thread that works at it.
  bool wait_until(clock::time_point when) override;
  void see(const app::change_figures& now) override;
  void add(const std::string& name, nlohmann::json what);  // another result
  void end(action_state how, std::string message, clock::time_point now);
  app::change_figures figures() const;

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
  app::change_figures figures_;
  nlohmann::json more_ = nlohmann::json::object();  // other results
};

}  // namespace outboxd::console
