#include "app/migrate.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <random>
#include <thread>

#include "app/migrations.hpp"
#include "pg/blocking_session.hpp"
#include "pg/connection_string.hpp"
#include "pg/lock_wait.hpp"
#include "pg/relay_statements.hpp"
#include "pg/sqlstate.hpp"

namespace outboxd::app {
namespace {

using namespace std::chrono_literals;

constexpr auto between_migration_tries = 500ms;
constexpr auto longest_migration = 60s;

// Each relay's sessions follow a request for three seconds from when they first see it, and the next one
// after five more. Asked without end, each does that in a time of its own, and their leads are never free
// together. So we ask for a while, and again when the last one who saw it is ready for another.
constexpr auto asks_for = 4s;
constexpr auto between_requests = asks_for + 3s + 5s + 1s;

error migration_refusal(const pg::refusal& why) {
  constexpr std::string_view what = "the migration failed and was rolled back";
  if (why.sqlstate == "42501")
    return {fault::permanent,
            fmt::format("{}: {} (SQLSTATE 42501); run it as a user who may create in this database and who "
                        "has CREATEROLE, "
                        "or let an administrator run the output of `outboxd migrate --print`",
                        what, why.words)};
  if (pg::is_lock_timeout(why.sqlstate))
    return {fault::transient, fmt::format("{}: others hold locks that it needs; try again", what)};
  return {fault::permanent, why.sqlstate.empty()
                                ? fmt::format("{}: {}", what, why.words)
                                : fmt::format("{}: {} (SQLSTATE {})", what, why.words, why.sqlstate)};
}

class migration_session {
 public:
  result<void> open(const std::string& connection_string) {
    if (auto opened = session_.open(connection_string, "outboxd migrate"); !opened) return opened;
    const auto found = execute("SELECT current_setting('server_version_num')");
    if (!found) return tl::make_unexpected(found.error());
    const int version = std::atoi(std::string(found->at(0, 0)).c_str());
    if (version >= pg::oldest_server) return {};
    return permanent(fmt::format("the server is PostgreSQL {}; outboxd needs 14 or newer", version / 10'000));
  }
  result<pg::rows> execute(const std::string& sql) {
    auto answer = session_.execute(sql);
    met_lock_ = !answer && pg::is_lock_timeout(answer.error().sqlstate);
    if (!answer) return tl::make_unexpected(migration_refusal(answer.error()));
    return std::move(*answer);
  }
  // The latest statement was given up for a lock.
  bool met_lock() const { return met_lock_; }
  bool asks() const { return asks_; }
  result<void> ask(const pg::schema_name& schema) {
    asks_ = true;
    const auto asked = execute(
        fmt::format("SET idle_session_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s';"
                    " SELECT pg_try_advisory_lock_shared({}, {})",
                    pg::lock_class(schema), request_key_));
    if (!asked) return tl::make_unexpected(asked.error());
    // It may fail, where the queue of notifications is full; leaders look now and then without it.
    (void)execute(fmt::format("SELECT pg_notify({}, 'yield')", schema.literal()));
    return {};
  }
  result<void> ask_no_more() {
    asks_ = false;
    const auto done = execute("SELECT pg_advisory_unlock_all(); SET idle_session_timeout = 0");
    if (!done) return tl::make_unexpected(done.error());
    return {};
  }

 private:
  // Nobody else can have taken the lock by which it asks for leads: nobody knows which it will be.
  std::random_device device_;
  int request_key_ = pg::request_key + std::uniform_int_distribution(0, 1'000'000'000)(device_);
  bool asks_ = false;
  bool met_lock_ = false;
  pg::blocking_session session_;
};

std::string text_literal(std::string_view text) {
  std::string out = "E'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out.push_back(c);
    out.push_back(c);
  }
  return out + "'";
}

result<std::optional<std::string>> one_value(migration_session& session, const std::string& sql) {
  auto found = session.execute(sql);
  if (!found) return tl::make_unexpected(found.error());
  if (found->size() == 0) return std::optional<std::string>();
  const auto value = found->find(0, 0);
  return value ? std::optional(std::string(*value)) : std::nullopt;
}

// What the table has, or the one that is asked for; an error if they differ.
result<std::string> agree_on_payload(migration_session& session, const pg::schema_name& schema,
                                     std::string asked) {
  const auto existing = one_value(
      session, fmt::format("SELECT format_type(atttypid, NULL) FROM pg_attribute"
                           " WHERE attrelid = to_regclass({}) AND attname = 'payload' AND NOT attisdropped",
                           text_literal(schema.identifier() + ".event")));
  if (!existing) return tl::make_unexpected(existing.error());
  if (!*existing) return asked.empty() ? "jsonb" : asked;
  if (!asked.empty() && asked != **existing)
    return permanent(
        fmt::format("--payload {}: the payload of {}.event is {} already; migrate does not change it", asked,
                    schema.identifier(), **existing));
  return **existing;
}

result<int> version_of(migration_session& session, const pg::schema_name& schema) {
  const auto text = one_value(
      session, fmt::format("SELECT coalesce(max(version), 0) FROM {}.migration", schema.identifier()));
  if (!text) return tl::make_unexpected(text.error());
  int version = 0;
  std::from_chars((*text)->data(), (*text)->data() + (*text)->size(), version);
  return version;
}

result<void> check_is_known(int version, const pg::schema_name& schema) {
  const int newest = migrations().back().version;
  if (version <= newest) return {};
  return permanent(fmt::format("{} was migrated to version {} by a newer outboxd; this one knows version {}",
                               schema.identifier(), version, newest));
}

result<void> create_record(migration_session& session, const pg::schema_name& schema) {
  // Asked first: IF NOT EXISTS wants the privilege to create also where there is nothing to create.
  const auto exists = one_value(
      session, fmt::format("SELECT 1 FROM pg_namespace WHERE nspname = {}", text_literal(schema.name())));
  if (!exists) return tl::make_unexpected(exists.error());
  if (!*exists)
    if (const auto created = session.execute("CREATE SCHEMA " + schema.identifier()); !created)
      return tl::make_unexpected(created.error());
  const auto recorded = one_value(
      session, fmt::format("SELECT to_regclass({})", text_literal(schema.identifier() + ".migration")));
  if (!recorded) return tl::make_unexpected(recorded.error());
  if (*recorded) return {};
  const auto created = session.execute(record_table(schema));
  if (!created) return tl::make_unexpected(created.error());
  return {};
}

int number(const std::optional<std::string>& text, int otherwise) {
  int out = otherwise;
  if (text) std::from_chars(text->data(), text->data() + text->size(), out);
  return out;
}

// What an outbox has that exists already.
result<outbox_shape> shape_of(migration_session& session, const pg::schema_name& schema,
                              std::string payload_type) {
  outbox_shape out{.payload_type = std::move(payload_type)};
  const auto table =
      one_value(session, fmt::format("SELECT to_regclass({})", text_literal(schema.identifier() + ".shard")));
  if (!table) return tl::make_unexpected(table.error());
  if (!*table) return out;
  const auto shards = one_value(session, fmt::format("SELECT count(*) FROM {}.shard", schema.identifier()));
  if (!shards) return tl::make_unexpected(shards.error());
  out.shards = number(*shards, 1);
  const auto rings =
      one_value(session, fmt::format("SELECT bool_and(rings) FROM {}.shard", schema.identifier()));
  if (!rings) return tl::make_unexpected(rings.error());
  out.notifies = rings->value_or("t") == "t";
  return out;
}

// Leaders make way for a moment for who has such a lock and may have the lead; the word makes them look at
// once. The lock lasts as long as this session, and so would the pauses in delivery: the server ends a
// session whose program is gone or hangs.
result<void> ask_leaders_to_yield(migration_session& session, const pg::schema_name& schema,
                                  const migrate_wishes& wishes) {
  if (!wishes.shards && !wishes.notifies) return {};
  const auto is = shape_of(session, schema, {});
  if (!is) return tl::make_unexpected(is.error());
  const int shards = wishes.shards.value_or(is->shards);
  if (shards < is->shards || (shards == is->shards && wishes.notifies.value_or(is->notifies) == is->notifies))
    return {};
  return session.ask(schema);
}

result<migrate_result> apply(migration_session& session, const pg::schema_name& schema,
                             const migrate_wishes& wishes) {
  if (const auto created = create_record(session, schema); !created)
    return tl::make_unexpected(created.error());
  const auto payload = agree_on_payload(session, schema, wishes.payload_type);
  if (!payload) return tl::make_unexpected(payload.error());
  const auto before = version_of(session, schema);
  if (!before) return tl::make_unexpected(before.error());
  migrate_result out{.applied = 0, .version = *before, .before = {}, .now = {}};
  if (const auto known = check_is_known(*before, schema); !known) return tl::make_unexpected(known.error());
  const auto is = shape_of(session, schema, *payload);
  if (!is) return tl::make_unexpected(is.error());
  const outbox_shape wanted{*payload, wishes.shards.value_or(is->shards),
                            wishes.notifies.value_or(is->notifies)};
  if (*before > 0 && wanted.shards < is->shards)
    return permanent(fmt::format("--shards {}: {} has {} shards already; their number can only grow",
                                 wanted.shards, schema.identifier(), is->shards));
  out.before = *is;
  out.now = wanted;
  for (const migration& one : migrations()) {
    if (one.version <= *before) continue;
    const auto done = session.execute(fill_in(one, schema, wanted) + record_of(one, schema));
    if (!done)
      return tl::make_unexpected(
          error{done.error().kind, fmt::format("{}: {}", one.name, done.error().message)});
    ++out.applied;
    out.version = one.version;
  }
  if (*before == 0 || (wanted.shards == is->shards && wanted.notifies == is->notifies)) return out;
  const auto done = session.execute(reshape(schema, wanted));
  if (!done) return tl::make_unexpected(done.error());
  return out;
}

// Sessions with locks of the outbox, or of another migration: one of them is in the way.
std::string lock_holders(migration_session& session, const pg::schema_name& schema) {
  const auto found = session.execute(
      fmt::format("SELECT string_agg(DISTINCT format('pid %s (user %s, application %s)', a.pid, a.usename, "
                  "a.application_name), ', ')"
                  " FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid"
                  " WHERE l.granted AND l.pid <> pg_backend_pid() AND a.datname = current_database()"
                  " AND (l.locktype = 'relation' AND l.relation IN (SELECT c.oid FROM pg_class AS c JOIN "
                  "pg_namespace AS n"
                  "      ON n.oid = c.relnamespace WHERE n.nspname = {})"
                  "  OR l.locktype = 'advisory' AND (l.classid = {} AND l.objid < {} OR a.application_name = "
                  "'outboxd migrate'))",
                  text_literal(schema.name()), pg::lock_class(schema), pg::most_shards));
  if (!found || found->size() == 0 || found->is_null(0, 0)) return "nobody any more";
  return pg::one_line(found->at(0, 0));
}

result<migrate_result> try_once(migration_session& session, const pg::schema_name& schema,
                                const migrate_wishes& wishes) {
  if (const auto asked = ask_leaders_to_yield(session, schema, wishes); !asked)
    return tl::make_unexpected(asked.error());
  // Whatever the role's or the database's own settings are.
  const auto begun = session.execute(
      fmt::format("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL statement_timeout = 0;"
                  " SET LOCAL lock_timeout = '{}'; SET LOCAL client_min_messages = warning;"
                  " SELECT pg_advisory_xact_lock(hashtext('outboxd migrate'), hashtext({}))",
                  pg::longest_lock_wait.count(), text_literal(schema.name())));
  if (!begun) return tl::make_unexpected(begun.error());
  auto out = apply(session, schema, wishes);
  if (!out) return out;
  if (const auto committed = session.execute("COMMIT"); !committed)
    return tl::make_unexpected(committed.error());
  return out;
}

}  // namespace

result<pending_migrations> look_for_migrations(const std::string& connection_string,
                                               const pg::schema_name& schema) {
  migration_session session;
  if (const auto opened = session.open(connection_string); !opened)
    return tl::make_unexpected(opened.error());
  pending_migrations out;
  const auto recorded = one_value(
      session, fmt::format("SELECT to_regclass({})", text_literal(schema.identifier() + ".migration")));
  if (!recorded) return tl::make_unexpected(recorded.error());
  if (*recorded) {
    const auto version = version_of(session, schema);
    if (!version) return tl::make_unexpected(version.error());
    out.version = *version;
  }
  if (const auto known = check_is_known(out.version, schema); !known)
    return tl::make_unexpected(known.error());
  for (const migration& one : migrations())
    if (one.version > out.version) out.names.push_back(one.name);
  return out;
}

result<migrate_result> migrate(const std::string& connection_string, const pg::schema_name& schema,
                               const migrate_wishes& wishes,
                               const std::function<void(const std::string& progress)>& say) {
  migration_session session;
  if (const auto opened = session.open(connection_string); !opened)
    return tl::make_unexpected(opened.error());
  auto asked_at = std::chrono::steady_clock::now();
  const auto deadline = asked_at + longest_migration;
  for (;;) {
    auto done = try_once(session, schema, wishes);
    if (done || !session.met_lock() || std::chrono::steady_clock::now() >= deadline) return done;
    if (const auto back = session.execute("ROLLBACK"); !back) return tl::make_unexpected(back.error());
    say(fmt::format("others hold locks of {} that migrate needs: {}; trying again", schema.identifier(),
                    lock_holders(session, schema)));
    if (!session.asks() || std::chrono::steady_clock::now() < asked_at + asks_for) {
      std::this_thread::sleep_for(between_migration_tries);
      continue;
    }
    if (const auto silent = session.ask_no_more(); !silent) return tl::make_unexpected(silent.error());
    std::this_thread::sleep_until(asked_at + between_requests);
    asked_at = std::chrono::steady_clock::now();
  }
}

}  // namespace outboxd::app
