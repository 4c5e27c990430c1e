// actions: creates, applies and stops previews: POST api/action/preview, apply and stop, GET api/action.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "app/config/settings.hpp"
#include "console/action_book.hpp"
#include "console/desk.hpp"
#include "console/gate.hpp"
#include "console/principal.hpp"
#include "http/message.hpp"

namespace outboxd::console {

// Runs on the reactor's thread. The gate has already checked that the user may act.
class actions {
 public:
  static constexpr int most_at_once = 4;  // changes; a pause gets a thread in addition

  // Both arguments must outlive this object.
  actions(const app::settings& from, const gate& door) : from_(from), gate_(door), previews_(from) {}
  ~actions();
  actions(const actions&) = delete;
  actions& operator=(const actions&) = delete;

  boost::asio::awaitable<http::response> post(std::string_view path, const http::request& asked,
                                              const principal& by);
  http::response progress(std::string_view token);

  // A short description of the running actions.
  nlohmann::json running() const;

  // Stops all actions between two portions. Returns those that were running.
  std::vector<std::shared_ptr<const action>> stop();
  // Unfinished previews are ignored, because they only read.
  bool idle() const { return book_.running().empty(); }
  bool previews() const { return !previews_.idle(); }

 private:
  boost::asio::awaitable<http::response> preview(const nlohmann::json& given, const principal& by);
  http::response preview_rest(const std::string& token, const principal& by);
  http::response apply(const nlohmann::json& given);
  http::response stop(const nlohmann::json& given);
  http::response shown(const action& one) const;
  std::shared_ptr<action> find(std::string_view token);

  const app::settings& from_;
  const gate& gate_;
  desk previews_;
  action_book book_;
  std::optional<boost::asio::thread_pool> threads_;  // since the first change
};

}  // namespace outboxd::console
