#include "relay/sleep_lock.hpp"

#include <fmt/format.h>

#include <utility>

#include "pg/lock_wait.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::relay {
namespace {

// Who notifies takes the lock of the object 0 of no database (async.c, PreCommit_Notify).
constexpr std::string_view commits_wait =
    "SELECT EXISTS (SELECT FROM pg_locks AS l WHERE l.locktype = 'object' AND l.database = 0"
    " AND l.classid = 'pg_database'::regclass AND l.objid = 0 AND NOT l.granted)";

}  // namespace

sleep_lock::sleep_lock(const boost::asio::any_io_executor& on, const postgres_settings& settings, int shard,
                       link_observer& observer, std::function<void(sleep_news)> tell)
    : executor_(on),
      settings_(settings),
      shard_(shard),
      observer_(observer),
      tell_(std::move(tell)),
      pause_(on) {}

boost::asio::awaitable<void> sleep_lock::run() {
  while (!stopping_) {
    pg::connection link(executor_);
    current_ = &link;
    const auto opened = co_await open(link);
    auto kind = fault::transient;
    if (opened) {
      wanted_ = action::none;
      tell_(sleep_news::up);
      const error why = co_await serve(link);
      held_ = false;
      process_ = 0;
      kind = why.kind;
      tell_(sleep_news::down);
      if (!stopping_) observer_.on_link_refused(peer::database, why);
    } else if (!stopping_) {
      kind = opened.error().kind;
      observer_.on_link_refused(peer::database, opened.error());
    }
    current_ = nullptr;
    if (!stopping_) co_await pause_.wait(kind);
  }
}

boost::asio::awaitable<result<void>> sleep_lock::open(pg::connection& link) {
  OUTBOXD_CO_TRY_VOID(co_await open_session(link, settings_, session_use::lock));
  OUTBOXD_CO_TRY(const auto process, co_await server_process(link, settings_));
  process_ = process;
  co_return result<void>();
}

boost::asio::awaitable<error> sleep_lock::serve(pg::connection& link) {
  while (!stopping_) {
    if (link.lost()) co_return *link.lost();
    result<void> done;
    switch (std::exchange(wanted_, action::none)) {
      case action::none:
        co_await link.wait();
        break;
      case action::ask:
        if (held_)
          tell_(sleep_news::granted);
        else
          done = co_await lock(link);
        break;
      case action::unlock:
        if (std::exchange(held_, false)) {
          const auto freed = co_await ask_server(
              link, fmt::format("SELECT pg_advisory_unlock({}, {})", store::lock_class(settings_.schema),
                                store::sleep_key + shard_));
          if (!freed) done = tl::make_unexpected(freed.error());
        }
        break;
      case action::probe:
        const auto contended = co_await ask_server(link, std::string(commits_wait));
        if (!contended) done = tl::make_unexpected(contended.error());
        if (contended && *contended) tell_(sleep_news::contended);
        break;
    }
    if (!done) co_return done.error();
  }
  co_return error{};
}

boost::asio::awaitable<result<void>> sleep_lock::lock(pg::connection& link) {
  OUTBOXD_CO_TRY(const auto taken,
                 co_await ask_server(
                     link, fmt::format("SELECT {}.take_sleep({})", settings_.schema.identifier(), shard_)));
  pause_.reset();
  held_ = taken;
  if (wanted_ == action::unlock) co_return result<void>();  // nobody wants it any more
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
  if (current_ != nullptr) current_->interrupt();
}

// The lock goes with the session. Nobody is told any more.
void sleep_lock::stop() {
  stopping_ = true;
  tell_ = [](sleep_news) {};
  pause_.stop();
  if (current_ != nullptr) current_->close();
}

}  // namespace outboxd::relay
