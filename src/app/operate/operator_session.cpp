#include "app/operate/operator_session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/command/outcome.hpp"
#include "app/config/units.hpp"
#include "app/operate/status_statements.hpp"
#include "core/utf8.hpp"
#include "pg/lock_wait.hpp"
#include "pg/sqlstate.hpp"
#include "store/rights.hpp"

namespace outboxd::app {
namespace {

// - timezone: times are read and shown in UTC, whatever the server's time zone is.
// - statement_timeout: portions are short, but selecting all events of a command may take long.
// - lock_timeout: long enough for a mark to release a row, too short to wait for a forgotten transaction.
// - row_security: when it is off, a policy that hides events causes an error instead of missing rows.
constexpr std::string_view session_settings =
    "SELECT set_config('timezone', 'UTC', false), set_config('datestyle', 'ISO, MDY', false),"
    " set_config('bytea_output', 'hex', false),"
    " set_config('default_transaction_isolation', 'read committed', false),"
    " set_config('statement_timeout', '0', false), set_config('lock_timeout', '60s', false),"
    " set_config('row_security', 'off', false), set_config('client_min_messages', 'warning', false)";

bool is_data_exception(std::string_view sqlstate) {
  return sqlstate.starts_with("22");
}

bool is_utf8(const std::string& text) {
  return valid_utf8(text) == text;
}

}  // namespace

operator_session::operator_session(const settings& from, std::string command)
    : from_(&from),
      command_(std::move(command)),
      schema_(from.relay.leader.database.schema),
      clock_tolerance_(from.relay.leader.database.clock_tolerance) {}

outcome<operator_session> operator_session::open(const settings& from, const std::string& command) {
  const auto url = from.relay.leader.database.url.read_blocking();
  if (!url)
    return url.error().kind == fault::permanent ? usage_failure(url.error().message)
                                                : run_failure(url.error().message);
  operator_session out(from, command);
  if (const auto opened = out.session_.open(*url, command.c_str()); !opened)
    return run_failure(opened.error().message);
  if (const auto set = out.session_.execute(std::string(session_settings)); !set)
    return tl::make_unexpected(out.refusal_of(set.error()));
  return out;
}

outcome<pg::rows> operator_session::execute(std::string_view sql,
                                            const std::vector<std::string>& parameters) {
  const auto text = fmt::format(fmt::runtime(sql), schema_.identifier());
  auto answer = parameters.empty() ? session_.execute(text) : session_.execute(text, parameters);
  if (!answer) return tl::make_unexpected(refusal_of(answer.error(), parameters));
  return std::move(*answer);
}

// - enable_*: every statement has only one good plan, which uses the indexes.
// - The timeouts: a query must not make the state of a troubled outbox worse.
outcome<void> operator_session::look_only() {
  const auto looking = fmt::format(
      "SELECT set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),"
      " set_config('jit', 'off', false), set_config('max_parallel_workers_per_gather', '0', false),"
      " set_config('statement_timeout', '10s', false), set_config('lock_timeout', '{}', false),"
      " set_config('default_transaction_read_only', 'on', false)",
      pg::longest_lock_wait.count());
  if (const auto set = session_.execute(looking); !set) return tl::make_unexpected(refusal_of(set.error()));
  return {};
}

outcome<std::vector<std::string>> operator_session::ask_all(std::string_view statement,
                                                            const std::vector<std::string>& parameters) {
  constexpr std::string_view lock_timeout = "55P03";
  constexpr std::string_view cancelled = "57014";
  const auto sql = status_statement(statement, schema_, clock_tolerance_);
  const auto answer = parameters.empty() ? session_.execute(sql) : session_.execute(sql, parameters);
  if (!answer && answer.error().sqlstate == lock_timeout)
    return run_failure(fmt::format("{} cannot be read: somebody holds a lock on the table", statement));
  if (!answer && answer.error().sqlstate == cancelled)
    return run_failure(fmt::format("{} cannot be read within 10 s", statement));
  if (!answer) return tl::make_unexpected(refusal_of(answer.error(), parameters));
  std::vector<std::string> out;
  for (int row = 0; row < answer->size(); ++row) out.emplace_back(answer->at(row, 0));
  return out;
}

outcome<std::optional<std::string>> operator_session::ask(std::string_view statement,
                                                          const std::vector<std::string>& parameters) {
  OUTBOXD_TRY(auto all, ask_all(statement, parameters));
  if (all.empty()) return std::optional<std::string>();
  return std::optional(std::move(all.front()));
}

outcome<std::string> operator_session::begin_audit(std::string_view what, const std::string& selection,
                                                   const std::optional<std::string>& reason) {
  OUTBOXD_TRY(auto opened, execute("SELECT {0}.audit_begin($1, $2, nullif($3, ''))",
                                   {std::string(what), selection, reason.value_or("")}));
  return std::string(opened.at(0, 0));
}

outcome<std::string> operator_session::resolve_time(std::string_view flag, const std::string& text,
                                                    counted durations) {
  const auto duration = parse_duration(text);
  const auto sign = durations == counted::back ? -1 : 1;
  const auto found =
      duration ? session_.execute("SELECT clock_timestamp() + $1::float8 * interval '1 millisecond'",
                                  {std::to_string(sign * duration->count())})
               : session_.execute("SELECT $1::timestamptz", {text});
  if (found) return std::string(found->at(0, 0));
  if (!is_data_exception(found.error().sqlstate)) return tl::make_unexpected(refusal_of(found.error()));
  return usage_failure(fmt::format(
      "{} '{}' is not a time; give one such as '2026-01-31 14:00' (UTC, or with a zone: '… 14:00+02'), "
      "or how long{}, such as 2h (ms, s, m, h or d)",
      flag, text, durations == counted::back ? " ago" : ""));
}

outcome<selectors> operator_session::resolve(selectors given) {
  for (const auto& [flag, time] : {std::pair{"--since", &given.since}, std::pair{"--until", &given.until}}) {
    if (!*time) continue;
    OUTBOXD_TRY(auto resolved, resolve_time(flag, **time));
    *time = std::move(resolved);
  }
  return given;
}

// PostgreSQL refuses every query in a failed transaction, so the query runs again after a ROLLBACK.
std::string operator_session::lacks(const std::string& words) {
  const auto question = store::denial_query(schema_, store::operator_role, words);
  auto told = session_.execute(question);
  if (!told && session_.execute("ROLLBACK")) told = session_.execute(question);
  if (!told || told->size() == 0 || told->is_null(0, 0)) return {};
  return fmt::format("; {}", told->at(0, 0));
}

command_failure operator_session::refusal_of(const pg::refusal& why,
                                             const std::vector<std::string>& parameters) {
  constexpr std::string_view privilege = "42501";
  constexpr std::string_view lock_timeout = "55P03";
  constexpr std::string_view no_cursor = "34000";
  constexpr std::string_view cursor_of_another = "42P03";  // left by a pooled session's former user
  constexpr std::string_view bad_encoding = "22021";
  if (why.sqlstate.empty())
    return {.status = exit_failure,
            .message = fmt::format("the connection to PostgreSQL was lost: {}; what was reported as done is "
                                   "done, run the command again for the rest",
                                   why.words),
            .lost = true};
  if (why.sqlstate == privilege)
    return {exit_failure, fmt::format("PostgreSQL refused a statement: {} (SQLSTATE {}){}{}", why.words,
                                      why.sqlstate, why.site, lacks(why.words))};
  if (why.sqlstate == lock_timeout)
    return {exit_failure,
            "a relay, or somebody else, has held these events locked for 60 s; see whether a relay "
            "hangs, and run the command again"};
  if (why.sqlstate == bad_encoding && !std::all_of(parameters.begin(), parameters.end(), is_utf8))
    return {exit_usage, "a selector or the reason is not valid UTF-8"};
  if (why.sqlstate == bad_encoding)
    return {exit_failure, "an event has bytes that are not text in UTF-8 (SQLSTATE 22021)", true};
  if (why.sqlstate == no_cursor || why.sqlstate == cursor_of_another)
    return {exit_failure,
            "PostgreSQL does not keep the selection of this command apart, as behind a pooler that changes "
            "the session "
            "between transactions; connect to PostgreSQL directly, or to a pool in session mode"};
  return {exit_failure, pg::refused_statement(why.sqlstate, why.words, why.whose, why.site).message,
          pg::read_failure(why.sqlstate) == pg::statement_failure::of_a_row};
}

}  // namespace outboxd::app
