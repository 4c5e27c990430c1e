#include "console/shared_answer.hpp"

#include "http/as_result.hpp"

namespace outboxd::console {
namespace asio = boost::asio;

shared_answer::shared_answer(const asio::any_io_executor& on, std::chrono::milliseconds least)
    : least_(least), arrived_(on, clock::time_point::max()) {}

asio::awaitable<desk::answer> shared_answer::get(const asking& ask) {
  if (kept_ && clock::now() < until_) co_return *kept_;
  if (asking_) {
    co_await arrived_.async_wait(http::as_result);
    if (kept_) co_return *kept_;
    co_return app::run_failure("this could not be asked; try again");
  }
  asking_ = true;
  // Also runs if the query throws, so that no caller waits forever.
  struct at_end {
    shared_answer& of;
    ~at_end() {
      of.asking_ = false;
      of.arrived_.cancel();
    }
  } const done{*this};
  const auto begun = clock::now();
  desk::answer found = co_await ask();
  const auto now = clock::now();
  // A failure is not cached, because its cause may be gone at any time.
  until_ = found ? now + lasts(std::chrono::ceil<std::chrono::milliseconds>(now - begun), least_) : now;
  kept_ = found;
  co_return found;
}

}  // namespace outboxd::console
