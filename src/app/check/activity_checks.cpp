// activity_checks: current activity in PostgreSQL: notifications, and locks that block relays.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "app/check/checks.hpp"
#include "core/text.hpp"
#include "pg/binary.hpp"
#include "pg/shown_statement.hpp"

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

// The process that holds up the notification queue, from the server's warning. The server warns only if the
// queue is half full, and only one notifying session every five seconds (async.c, QUEUE_FULL_WARN_INTERVAL),
// which may have been a relay. 0: no warning was received.
int named_holder(context& of, int percent) {
  const auto until = std::chrono::steady_clock::now() + 6s;
  for (;;) {
    // Fails if the queue is full, but the server still names the process that holds it up.
    static_cast<void>(of.ask(fmt::format("NOTIFY outboxd_check_{}", ::getpid())));
    const int process = of.raw().take_queue_holder();
    const auto now = std::chrono::steady_clock::now();
    if (process != 0 || percent < 50 || now >= until || of.raw().lost()) return process;
    wait_for(of.io(), pause(of.raw(), 500ms));
  }
}

// A session whose lock or transaction blocks others.
struct lock_holder {
  std::string pid;  // empty: a prepared transaction, which has no process
  std::string words;

  std::string remedy() const {
    return pid.empty() ? "SELECT gid FROM pg_prepared_xacts;  -- then ROLLBACK PREPARED 'gid';"
                       : fmt::format("SELECT pg_terminate_backend({});", pid);
  }
};

// Columns of sql/check/{locks,row_locks,queue_holder}.sql; only locks.sql returns the last two.
struct holder {
  enum column : int { keeps_from, shard, mode, pid, user, application, query, waits_for, behind };
};

std::string session_of(const pg::rows& all, int row) {
  if (all.is_null(row, holder::pid)) return "a prepared transaction (see pg_prepared_xacts)";
  const auto name = [&](int column) { return printable(all.find(row, column).value_or(""), 100); };
  const auto statement = all.find(row, holder::query).value_or("");
  // PostgreSQL shows this to users without pg_read_all_stats.
  const bool hidden = statement == "<insufficient privilege>";
  return fmt::format(
      "pid {} (user {}, application {}, {}{})", all.at(row, holder::pid), name(holder::user),
      name(holder::application),
      hidden ? "its statement is visible only to members of pg_read_all_stats" : "latest statement: ",
      hidden ? "" : pg::shown_statement(statement));
}

std::string words_of(const std::string& schema, const pg::rows& all, int row) {
  const auto who = session_of(all, row);
  if (all.at(row, holder::keeps_from) == "leading" && !all.is_null(row, holder::waits_for))
    return fmt::format(
        "no relay can lead shard {} of {}: {} still holds its leader lock for a relay that no longer leads; "
        "the session was told to end, and waits for {}",
        all.at(row, holder::shard), schema, who, printable(all.at(row, holder::waits_for), 100));
  if (all.at(row, holder::keeps_from) == "leading")
    return fmt::format("no relay can lead shard {} of {}: {} holds its leader lock",
                       all.at(row, holder::shard), schema, who);
  if (all.at(row, holder::mode) == "row locks")
    return fmt::format("events of {} cannot be marked as published: {} has locked their rows", schema, who);
  if (all.is_null(row, holder::behind))
    return fmt::format("events of {} cannot be read or marked as published: {} holds {} on the table", schema,
                       who, all.at(row, holder::mode));
  return fmt::format(
      "events of {} cannot be read or marked as published: {} waits for {} on the table, behind pid {}",
      schema, who, all.at(row, holder::mode), all.at(row, holder::behind));
}

// Row locks are checked only if no session has locked the table, because the query would wait for that lock.
result<std::vector<lock_holder>> lock_holders_now(context& of) {
  OUTBOXD_TRY(auto found, of.look("locks", {pg::int8(of.database().claim_timeout.count())}));
  if (found.size() == 0) {
    OUTBOXD_TRY(found, of.look("row_locks", {}));
  }
  std::vector<lock_holder> out;
  for (int row = 0; row < found.size(); ++row)
    out.push_back({std::string(found.find(row, holder::pid).value_or("")),
                   words_of(of.database().schema.name(), found, row)});
  return out;
}

// PostgreSQL does not show which sessions listen, so unless it names one, the oldest transaction is only a
// guess.
std::optional<lock_holder> queue_holder_now(context& of, int process) {
  const auto found = of.look("queue_holder", {pg::int4(process)});
  if (!found || found->size() == 0) return std::nullopt;
  return lock_holder{
      std::string(found->at(0, holder::pid)),
      fmt::format("the server's notification queue is not emptied: {} {}; its transaction is open {}. End it "
                  "(SELECT pg_terminate_backend(PID)), and let that program commit before it waits",
                  session_of(*found, 0),
                  found->at(0, holder::keeps_from) == "named"
                      ? "prevents that"
                      : "has the oldest transaction, and may be the listener",
                  found->at(0, holder::mode))};
}

// A tenth is the limit that relays use, too.
std::optional<finding> judge_queue(context& of) {
  const auto usage = of.ask("SELECT (100 * pg_notification_queue_usage())::int");
  const int percent = usage ? std::atoi(std::string(usage->at(0, 0)).c_str()) : 0;
  if (percent < 10) return std::nullopt;
  const auto words = fmt::format(
      "the server's notification queue is {} % full: relays poll, and writers do not notify; when the queue "
      "is full, commits of other programs that use NOTIFY fail",
      usage->at(0, 0));
  const auto who = queue_holder_now(of, named_holder(of, percent));
  if (!who)
    return warning(words,
                   "SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY xact_start LIMIT 5;  "
                   "-- end the oldest session that listens");
  return warning(fmt::format("{}; {}", words, who->words), who->remedy());
}

}  // namespace

// On a separate channel, so that no relay or writer is disturbed.
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

// Only holders seen in two checks one second apart.
finding check_locks(context& of) {
  const auto first = lock_holders_now(of);
  if (!first) return not_checked(first.error().message);
  if (first->empty()) return ok("no other session's locks are in the way");
  wait_for(of.io(), pause(of.raw(), 1s));
  const auto second = lock_holders_now(of);
  if (!second) return not_checked(second.error().message);
  for (const lock_holder& one : *second)
    if (std::ranges::find(*first, one.pid, &lock_holder::pid) != first->end())
      return failure(one.words, one.remedy());
  return ok("no other session's locks are in the way for long");
}

}  // namespace outboxd::app::check
