#include "app/schema/migrate.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "app/schema/differences.hpp"
#include "app/schema/mending_session.hpp"
#include "app/schema/migrations.hpp"
#include "core/text.hpp"
#include "pg/connection_string.hpp"
#include "pg/lock_wait.hpp"
#include "pg/sqlstate.hpp"
#include "store/relay_statements.hpp"
#include "store/rights.hpp"

namespace outboxd::app {
namespace {

using namespace std::chrono_literals;

constexpr auto between_migration_tries = 500ms;
constexpr auto longest_migration = 60s;

// Each session of a relay honors a request for three seconds after first seeing it, and the next request only
// five seconds later. If a request never ended, the sessions would honor it at different times, and their
// leads would never all be free together. A request therefore lasts for a limited time, and the next one
// begins when the last session that saw the previous request is ready again.
constexpr auto asks_for = 4s;
constexpr auto between_requests = asks_for + 3s + 5s + 1s;

result<std::optional<std::string>> one_value(mending_session& session, const std::string& sql) {
  OUTBOXD_TRY(auto found, session.execute(sql));
  if (found.size() == 0) return std::optional<std::string>();
  const auto value = found.find(0, 0);
  return value ? std::optional(std::string(*value)) : std::nullopt;
}

result<int> version_of(mending_session& session, const pg::schema_name& schema) {
  OUTBOXD_TRY(const auto text,
              one_value(session, fmt::format("SELECT coalesce(max(version), 0) FROM {}.migration",
                                             schema.identifier())));
  int version = 0;
  std::from_chars(text->data(), text->data() + text->size(), version);
  return version;
}

result<void> check_is_known(int version, const pg::schema_name& schema) {
  const int newest = version_of(migrations().back());
  if (version <= newest) return {};
  return permanent(fmt::format("{} was migrated to version {} by a newer outboxd; this one knows version {}",
                               schema.identifier(), version, newest));
}

// Leaders briefly give up their leads to a session that holds such a lock and may lead. The notification
// makes them check at once. The lock, and with it the pauses in delivery, lasts until this session ends. The
// server terminates a session whose program is gone or hangs.
result<void> ask_leaders_to_yield(mending_session& session, const pg::schema_name& schema,
                                  const migrate_wishes& wishes) {
  if (!wishes.shards && !wishes.notifies) return {};
  OUTBOXD_TRY(const auto is, shape_of(session.looks(), schema));
  const int shards = wishes.shards.value_or(is.shards);
  if (shards < is.shards || (shards == is.shards && wishes.notifies.value_or(is.notifies) == is.notifies))
    return {};
  return session.ask(schema);
}

// Whether an outbox exists. The record of migrations may be gone, as after a restore of the schema without
// its rows, and an application may have tables of the same names.
result<bool> is_there(mending_session& session, const pg::schema_name& schema) {
  OUTBOXD_TRY(const auto type,
              one_value(session, fmt::format("SELECT to_regtype({})",
                                             text_literal(schema.identifier() + ".event_status"))));
  return type.has_value();
}

// Creates an outbox and returns true, or applies the migrations that are not recorded. If an outbox exists,
// only the record of the first migration can be missing.
result<bool> apply_pending(mending_session& session, const pg::schema_name& schema, migrate_result& out) {
  const int before = std::exchange(out.version, version_of(migrations().back()));
  if (before == out.version) return false;
  OUTBOXD_TRY(const bool there, is_there(session, schema));
  if (!there) {
    out.applied = static_cast<int>(migrations().size());
    OUTBOXD_TRY_VOID(session.execute(script(schema, out.now)));
    return true;
  }
  for (const auto& one : migrations().subspan(1)) {
    if (version_of(one) <= before) continue;
    const auto done = session.execute(fill_in(one.sql, schema, out.now) + record_of(one, schema));
    if (!done)
      return tl::make_unexpected(
          error{done.error().kind, fmt::format("{}: {}", one.name, done.error().message)});
    ++out.applied;
  }
  return false;
}

// Repairs all differences. Roles and rights that this run's migrations need are not reported.
result<void> mend_all(mending_session& session, const pg::schema_name& schema, const outbox_shape& shape,
                      migrate_result& out) {
  for (const auto& part : state_parts) {
    OUTBOXD_TRY(const auto found, session.mend(part, schema, shape));
    const bool new_rights =
        out.applied > 0 && (part == "roles" || part == "row_security" || part == "grants");
    for (const difference& one : found) {
      if (one.remedy.empty())
        out.left.push_back(one.what);
      else if (!new_rights)
        out.mended.push_back(one.what);
    }
  }
  return {};
}

result<migrate_result> apply(mending_session& session, const pg::schema_name& schema,
                             const migrate_wishes& wishes) {
  OUTBOXD_TRY_VOID(session.make_record(schema));
  const auto payload = wishes.payload_type.value_or("jsonb");
  OUTBOXD_TRY(const auto is, shape_of(session.looks(), schema, payload));
  if (wishes.payload_type && is.payload_type != payload)
    return permanent(
        fmt::format("--payload {}: the payload of {}.event is {} already; migrate does not change it",
                    payload, schema.identifier(), is.payload_type));
  OUTBOXD_TRY(const auto before, version_of(session, schema));
  OUTBOXD_TRY_VOID(check_is_known(before, schema));
  migrate_result out;
  out.version = before;
  out.before = is;
  out.now = {is.payload_type, wishes.shards.value_or(is.shards), wishes.notifies.value_or(is.notifies)};
  OUTBOXD_TRY(const bool is_new, apply_pending(session, schema, out));
  if (!is_new && out.now.shards < is.shards)
    return permanent(fmt::format("--shards {}: {} has {} shards already; their number can only grow",
                                 out.now.shards, schema.identifier(), is.shards));
  // Missing rows of shards are created first, so that the new shards can take over their positions.
  OUTBOXD_TRY_VOID(mend_all(session, schema, is_new ? out.now : is, out));
  if (is_new || (out.now.shards == is.shards && out.now.notifies == is.notifies)) return out;
  OUTBOXD_TRY_VOID(session.execute(reshape(schema, out.now)));
  return out;
}

// True if a writer with an open transaction prevented the change of the doorbell. See reshape().
bool has_bell_of_before(mending_session& session, const pg::schema_name& schema, const outbox_shape& shape) {
  const auto found = find_differences(session.looks(), "columns", schema, shape);
  return found && !found->empty();
}

// Describes the sessions that may hold the locks.
std::string lock_holders(mending_session& session, const pg::schema_name& schema) {
  const auto found = session.execute(fill_in(store::state_text("lock_holders"), schema, {}));
  if (!found || found->size() == 0 || found->is_null(0, 0)) return "nobody any more";
  return pg::one_line(found->at(0, 0));
}

result<migrate_result> try_once(mending_session& session, const pg::schema_name& schema,
                                const migrate_wishes& wishes) {
  OUTBOXD_TRY_VOID(ask_leaders_to_yield(session, schema, wishes));
  // Set explicitly, because the role or the database may have its own settings.
  const auto begun = session.execute(
      fmt::format("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL statement_timeout = 0;"
                  " SET LOCAL lock_timeout = '{}'; SET LOCAL client_min_messages = error;"
                  " SET LOCAL check_function_bodies = off;"
                  " SELECT pg_advisory_xact_lock(hashtext('outboxd migrate'), hashtext({}))",
                  pg::longest_lock_wait.count(), text_literal(schema.name())));
  if (!begun) return tl::make_unexpected(begun.error());
  auto out = apply(session, schema, wishes);
  if (!out) return out;
  OUTBOXD_TRY_VOID(session.execute("COMMIT"));
  return out;
}

// Tries for a few seconds. If that fails, the change is left to the next `migrate`.
void mend_bell(mending_session& session, const pg::schema_name& schema, const outbox_shape& shape,
               const std::function<void(const std::string& progress)>& say) {
  constexpr int tries = 5;
  if (session.asks() && !session.ask_no_more()) return;
  for (int i = 0; i < tries && has_bell_of_before(session, schema, shape); ++i) {
    if (i > 0) std::this_thread::sleep_for(between_migration_tries);
    if (try_once(session, schema, {})) return;
    if (!session.execute("ROLLBACK")) return;
  }
  if (has_bell_of_before(session, schema, shape))
    say(fmt::format("{} has an open writer: until `outboxd migrate` is run once more, new shards are polled",
                    lock_holders(session, schema)));
}

}  // namespace

result<pending_migrations> look_for_migrations(const std::string& connection_string,
                                               const pg::schema_name& schema) {
  mending_session session;
  OUTBOXD_TRY_VOID(session.open(connection_string));
  pending_migrations out;
  OUTBOXD_TRY(const auto recorded,
              one_value(session, fmt::format("SELECT to_regclass({})",
                                             text_literal(schema.identifier() + ".migration"))));
  if (recorded) {
    OUTBOXD_TRY(const auto version, version_of(session, schema));
    out.version = version;
  }
  OUTBOXD_TRY_VOID(check_is_known(out.version, schema));
  for (const auto& one : migrations())
    if (version_of(one) > out.version) out.names.push_back(one.name);
  OUTBOXD_TRY(const auto shape, shape_of(session.looks(), schema));
  OUTBOXD_TRY(const bool there, is_there(session, schema));
  if (!there && out.version == 0) return out;  // only the pending migrations are missing
  OUTBOXD_TRY(auto found, find_all_differences(session.looks(), schema, shape));
  out.differences = std::move(found);
  return out;
}

result<migrate_result> migrate(const std::string& connection_string, const pg::schema_name& schema,
                               const migrate_wishes& wishes,
                               const std::function<void(const std::string& progress)>& say) {
  mending_session session;
  OUTBOXD_TRY_VOID(session.open(connection_string));
  auto asked_at = std::chrono::steady_clock::now();
  const auto deadline = asked_at + longest_migration;
  for (;;) {
    auto done = try_once(session, schema, wishes);
    if (done && wishes.shards) mend_bell(session, schema, done->now, say);
    if (done || !session.met_others() || std::chrono::steady_clock::now() >= deadline) return done;
    OUTBOXD_TRY_VOID(session.execute("ROLLBACK"));
    say(fmt::format("others hold locks of {} that migrate needs: {}; trying again", schema.identifier(),
                    lock_holders(session, schema)));
    if (!session.asks() || std::chrono::steady_clock::now() < asked_at + asks_for) {
      std::this_thread::sleep_for(between_migration_tries);
      continue;
    }
    OUTBOXD_TRY_VOID(session.ask_no_more());
    std::this_thread::sleep_until(asked_at + between_requests);
    asked_at = std::chrono::steady_clock::now();
  }
}

}  // namespace outboxd::app
