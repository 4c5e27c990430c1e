#include "console/desk.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace outboxd::console {
namespace asio = boost::asio;

namespace {

asio::awaitable<desk::answer> run(std::function<desk::answer()> what) {
  co_return what();
}

}  // namespace

desk::~desk() {
  if (!threads_) return;
  threads_->stop();
  threads_->join();
}

asio::awaitable<desk::answer> desk::work(std::function<answer()> what) {
  if (waiting_ >= most_waiting)
    co_return app::run_failure("the console is waiting for too many answers from PostgreSQL; try again");
  ++waiting_;
  // Also runs after an exception from a query, such as bad_alloc.
  struct at_end {
    int& count;
    ~at_end() { --count; }
  } const counted{waiting_};
  if (!threads_) threads_.emplace(threads);
  auto asking = run(std::move(what));
  answer found = co_await asio::co_spawn(*threads_, std::move(asking), asio::use_awaitable);
  co_return found;
}

asio::awaitable<desk::answer> desk::look(question what) {
  return work([this, what = std::move(what)] { return look_now(what); });
}

app::outcome<app::operator_session> desk::open() const {
  auto session = app::operator_session::open(from_, "outboxd console");
  if (!session) return session;
  OUTBOXD_TRY_VOID(session->look_only());
  return session;
}

desk::answer desk::look_now(const question& what) {
  std::optional<app::operator_session> kept;
  {
    const std::lock_guard lock(guard_);
    if (!kept_.empty()) {
      kept = std::move(kept_.back());
      kept_.pop_back();
    }
  }
  auto keep = [this](app::operator_session one) {
    const std::lock_guard lock(guard_);
    kept_.push_back(std::move(one));
  };
  if (kept) {
    auto found = what(*kept);
    if (found) {
      keep(*std::move(kept));
      return found;
    }
  }
  // Whatever the error is, the connection may be lost.
  OUTBOXD_TRY(auto fresh, open());
  auto found = what(fresh);
  if (found) keep(std::move(fresh));
  return found;
}

}  // namespace outboxd::console
