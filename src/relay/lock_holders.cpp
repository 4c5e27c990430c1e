#include "relay/lock_holders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/failpoint.hpp"
#include "core/text.hpp"
#include "pg/binary.hpp"
#include "pg/shown_statement.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;

// Two searches take ten seconds: shorter obstacles are not logged.
constexpr auto between_searches = 5s;

constexpr auto longest_search = 10s;

constexpr std::array all_kinds{kept_from::leading, kept_from::sleeping, kept_from::writing, kept_from::quiet,
                               kept_from::ringing};

// Columns of sql/relay/*_holder.sql; the last one of lead_holder alone.
struct holder {
  enum column : int { number, mode, pid, user, application, query, waits_for };
};

std::string name_of(const pg::rows& row, holder::column which) {
  return printable(row.find(0, which).value_or(""), 100);
}

// A prepared transaction has no process.
std::string session_of(const pg::rows& row) {
  if (row.is_null(0, holder::pid)) return "a prepared transaction (see pg_prepared_xacts)";
  const auto statement = row.find(0, holder::query).value_or("");
  // PostgreSQL shows this to users without pg_read_all_stats.
  const bool hidden = statement == "<insufficient privilege>";
  return fmt::format(
      "pid {} (user {}, application {}, {}{})", pg::read_int4(row.at(0, holder::pid)),
      name_of(row, holder::user), name_of(row, holder::application),
      hidden ? "its statement is visible only to members of pg_read_all_stats" : "latest statement: ",
      hidden ? "" : pg::shown_statement(statement));
}

// Objects of the table's owner that can swallow a mark: a rule that does something instead, or a BEFORE
// trigger that returns null. The outbox's own rules and triggers do neither.
std::string swallowers(const pg::schema_name& schema) {
  return fmt::format(
      "WITH tables AS MATERIALIZED (SELECT format('%I.event', {0})::regclass::oid AS of UNION ALL"
      " SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = format('%I.event', {0})::regclass)"
      " SELECT 1 AS rank, r.rulename::text, r.ev_class::regclass::text FROM pg_rewrite AS r"
      " WHERE r.ev_class IN (SELECT t.of FROM tables AS t) AND r.ev_type IN ('2', '4') AND r.ev_enabled <> "
      "'D'"
      " UNION ALL SELECT 2, t.tgname::text, t.tgrelid::regclass::text FROM pg_trigger AS t"
      " WHERE t.tgrelid IN (SELECT t.of FROM tables AS t) AND t.tgenabled <> 'D'"
      " AND (t.tgtype & 3) = 3 AND (t.tgtype & 24) <> 0"  // BEFORE, FOR EACH ROW; DELETE or UPDATE
      " ORDER BY 1, 2, 3 LIMIT 1",
      schema.literal());
}

// A statement that was planned while a rule turned it into nothing depends on no table any more, so
// PostgreSQL never plans it again (seen in 15; DISCARD PLANS does not help either). Each statement is first
// parsed unnamed: that takes all locks, so a refusal for a lock comes before anything is deallocated. The
// next search tries again.
boost::asio::awaitable<result<void>> prepare_anew(pg::connection& link) {
  pg::pipeline ask;
  ask.text("SELECT name, statement FROM pg_prepared_statements WHERE name <> ''");
  OUTBOXD_CO_TRY(const auto found, co_await link.execute(std::move(ask), longest_search));
  pg::pipeline again;
  const pg::rows& all = found.front();
  for (int row = 0; row < all.size(); ++row) again.prepare({}, std::string(all.at(row, 1)));
  again.text("DEALLOCATE ALL");
  for (int row = 0; row < all.size(); ++row)
    again.prepare(std::string(all.at(row, 0)), std::string(all.at(row, 1)));
  OUTBOXD_CO_TRY_VOID(co_await link.execute_segments(std::move(again), longest_search));
  co_return result<void>();
}

}  // namespace

void lock_holder_watch::set(kept_from what, bool kept, clock::time_point now) {
  watch& one = of(what);
  if (!kept) {
    one = {};
  } else if (!one.next_search) {
    one.next_search = now + hastened(between_searches);
  }
}

void lock_holder_watch::set_loudest(int process, clock::time_point now) {
  loudest_ = process;
  set(kept_from::quiet, process != 0, now);
}

bool lock_holder_watch::due(clock::time_point now) const {
  return std::any_of(watches_.begin(), watches_.end(),
                     [&](const watch& one) { return one.next_search && *one.next_search <= now; });
}

const lock_holder_watch::named* lock_holder_watch::in_the_way() const {
  for (const kept_from what : {kept_from::leading, kept_from::writing})
    if (of(what).still) return &*of(what).still;
  return nullptr;
}

boost::asio::awaitable<result<std::vector<std::string>>> lock_holder_watch::search(
    pg::connection& link, int shard, std::vector<event_key> unwritten) {
  std::vector<std::string> out;
  const auto now = clock::now();
  for (const kept_from what : all_kinds) {
    watch& one = of(what);
    if (!one.next_search || *one.next_search > now) continue;
    auto found = co_await find(link, what, shard, unwritten);
    if (!found) co_return tl::make_unexpected(found.error());
    if (!one.next_search) continue;  // over meanwhile
    one.next_search = now + hastened(between_searches);
    const std::string which = *found ? (*found)->which : "";
    const auto seen_before = std::exchange(one.seen, which);
    const bool stays = *found && which == seen_before;
    if (!*found || (one.still && one.still->which != which)) one.still.reset();
    if (!stays || one.still) continue;
    one.still = named{which, (*found)->words, std::chrono::system_clock::now()};
    out.push_back(std::move((*found)->words));
  }
  co_return out;
}

boost::asio::awaitable<result<std::optional<lock_holder_watch::sighting>>> lock_holder_watch::find(
    pg::connection& link, kept_from what, int shard, std::vector<event_key> unwritten) {
  std::vector<std::string> parameters;
  switch (what) {
    case kept_from::leading:
      co_return co_await ask(link, store::statement::lead_holder, of_leads());
    case kept_from::sleeping:
      parameters = {pg::int4(store::lock_class(schema_)), pg::int8(shard)};
      co_return co_await ask(link, store::statement::sleep_holder, std::move(parameters));
    case kept_from::quiet:
      parameters.push_back(pg::int4(loudest_));
      co_return co_await ask(link, store::statement::notifier, std::move(parameters));
    case kept_from::ringing:
      parameters.push_back(pg::int4(queue_holder_));
      co_return co_await ask(link, store::statement::queue_holder, std::move(parameters));
    case kept_from::writing:
      break;
  }
  auto by_table = co_await ask(link, store::statement::table_holder, std::move(parameters));
  if (!by_table || *by_table) co_return by_table;
  std::vector<event_id> ids;
  std::vector<std::int64_t> seqs;
  for (const event_key& one : unwritten) {
    ids.push_back(one.id);
    seqs.push_back(one.seq);
  }
  std::vector<std::string> rows{pg::uuid_array(ids), pg::int8_array(seqs)};
  auto by_row = co_await ask(link, store::statement::row_holder, std::move(rows));
  if (!by_row || *by_row || unwritten.empty()) co_return by_row;
  co_return co_await find_swallower(link);
}

std::vector<std::string> lock_holder_watch::of_leads() const {
  return {pg::int4(store::lock_class(schema_)), pg::int8(claim_timeout_.count())};
}

boost::asio::awaitable<result<std::optional<std::string>>> lock_holder_watch::requester(pg::connection& link,
                                                                                        int shard) {
  std::vector<std::string> parameters{pg::int4(store::lock_class(schema_)), pg::int8(shard)};
  OUTBOXD_CO_TRY(auto found, co_await ask(link, store::statement::requester, std::move(parameters)));
  if (!found) co_return std::optional<std::string>();
  co_return std::move(found->words);
}

// No session holds a lock, and yet rows stay unchanged.
boost::asio::awaitable<result<std::optional<lock_holder_watch::sighting>>> lock_holder_watch::find_swallower(
    pg::connection& link) {
  pg::pipeline steps;
  steps.text(swallowers(schema_));
  OUTBOXD_CO_TRY(const auto answer, co_await link.execute_segments(std::move(steps), longest_search));
  const auto& only = answer.front();
  const bool found = !only.refusal && only.answers.front().size() > 0;
  const bool by_rule = found && only.answers.front().at(0, 0) == "1";
  if (!by_rule) {  // with a rule in place, some cannot be prepared
    OUTBOXD_CO_TRY_VOID(co_await prepare_anew(link));
  }
  if (!found) co_return std::optional<sighting>();
  const pg::rows& row = only.answers.front();
  const auto name = printable(row.at(0, 1), 100);
  const auto table = printable(row.at(0, 2), 100);
  // The catalog does not show whether a trigger returns null.
  const auto who = fmt::format("{} {} of {}", by_rule ? "the rule" : "perhaps the trigger", name, table);
  co_return sighting{fmt::format("{} {}", by_rule ? "rule" : "trigger", name),
                     fmt::format("events of {} cannot be marked as published, and no session has locked "
                                 "them: {} leaves their rows unchanged",
                                 schema_.name(), who),
                     0};
}

// A search that PostgreSQL refuses, such as for another lock, finds nothing.
boost::asio::awaitable<result<std::optional<lock_holder_watch::sighting>>> lock_holder_watch::ask(
    pg::connection& link, std::string_view statement, std::vector<std::string> parameters) {
  pg::pipeline steps;
  steps.run(std::string(statement), std::move(parameters));
  OUTBOXD_CO_TRY(const auto answer, co_await link.execute_segments(std::move(steps), longest_search));
  const auto& only = answer.front();
  if (only.refusal || only.answers.front().size() == 0) co_return std::optional<sighting>();
  const pg::rows& row = only.answers.front();
  const auto what = pg::read_int8(row.at(0, holder::number));
  const auto held = row.at(0, holder::mode);
  const auto session = row.is_null(0, holder::pid) ? 0 : pg::read_int4(row.at(0, holder::pid));
  std::optional<std::string> waits_for;
  if (statement == store::statement::lead_holder && !row.is_null(0, holder::waits_for))
    waits_for = name_of(row, holder::waits_for);
  co_return sighting{fmt::format("{} {} {}", session, held, what),
                     words_for(statement, what, held, session_of(row), waits_for), session};
}

boost::asio::awaitable<result<std::vector<lock_holder>>> lock_holders_now(
    pg::connection& link, const pg::schema_name& schema, std::chrono::milliseconds claim_timeout) {
  lock_holder_watch watch(schema, claim_timeout);
  std::vector<lock_holder> out;
  for (const std::string_view statement : {store::statement::lead_holder, store::statement::table_holder}) {
    std::vector<std::string> parameters;
    if (statement == store::statement::lead_holder) parameters = watch.of_leads();
    OUTBOXD_CO_TRY(auto found, co_await watch.ask(link, statement, std::move(parameters)));
    if (found) out.push_back({found->pid, std::move(found->words)});
  }
  co_return out;
}

boost::asio::awaitable<result<std::optional<lock_holder>>> queue_holder_now(pg::connection& link,
                                                                            const pg::schema_name& schema,
                                                                            int process) {
  lock_holder_watch watch(schema, {});
  std::vector<std::string> parameters{pg::int4(process)};
  OUTBOXD_CO_TRY(auto found, co_await watch.ask(link, store::statement::queue_holder, std::move(parameters)));
  if (!found) co_return std::optional<lock_holder>();
  co_return lock_holder{found->pid, std::move(found->words)};
}

std::string lock_holder_watch::words_for(std::string_view statement, std::int64_t number,
                                         std::string_view mode, const std::string& who,
                                         const std::optional<std::string>& waits_for) const {
  if (statement == store::statement::lead_holder && waits_for)
    return fmt::format(
        "no relay can lead shard {} of {}: {} still holds its leader lock for a relay that no longer leads; "
        "the session was told to end, and waits for {}",
        number, schema_.name(), who, *waits_for);
  if (statement == store::statement::lead_holder)
    return fmt::format("no relay can lead shard {} of {}: {} holds its leader lock", number, schema_.name(),
                       who);
  if (statement == store::statement::sleep_holder)
    return fmt::format("the leader of shard {} of {} polls and cannot be idle: {} holds its idle lock ({})",
                       number, schema_.name(), who, mode);
  if (statement == store::statement::requester)
    return fmt::format("{} asks to lead shard {} of {}", who, number, schema_.name());
  if (statement == store::statement::notifier)
    return fmt::format(
        "the channel {} is flooded with notifications, so the leader rarely listens: {} sends them",
        schema_.name(), who);
  // PostgreSQL does not show who listens, so without a name from it the oldest transaction is only a guess.
  if (statement == store::statement::queue_holder)
    return fmt::format(
        "the server's notification queue is not emptied: {} {}; its transaction is open {}. End it (SELECT "
        "pg_terminate_backend(PID)), and let that program commit before it waits",
        who, number == 0 ? "has the oldest transaction, and may be the listener" : "prevents that", mode);
  if (statement == store::statement::row_holder)
    return fmt::format("events of {} cannot be marked as published: {} has locked their rows", schema_.name(),
                       who);
  const std::string behind = number == 0 ? "" : fmt::format(", behind pid {}", number);
  return fmt::format("events of {} cannot be read or marked as published: {} {} {} on the table{}",
                     schema_.name(), who, number == 0 ? "holds" : "waits for", mode, behind);
}

}  // namespace outboxd::relay
