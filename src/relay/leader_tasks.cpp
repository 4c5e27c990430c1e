// leader_tasks: carries out a leader's tasks as statements on its session.
#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "core/text.hpp"
#include "pg/binary.hpp"
#include "pg/sqlstate.hpp"
#include "relay/leader.hpp"

namespace outboxd::relay {
namespace {

int number_of(const pg::rows& answer) {
  return std::atoi(std::string(answer.at(0, 0)).c_str());
}

}  // namespace

boost::asio::awaitable<result<pg::rows>> leader::ask(pg::connection& link, std::string sql) {
  pg::pipeline steps;
  steps.text(std::move(sql));
  OUTBOXD_CO_TRY(auto answers, co_await link.execute(std::move(steps), settings_.database.claim_timeout));
  co_return std::move(answers.front());
}

leader::done leader::carry_out(pg::connection& link, flow::task::wait& what) {
  co_await link.wait_until(what.until);
  co_return result<void>();
}

leader::done leader::carry_out(pg::connection&, flow::task::end_session&) {
  co_return result<void>();
}

leader::done leader::carry_out(pg::connection&, flow::task::use_sleep_lock& what) {
  if (sleep_lock_) sleep_lock_->want(what.what);
  co_return result<void>();
}

leader::done leader::carry_out(pg::connection& link, flow::task::end_hanging_leaders&) {
  if (!may_.sessions) co_return result<void>();
  co_return co_await end_hanging_leaders(link, settings_.database);
}

leader::done leader::carry_out(pg::connection& link, flow::task::end_former_sleeper&) {
  if (!may_.sessions) co_return result<void>();
  const int own = sleep_lock_ ? sleep_lock_->process() : 0;
  co_return co_await end_former_sleeper(link, settings_.database, view_.shard, own);
}

leader::done leader::carry_out(pg::connection& link, flow::task::look_for_lock_holders&) {
  if (!may_.sessions) co_return result<void>();
  OUTBOXD_CO_TRY(const auto found,
                 co_await lock_holders_.look(link, flow_.leads().value_or(0), flow_.events().meets_lock()));
  for (const auto& one : found) host_.tell(notice::lock_held{one.words, one.since});
  co_return result<void>();
}

// A relay that may not repair the table continues if the table has any row.
leader::done leader::carry_out(pg::connection& link, flow::task::mend_shards&) {
  const auto found = co_await ask(
      link, fmt::format("SELECT count(*), coalesce(has_function_privilege(to_regprocedure(format("
                        "'%I.mend_shards()', {})), 'EXECUTE'), false) FROM {}.shard",
                        settings_.database.schema.literal(), settings_.database.schema.identifier()));
  if (!found && pg::is_lock_timeout(link.last_sqlstate())) co_return result<void>();
  if (!found) co_return tl::make_unexpected(found.error());
  if (found->at(0, 1) == "f" && found->at(0, 0) != "0") co_return result<void>();
  const auto made =
      co_await ask(link, fmt::format("SELECT {}.mend_shards()", settings_.database.schema.identifier()));
  // If there are rows, an error is ignored: these shards have their leaders, and `check` reports the fault.
  if (!made && !link.lost() && found->at(0, 0) != "0") co_return result<void>();
  if (!made) co_return tl::make_unexpected(made.error());
  if (const auto shards = number_of(*made); shards > 0) host_.tell(notice::shards_mended{shards});
  co_return result<void>();
}

// The first listener of a database reads the whole notification queue, which may be long. The server may also
// reject LISTEN.
leader::done leader::carry_out(pg::connection& link, flow::task::listen&) {
  const auto listens = co_await ask(link, fmt::format("LISTEN {}", settings_.database.schema.identifier()));
  if (!listens && link.lost()) co_return tl::make_unexpected(listens.error());
  co_return result<void>();
}

leader::done leader::carry_out(pg::connection& link, flow::task::stop_listening&) {
  OUTBOXD_CO_TRY_VOID(co_await ask(link, "UNLISTEN *"));
  co_return result<void>();
}

leader::done leader::carry_out(pg::connection& link, flow::task::release_lead&) {
  OUTBOXD_CO_TRY_VOID(co_await ask(
      link, fmt::format("SELECT pg_advisory_unlock({}, {})", store::lock_class(settings_.database.schema),
                        view_.shard + store::lead_key)));
  co_return result<void>();
}

leader::done leader::carry_out(pg::connection& link, flow::task::allow_writes&) {
  OUTBOXD_CO_TRY_VOID(co_await ask(link, "SET default_transaction_read_only = off"));
  co_return result<void>();
}

leader::done leader::carry_out(pg::connection& link, flow::task::show_presence& what) {
  OUTBOXD_CO_TRY(
      const auto shown,
      co_await ask(link, fmt::format("SELECT pg_{}_shared({}, {})",
                                     what.able ? "try_advisory_lock" : "advisory_unlock",
                                     store::lock_class(settings_.database.schema), store::present_key)));
  flow_.on_shown(what.able && shown.at(0, 0) == "t");
  co_return result<void>();
}

leader::done leader::carry_out(pg::connection& link, flow::task::take_lead& what) {
  pg::pipeline steps;
  steps.run(std::string(store::statement::lead),
            {pg::int4(store::lock_class(settings_.database.schema)), pg::int8_array(what.but)});
  OUTBOXD_CO_TRY(const auto answers,
                 co_await link.execute(std::move(steps), settings_.database.claim_timeout));
  if (link.turned_read_only()) co_return tl::make_unexpected(is_read_only(link));
  const bool taken = answers.front().size() > 0;
  if (taken) view_.shard = pg::read_int2(answers.front().at(0, 0));
  flow_.on_taken(taken ? std::optional(view_.shard) : std::nullopt);
  co_return result<void>();
}

leader::done leader::carry_out(pg::connection& link, flow::task::load&) {
  store::store_session store(link, settings_.database.claim_timeout);
  OUTBOXD_CO_TRY(auto saved, co_await store.load(view_));
  flow_.on_loaded({.from = std::move(saved),
                   .shards = view_.shards,
                   .rings = view_.rings,
                   .server_time = view_.server_time},
                  clock::now());
  co_return result<void>();
}

leader::done leader::carry_out(pg::connection& link, flow::task::look_for_request&) {
  if (!may_.sessions) {
    flow_.on_requester(std::nullopt, clock::now());
    co_return result<void>();
  }
  pg::pipeline steps;
  steps.run(std::string(store::statement::requester), {pg::int8(view_.shard)});
  OUTBOXD_CO_TRY(const auto answer,
                 co_await link.execute_segments(std::move(steps), settings_.database.claim_timeout));
  std::optional<std::string> who;
  if (const auto& only = answer.front(); !only.refusal && only.answers.front().size() > 0)
    who = printable(only.answers.front().at(0, 0));
  flow_.on_requester(who, clock::now());
  co_return result<void>();
}

// Counts only sessions whose user may lead, as far as that is known, because any user can take the lock.
leader::done leader::carry_out(pg::connection& link, flow::task::count_relays&) {
  constexpr auto counted_sql =
      "SELECT count(*) FROM pg_locks AS l{} WHERE l.locktype = 'advisory' AND l.classid = {} AND l.objid = {}"
      " AND l.granted AND l.database = (SELECT d.oid FROM pg_database AS d"
      " WHERE d.datname = current_database()){}";
  std::string users;
  std::string may_lead;
  if (may_.sessions) {
    users = " JOIN pg_stat_activity AS a ON a.pid = l.pid";
    may_lead = fmt::format(" AND has_table_privilege(a.usesysid, format('%I.shard', {}), 'UPDATE')",
                           settings_.database.schema.literal());
  }
  auto sql = fmt::format(counted_sql, users, store::lock_class(settings_.database.schema), store::present_key,
                         may_lead);
  OUTBOXD_CO_TRY(const auto counted, co_await ask(link, std::move(sql)));
  flow_.on_counted(number_of(counted), clock::now());
  co_return result<void>();
}

leader::done leader::carry_out(pg::connection& link, flow::task::notify_self&) {
  OUTBOXD_CO_TRY(const auto sent, co_await notify(link));
  flow_.on_notified_self(sent, clock::now());
  co_return result<void>();
}

// Commits with a NOTIFY take a server-wide lock one after another, so slow commits may delay this one beyond
// the timeout. The notification queue or another table of the server may also be full.
boost::asio::awaitable<result<bool>> leader::notify(pg::connection& link) {
  const auto sent = co_await ask(
      link, fmt::format("SELECT pg_notify({}, '{}')", settings_.database.schema.literal(), own_probe()));
  if (sent) co_return true;
  if (link.lost()) co_return tl::make_unexpected(sent.error());
  if (pg::is_queue_full(link.last_sqlstate())) flow_.on_queue_usage(1.0, clock::now());
  co_return false;
}

leader::done leader::carry_out(pg::connection& link, flow::task::ask_queue_usage&) {
  std::string sql = may_.queue_usage ? "SELECT pg_notification_queue_usage()" : "SELECT NULL";
  const auto told = co_await ask(link, std::move(sql));
  if (!told && link.lost()) co_return tl::make_unexpected(told.error());
  std::optional<double> usage;
  if (told && !told->is_null(0, 0)) usage = std::strtod(std::string(told->at(0, 0)).c_str(), nullptr);
  flow_.on_queue_usage(usage, clock::now());
  co_return result<void>();
}

leader::done leader::carry_out(pg::connection& link, flow::task::round_trip& what) {
  store::store_session store(link, settings_.database.claim_timeout);
  const auto asked_at = clock::now();
  OUTBOXD_CO_TRY(auto answer, co_await store.execute(*what.what, view_));
  if (what.what->find<flow::read_request>() != nullptr) pause_.reset();  // a session that can read is healthy
  count(*what.what, asked_at);
  flow_.on_answer(std::move(answer), link.turned_read_only(), clock::now());
  co_return result<void>();
}

void leader::count(const flow::store_request& what, clock::time_point asked_at) {
  counts& all = host_.so_far();
  if (what.find<flow::mark_request>() != nullptr) ++all.marks;
  if (what.find<flow::read_request>() == nullptr) return;
  ++all.reads;
  all.read_times.add(clock::now() - asked_at);
}

}  // namespace outboxd::relay
