// action: a previewed change or pause, its state, and the progress and results of its work.
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

// The result of a preview. Applying the action does exactly this and nothing else.
struct action_plan {
  app::order what;
  std::string who;
  std::vector<app::selected_event> events;  // for a change
  std::vector<app::change_value> values;    // for a postponement or an edit
  std::string until;                        // the end of a pause
  std::int64_t audited_before = 0;          // id of the newest row of outbox.audit before the preview
  nlohmann::json shown;                     // other parts of the preview
};

enum class action_state : std::uint8_t {
  previewed,
  running,
  done,     // everything was done
  stopped,  // stopped by a user, between two portions
  failed,
};
std::string_view name_of(action_state state);

// The reactor starts and queries an action; a worker thread executes it.
class action : public app::onlooker {
 public:
  using clock = std::chrono::steady_clock;

  action(std::string token, action_plan plan, clock::time_point now)
      : token_(std::move(token)), plan_(std::move(plan)), since_(now) {}

  const std::string& token() const { return token_; }
  const action_plan& plan() const { return plan_; }
  std::int64_t matched() const { return static_cast<std::int64_t>(plan_.events.size()); }
  // Includes the reason.
  app::order what() const;
  action_state state() const;
  bool is_running() const;
  // The time of the latest state change.
  clock::time_point since() const;

  // Returns false if the action has already begun, whatever reason was given then, so that nothing is done
  // twice.
  bool begin(std::string reason, clock::time_point now);
  // Takes effect between two portions.
  void stop() { stops_ = true; }

  // For the thread that executes the action.
  bool wait_until(clock::time_point when) override;
  void see(const app::change_figures& now) override;
  void add(const std::string& name, nlohmann::json what);  // adds another result
  void end(action_state how, std::string message, clock::time_point now);
  app::change_figures figures() const;

  // The whole action as JSON.
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
