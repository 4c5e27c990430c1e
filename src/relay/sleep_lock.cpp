#include "relay/sleep_lock.hpp"

#include <fmt/format.h>

#include <utility>

#include "pg/lock_wait.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::relay {
namespace {

// NOTIFY takes the lock on object 0 of database 0 (async.c, PreCommit_Notify).
constexpr std::string_view commits_wait =
    "SELECT EXISTS (SELECT FROM pg_locks AS l WHERE l.locktype = 'object' AND l.database = 0"
    " AND l.classid = 'pg_database'::regclass AND l.objid = 0 AND NOT l.granted)";

}  // namespace

sleep_lock::sleep_lock(const boost::asio::any_io_executor& on, const postgres_settings& settings, int shard,
                       link_observer& observer, std::function<void(sleep_news)> tell)
    : settings_(settings), shard_(shard), tell_(std::move(tell)), session_(on, settings, &observer) {}

boost::asio::awaitable<void> sleep_lock::run() {
  co_await session_.run([this](pg::connection& link) { return serve(link); });
}

boost::asio::awaitable<result<void>> sleep_lock::serve(pg::connection& link) {
  OUTBOXD_CO_TRY(const auto process, co_await server_process(link, settings_));
  process_ = process;
  wanted_ = action::none;
  tell_(sleep_news::up);
  result<void> done;
  while (done && !session_.stopping()) {
    if (link.lost())
      done = tl::make_unexpected(*link.lost());
    else
      done = co_await carry_out(link, std::exchange(wanted_, action::none));
  }
  held_ = false;
  process_ = 0;
  tell_(sleep_news::down);
  co_return done;
}

boost::asio::awaitable<result<void>> sleep_lock::carry_out(pg::connection& link, action what) {
  switch (what) {
    case action::none:
      co_await link.wait();
      break;
    case action::ask:
      if (!held_) co_return co_await lock(link);
      tell_(sleep_news::granted);
      break;
    case action::unlock:
      if (!std::exchange(held_, false)) break;
      OUTBOXD_CO_TRY_VOID(co_await ask_server(
          link, fmt::format("SELECT pg_advisory_unlock({}, {})", store::lock_class(settings_.schema),
                            store::sleep_key + shard_)));
      break;
    case action::probe:
      OUTBOXD_CO_TRY(const auto contended, co_await ask_server(link, std::string(commits_wait)));
      if (contended) tell_(sleep_news::contended);
      break;
  }
  co_return result<void>();
}

boost::asio::awaitable<result<void>> sleep_lock::lock(pg::connection& link) {
  OUTBOXD_CO_TRY(const auto taken,
                 co_await ask_server(
                     link, fmt::format("SELECT {}.take_sleep({})", settings_.schema.identifier(), shard_)));
  session_.reset_pause();
  held_ = taken;
  if (wanted_ == action::unlock) co_return result<void>();  // the lock is no longer wanted
  if (wanted_ == action::ask) wanted_ = action::none;
  tell_(held_ ? sleep_news::granted : sleep_news::refused);
  co_return result<void>();
}

boost::asio::awaitable<result<bool>> sleep_lock::ask_server(pg::connection& link, std::string sql) {
  pg::pipeline ask;
  ask.text(std::move(sql));
  OUTBOXD_CO_TRY(const auto answer,
                 co_await link.execute(std::move(ask), pg::longest_lock_wait + settings_.claim_timeout));
  co_return answer.front().at(0, 0) == "t";
}

void sleep_lock::want(action what) {
  if (what == action::probe && wanted_ != action::none) return;
  wanted_ = what;
  session_.interrupt();
}

// The end of the session releases the lock. `tell` is not called again.
void sleep_lock::stop() {
  tell_ = [](sleep_news) {};
  session_.stop();
}

}  // namespace outboxd::relay
