// desk: runs the console's PostgreSQL queries on separate threads, because libpq blocks until the reply
// arrives, and the reactor must not block.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "app/operate/operator_session.hpp"

namespace outboxd::console {

class desk {
 public:
  using answer = app::outcome<nlohmann::json>;
  using question = std::function<answer(app::operator_session&)>;

  static constexpr int threads = 2;
  static constexpr int most_waiting = 32;  // queries; further ones are rejected at once

  // `from` must outlive this object.
  explicit desk(const app::settings& from) : from_(from) {}
  // Waits for running queries.
  ~desk();
  desk(const desk&) = delete;
  desk& operator=(const desk&) = delete;

  // For read-only queries: retried once on a new session if the cached session has failed. Runs on the
  // reactor.
  boost::asio::awaitable<answer> look(question what);

  // For blocking work without PostgreSQL.
  boost::asio::awaitable<answer> work(std::function<answer()> what);

  bool idle() const { return waiting_ == 0; }

 private:
  answer look_now(const question& what);
  app::outcome<app::operator_session> open() const;

  const app::settings& from_;
  std::mutex guard_;
  std::vector<app::operator_session> kept_;          // unused at the moment
  int waiting_ = 0;                                  // of the reactor's thread
  std::optional<boost::asio::thread_pool> threads_;  // since the first question
};

}  // namespace outboxd::console
