#include "app/schema/mending_session.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "core/text.hpp"
#include "pg/connection_string.hpp"

namespace outboxd::app {
namespace {

constexpr std::string_view rolled_back = "the migration failed and was rolled back";
constexpr std::string_view no_right = "42501";

std::string sqlstate_of(const pg::refusal& why) {
  return why.sqlstate.empty() ? "" : fmt::format(" (SQLSTATE {})", why.sqlstate);
}

error migration_refusal(const pg::refusal& why) {
  if (why.sqlstate == no_right)
    return {fault::permanent,
            fmt::format(
                "{}: {}{}; run it as the user who owns the outbox, or let an administrator run the output of"
                " `outboxd migrate --print`",
                rolled_back, why.words, sqlstate_of(why))};
  if (pg::is_lock_timeout(why.sqlstate))
    return {fault::transient, fmt::format("{}: others hold locks that it needs; try again", rolled_back)};
  return {fault::permanent, fmt::format("{}: {}{}", rolled_back, why.words, sqlstate_of(why))};
}

// A long statement, such as a whole function, is replaced by the command that runs it.
std::string advice(const std::string& statement) {
  constexpr std::size_t longest = 500;
  auto line = pg::one_line(statement);
  return line.size() <= longest ? line : "outboxd migrate";
}

}  // namespace

result<void> mending_session::open(const std::string& connection_string) {
  if (auto opened = session_.open(connection_string, "outboxd migrate"); !opened) return opened;
  constexpr auto found_sql =
      "SELECT current_setting('server_version_num'), quote_ident(current_user), "
      "quote_ident(current_database())";
  OUTBOXD_TRY(const auto found, execute(found_sql));
  user_ = found.at(0, 1);
  database_ = found.at(0, 2);
  const int version = std::atoi(std::string(found.at(0, 0)).c_str());
  if (version >= store::oldest_server) return {};
  return permanent(fmt::format("the server is PostgreSQL {}; outboxd needs 14 or newer", version / 10'000));
}

result<pg::rows> mending_session::execute(const std::string& sql) {
  auto answer = session_.execute(sql);
  met_others_ = !answer && pg::is_lock_timeout(answer.error().sqlstate);
  if (answer) return std::move(*answer);
  latest_ = answer.error();
  return tl::make_unexpected(migration_refusal(latest_));
}

result<void> mending_session::ask(const pg::schema_name& schema) {
  asks_ = true;
  const auto asked =
      execute(fmt::format("SET idle_session_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s';"
                          " SELECT pg_try_advisory_lock_shared({}, {})",
                          store::lock_class(schema), request_key_));
  if (!asked) return tl::make_unexpected(asked.error());
  // NOTIFY may fail when the notification queue is full. Leaders also check periodically without it.
  (void)execute(fmt::format("SELECT pg_notify({}, 'yield')", schema.literal()));
  return {};
}

result<void> mending_session::ask_no_more() {
  asks_ = false;
  const auto done = execute("SELECT pg_advisory_unlock_all(); SET idle_session_timeout = 0");
  if (!done) return tl::make_unexpected(done.error());
  return {};
}

// Queries before creating, because IF NOT EXISTS requires the privilege to create even if nothing is created.
result<void> mending_session::make_record(const pg::schema_name& schema) {
  const auto exists = execute(
      fmt::format("SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = {}), to_regclass({}) IS NOT NULL",
                  text_literal(schema.name()), text_literal(schema.identifier() + ".migration")));
  const auto refused = [&](const std::string& administrator) -> result<void> {
    if (latest_.sqlstate != no_right) return tl::make_unexpected(migration_refusal(latest_));
    return permanent(fmt::format("{}: {}{}; let an administrator run: {}", rolled_back, latest_.words,
                                 sqlstate_of(latest_), administrator));
  };
  // With the grant option, because the roles get USAGE from this user.
  const auto right =
      fmt::format("GRANT USAGE, CREATE ON SCHEMA {} TO {} WITH GRANT OPTION;", schema.identifier(), user_);
  if (!exists) return refused(right);
  if (exists->at(0, 0) == "f")
    if (const auto created = execute("CREATE SCHEMA " + schema.identifier()); !created)
      return refused(fmt::format("GRANT CREATE ON DATABASE {} TO {};", database_, user_));
  if (exists->at(0, 1) == "f")
    if (const auto created = execute(fill_in(record_table, schema, {})); !created) return refused(right);
  return {};
}

result<std::vector<difference>> mending_session::mend(std::string_view part, const pg::schema_name& schema,
                                                      const outbox_shape& shape) {
  auto found = find_differences(looks(), part, schema, shape);
  if (!found) return found;
  // Queried before the statement, because PostgreSQL rejects every query in a failed transaction.
  const auto owner =
      execute(fmt::format("SELECT quote_ident(pg_get_userbyid(c.relowner)) FROM pg_class AS c WHERE"
                          " c.oid = to_regclass({})",
                          text_literal(schema.identifier() + ".event")));
  if (!owner) return tl::make_unexpected(owner.error());
  const auto owned_by = owner->size() > 0 ? std::string(owner->at(0, 0)) : "";
  for (std::size_t i = 0; i < found->size(); ++i) {
    if ((*found)[i].remedy.empty()) continue;
    const auto done = execute((*found)[i].remedy);
    if (done) continue;
    // The migration of another database in this cluster may create the same role at the same time.
    met_others_ =
        met_others_ || (part == "roles" && (latest_.sqlstate == "42710" || latest_.sqlstate == "23505"));
    return tl::make_unexpected(met_others_ ? done.error() : obstacle(*found, i, owned_by));
  }
  if (found->empty()) return found;
  // If the user may not grant or revoke, PostgreSQL only issues a warning.
  const auto left = find_differences(looks(), part, schema, shape);
  if (!left) return left;
  latest_ = {std::string(no_right), fmt::format("{} may not grant it", user_)};
  for (std::size_t i = 0; i < left->size(); ++i)
    if (!(*left)[i].remedy.empty()) return tl::make_unexpected(obstacle(*left, i, owned_by));
  return found;
}

error mending_session::obstacle(const std::vector<difference>& all, std::size_t which,
                                const std::string& owner) const {
  const auto& first = all[which];
  auto words = fmt::format("{}: {}, and PostgreSQL refuses the remedy: {}{}", rolled_back, first.what,
                           latest_.words, sqlstate_of(latest_));
  if (latest_.sqlstate != no_right) {
    words += "; " + advice(first.remedy);
  } else if (owner.empty() || owner == user_ || first.remedy.starts_with("CREATE ROLE")) {
    words += "; let an administrator run:";
    for (auto i = which; i < all.size(); ++i) words += " " + advice(all[i].remedy);
  } else {
    words += fmt::format("; the outbox belongs to {}: let it run: {}", owner, advice(first.remedy));
  }
  return {fault::permanent, words};
}

}  // namespace outboxd::app
