// desk: where the console's questions to PostgreSQL are put, by threads of their own: libpq waits for the
// answer, and the reactor must not.
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
  static constexpr int most_waiting = 32;  // questions; further ones are refused at once

  // `from` has to outlive it.
  explicit desk(const app::settings& from) : from_(from) {}
  // Waits for questions under way.
  ~desk();
  desk(const desk&) = delete;
  desk& operator=(const desk&) = delete;

  // To look: asked again on a new session if the kept one has failed. On the reactor.
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
