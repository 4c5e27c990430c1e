// activity_checks: what else goes on in PostgreSQL at this moment: notifications, and locks in the way.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "app/check/checks.hpp"
#include "relay/lock_holders.hpp"

namespace outboxd::app::check {
namespace {

using namespace std::chrono_literals;

boost::asio::awaitable<bool> pause(pg::connection& link, std::chrono::milliseconds how_long) {
  const auto until = std::chrono::steady_clock::now() + how_long;
  while (!link.lost() && std::chrono::steady_clock::now() < until) {
    link.take_notifications();
    co_await link.wait_until(until);
  }
  co_return true;
}

// Who holds up the queue, as the server says: from a half on, to one session that notifies in five seconds
// (async.c, QUEUE_FULL_WARN_INTERVAL). A relay may have been that one. 0: it does not say.
int named_holder(context& of, int percent) {
  const auto until = std::chrono::steady_clock::now() + 6s;
  for (;;) {
    // Refused where the queue is full, and the server says who holds it up all the same.
    static_cast<void>(of.ask(fmt::format("NOTIFY outboxd_check_{}", ::getpid())));
    const int process = of.raw().take_queue_holder();
    const auto now = std::chrono::steady_clock::now();
    if (process != 0 || percent < 50 || now >= until || of.raw().lost()) return process;
    wait_for(of.io(), pause(of.raw(), 500ms));
  }
}

// From a tenth on, as relays see it.
std::optional<finding> judge_queue(context& of) {
  const auto usage = of.ask("SELECT (100 * pg_notification_queue_usage())::int");
  const int percent = usage ? std::atoi(std::string(usage->at(0, 0)).c_str()) : 0;
  if (percent < 10) return std::nullopt;
  const auto words = fmt::format(
      "the server's notification queue is {} % full: relays poll, and writers do not notify; when the queue "
      "is full, commits of other programs that use NOTIFY fail",
      usage->at(0, 0));
  std::optional<relay::lock_holder> who;
  if (of.known.opened_as_relay)
    if (auto found = wait_for(
            of.io(), relay::queue_holder_now(of.as_relay(), of.database().schema, named_holder(of, percent))))
      who = std::move(*found);
  if (!who)
    return warning(words,
                   "SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY xact_start LIMIT 5;  "
                   "-- end the oldest session that listens");
  return warning(fmt::format("{}; {}", words, who->words),
                 fmt::format("SELECT pg_terminate_backend({});", who->pid));
}

}  // namespace

// On a channel of its own: no relay and no writer is disturbed.
finding check_notification(context& of) {
  if (!of.known.sound.contains("database.writable")) return not_checked("the server takes no writes");
  if (!of.known.sound.contains("database.pooler"))
    return not_checked("the pooler gives this session to others");
  constexpr auto hearing_timeout = 5s;
  if (auto fills = judge_queue(of)) return std::move(*fills);
  const auto channel = fmt::format("outboxd_check_{}", ::getpid());
  const auto token = fmt::format("{}", std::chrono::steady_clock::now().time_since_epoch().count());
  for (const auto& sql : {fmt::format("LISTEN {}", channel), fmt::format("NOTIFY {}, '{}'", channel, token)})
    if (const auto done = of.ask(sql); !done)
      return failure(done.error().message, "a server where this user may LISTEN and NOTIFY");
  const auto begun = std::chrono::steady_clock::now();
  bool heard = false;
  const auto listen = [&]() -> boost::asio::awaitable<bool> {
    for (;;) {
      heard = of.raw().take_notifications().contains(token);
      if (heard || of.raw().lost() || std::chrono::steady_clock::now() >= begun + hearing_timeout)
        co_return heard;
      co_await of.raw().wait_until(begun + hearing_timeout);
    }
  };
  if (!wait_for(of.io(), listen()))
    return failure("a test notification did not arrive within 5 s; a leader would have to poll",
                   "database.url: the server itself, or a proxy and a pool that pass notifications on");
  static_cast<void>(of.ask(fmt::format("UNLISTEN {}", channel)));  // the session ends soon
  if (!of.known.shape.notifies) return ok("arrives; but writers send none (migrate --no-notify)");
  return ok("arrives");
}

// What is there at two looks, a second apart.
finding check_locks(context& of) {
  if (!of.known.opened_as_relay) return not_checked("no session could be opened as a relay does");
  const auto look = [&] {
    return wait_for(
        of.io(), relay::lock_holders_now(of.as_relay(), of.database().schema, of.database().claim_timeout));
  };
  const auto first = look();
  if (!first) return not_checked(first.error().message);
  if (first->empty()) return ok("no other session's locks are in the way");
  wait_for(of.io(), pause(of.as_relay(), 1s));
  const auto second = look();
  if (!second) return not_checked(second.error().message);
  for (const relay::lock_holder& one : *second) {
    if (std::none_of(first->begin(), first->end(), [&](const auto& before) { return before.pid == one.pid; }))
      continue;
    return failure(one.words, one.pid == 0
                                  ? "SELECT gid FROM pg_prepared_xacts;  -- then ROLLBACK PREPARED 'gid';"
                                  : fmt::format("SELECT pg_terminate_backend({});", one.pid));
  }
  return ok("no other session's locks are in the way for long");
}

}  // namespace outboxd::app::check
