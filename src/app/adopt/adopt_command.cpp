// adopt: copies rows inserted into the user's own outbox table into the outbox.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/adopt/adopt_options.hpp"
#include "app/adopt/adopting.hpp"
#include "app/adopt/adoption_sql.hpp"
#include "app/adopt/column_fit.hpp"
#include "app/adopt/mapping.hpp"
#include "app/adopt/misfits.hpp"
#include "app/adopt/quoting.hpp"
#include "app/adopt/source_table.hpp"
#include "app/command/outcome.hpp"
#include "app/operate/operator_session.hpp"
#include "app/schema/migrations.hpp"
#include "pg/lock_wait.hpp"

namespace outboxd::app {
namespace {

result<void> check_options(const adopt_options& options) {
  if (options.table.empty())
    return permanent("adopt needs --table: which one, for example --table public.outboxevent");
  const bool shapes = options.preset || !options.maps.empty() || !options.headers.empty() || options.where ||
                      options.misfits.null_payload || options.misfits.unfit || options.keep ||
                      options.backlog || !options.order_by.empty();
  if (options.remove && shapes) return permanent("--remove goes with --table and --print alone");
  if (!options.backlog && !options.order_by.empty())
    return permanent("--order-by is the order of a --backlog; give both");
  if (options.preset && options.preset->empty())
    return permanent("--preset is empty; give debezium or spring-modulith, or leave it away");
  if (options.where && options.where->find_first_not_of(" \t\n") == std::string::npos)
    return permanent("--where is empty; give a condition, for example --where \"NEW.type <> 'internal'\"");
  return {};
}

outcome<pg::rows> ask_database(pg::blocking_session& session, const std::string& sql,
                               const std::vector<std::string>& parameters) {
  auto answer = session.execute(sql, parameters);
  if (!answer) return tl::make_unexpected(refusal_of(answer.error()));
  return std::move(*answer);
}

outcome<payload_type> read_payload_type(pg::blocking_session& session, const pg::schema_name& outbox) {
  constexpr auto found_sql =
      "SELECT format_type(a.atttypid, NULL) FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid"
      " JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'event'"
      " AND a.attname = 'payload' AND NOT a.attisdropped";
  OUTBOXD_TRY(const auto found, ask_database(session, found_sql, {outbox.name()}));
  const auto type = found.size() == 0 ? std::nullopt : parse_payload_type(found.at(0, 0));
  if (!type)
    return run_failure(
        fmt::format("there is no outbox in schema {}; run `outboxd migrate` first", outbox.identifier()));
  return *type;
}

outcome<void> check_removal(const source_table& from) {
  const auto refuse = [&](std::string_view why) {
    return run_failure(fmt::format("{} {}, so its rows cannot be removed after they are copied; give --keep",
                                   from.shown(), why));
  };
  if (from.primary_key.empty()) return refuse("has no primary key");
  if (from.forces_security) return refuse("forces row security on its owner");
  if (from.is_referenced) return refuse("is referenced by foreign keys");
  return {};
}

outcome<void> check_where(pg::blocking_session& session, const adoption& what) {
  if (what.where.empty()) return {};
  // A trigger's condition has both OLD and NEW, and an unqualified column belongs to neither.
  const auto tried =
      session.execute(fmt::format("SELECT FROM {0} AS new, {0} AS outboxd_old WHERE (\n{1}\n) LIMIT 0",
                                  what.from.identifier(), what.where),
                      {});
  if (tried) return {};
  return usage_failure(
      fmt::format("--where is no condition over a row of {}: {}; name columns as NEW.column, and "
                  "functions with their schemas",
                  what.from.shown(), tried.error().words));
}

// --print does not need the right to read the table, so the rows may be unknown.
outcome<void> ask_rows(pg::blocking_session& session, const source_table& from, const column_mapping& mapping,
                       bool prints) {
  constexpr std::string_view insufficient_privilege = "42501";
  const auto query = nameless_row_query(from, mapping);
  if (query.empty()) return {};
  OUTBOXD_TRY_VOID(ask_database(session, "SAVEPOINT asked", {}));
  const auto found = session.execute(query, {});
  if (!found && !(prints && found.error().sqlstate == insufficient_privilege))
    return tl::make_unexpected(refusal_of(found.error()));
  OUTBOXD_TRY_VOID(ask_database(session, "ROLLBACK TO SAVEPOINT asked", {}));
  if (found && found->size() > 0) return usage_failure(nameless_row_refusal(from));
  return {};
}

// The columns that order the existing rows: those given, or else an auto-incremented column.
outcome<std::vector<std::string>> order_of(const source_table& from, const std::vector<std::string>& given) {
  constexpr char number = 'N';
  for (const auto& one : given) {
    if (one == "ctid" && !from.partitioned) continue;
    if (from.find(one) == nullptr)
      return run_failure(fmt::format("--order-by {}: {} has no such column", one, from.shown()));
  }
  if (!given.empty()) return given;
  for (const auto& one : from.columns)
    if (one.counts) return std::vector{one.name};
  if (from.primary_key.size() == 1 && from.find(from.primary_key.front())->category == number)
    return from.primary_key;
  return usage_failure(fmt::format(
      "no column of {} is counted up, so nothing tells the order of its rows; give --order-by COLUMN{}",
      from.shown(),
      from.partitioned ? "" : ", or --order-by ctid for the order in which they lie in the table"));
}

outcome<void> check_owner(pg::blocking_session& session, const source_table& from) {
  const auto found =
      ask_database(session, "SELECT pg_has_role(current_user, $1, 'MEMBER'), current_user", {from.owner});
  if (!found) return tl::make_unexpected(found.error());
  if (found->at(0, 0) == "t") return {};
  return run_failure(fmt::format("{} belongs to {}, and {} is no member of that role; run adopt as the owner",
                                 from.shown(), from.owner, found->at(0, 1)));
}

// The triggers run with the owner's rights, so the owner must be able to write into the outbox.
outcome<void> check_rights(pg::blocking_session& session, const adoption& what) {
  constexpr auto found_sql =
      "SELECT has_schema_privilege($1, $2, 'CREATE'), has_schema_privilege($1, n.oid, 'USAGE')"
      " AND has_column_privilege($1, c.oid, 'aggregate_id', 'INSERT') AND EXISTS (SELECT FROM pg_proc AS p"
      " WHERE p.pronamespace = n.oid AND p.proname = 'can_become' AND has_function_privilege($1, p.oid, "
      "'EXECUTE'))"
      " FROM pg_class AS c"
      " JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $3 AND c.relname = 'event'";
  OUTBOXD_TRY(const auto found,
              ask_database(session, found_sql, {what.from.owner, what.from.schema, what.outbox.name()}));
  if (found.at(0, 0) != "t")
    return run_failure(fmt::format(
        "{0}, who owns {1}, may not create functions in its schema; "
        "GRANT CREATE ON SCHEMA {2} TO {3}",
        what.from.owner, what.from.shown(), quoted_name(what.from.schema), quoted_name(what.from.owner)));
  if (found.at(0, 1) != "t")
    return run_failure(fmt::format("{}, who owns {}, may not insert into {}.event; GRANT outbox_writer TO {}",
                                   what.from.owner, what.from.shown(), what.outbox.identifier(),
                                   quoted_name(what.from.owner)));
  return {};
}

// True if the existing rows are to be copied; this is done only once.
outcome<bool> takes_backlog(const source_table& from, bool asked) {
  if (!asked || !from.adoption || !from.adoption->kept) return asked;
  if (from.adoption->backlog_taken.empty())
    return run_failure(
        fmt::format("{} is adopted already, with --keep: it is not known which of its rows have been copied, "
                    "so no backlog is copied",
                    from.shown()));
  say_error(fmt::format("the backlog of {} was taken at {}; none is taken again", from.shown(),
                        from.adoption->backlog_taken));
  return false;
}

// The table in Debezium's documentation has no primary key, and Debezium does not delete rows.
bool keeps_by_preset(const source_table& from, const adopt_options& options) {
  return options.preset == "debezium" && from.primary_key.empty();
}

// Prints the choices that the user did not make, so that they can be overridden.
void say_choices(const adopt_options& options, const misfit_decisions& decided, bool keeps) {
  auto all = decided.by_preset;
  if (keeps && !options.keep) all.emplace_back("--keep (rows stay in the table)");
  if (all.empty()) return;
  say_error(fmt::format("the preset {} chooses {}", options.preset.value_or(""), fmt::join(all, ", ")));
}

void print_script(const source_table& from, const std::string& statements) {
  fmt::print(
      "BEGIN;\nSET LOCAL search_path = pg_catalog, pg_temp;\nSET LOCAL lock_timeout = '{}ms';\nSET LOCAL "
      "ROLE {};\n{}{}COMMIT;\n",
      pg::longest_lock_wait.count(), quoted_name(from.owner), lock_statement(from), statements);
}

std::string script_of(const adoption& what, bool backlog) {
  auto out = removal_statements(what.from);
  const auto passes = backlog ? backlog_of(what) : backlog_statements{};
  const auto when = what.from.adoption ? what.from.adoption->backlog_taken : "";
  out += adoption_statements(what, backlog ? "printed" : when);
  for (const auto& one : passes.before_lock) out += one + ";\n";
  // The lock is held for the whole copy, so one pass is enough.
  if (passes.before_lock.empty())
    for (const auto& one : passes.under_lock) out += one + ";\n";
  return out;
}

outcome<int> remove(adopting& at, const source_table& from, const adopt_options& options) {
  if (!from.adoption) {
    fmt::print("{}{} is not adopted; nothing to remove\n", options.print ? "-- " : "", from.shown());
    return exit_success;
  }
  if (options.print) {
    print_script(from, removal_statements(from));
    return exit_success;
  }
  OUTBOXD_TRY_VOID(at.become(from.owner));
  OUTBOXD_TRY_VOID(at.remove(from));
  OUTBOXD_TRY_VOID(at.commit());
  fmt::print(
      "removed triggers and functions from {}; its rows are no longer copied{}\n", from.shown(),
      from.adoption->kept ? ". Its rows have been copied: a later --backlog would take them again" : "");
  return exit_success;
}

outcome<int> make(pg::blocking_session& session, adopting& at, adoption what, const adopt_options& options) {
  if (!what.keeps) OUTBOXD_TRY_VOID(check_removal(what.from));
  OUTBOXD_TRY_VOID(check_where(session, what));
  OUTBOXD_TRY(const auto backlog, takes_backlog(what.from, options.backlog));
  if (backlog) {
    OUTBOXD_TRY(auto order, order_of(what.from, options.order_by));
    what.order_by = std::move(order);
  }
  if (options.print) {
    print_script(what.from, script_of(what, backlog));
    return exit_success;
  }
  OUTBOXD_TRY_VOID(check_rights(session, what));
  OUTBOXD_TRY_VOID(at.become(what.from.owner));
  OUTBOXD_TRY(const auto taken, at.make(what, backlog));
  OUTBOXD_TRY_VOID(at.commit());
  fmt::print("{} is adopted{}: inserted rows are copied into {}.event{}\n", what.from.shown(),
             what.from.adoption ? " anew" : "", what.outbox.identifier(),
             what.keeps ? "; its rows stay" : ", and removed from the table when their transactions end");
  if (!what.fits.empty())
    fmt::print("rows that cannot become events are not copied, and stay in the table\n");
  if (backlog)
    fmt::print("copied {} existing rows, in the order of {}\n", taken, fmt::join(what.order_by, ", "));
  return exit_success;
}

outcome<int> run_adopt(const settings& from, const adopt_options& options) {
  if (const auto good = check_options(options); !good) return usage_failure(good.error().message);
  column_mapping mapping;
  if (!options.remove) {
    auto read = read_mapping(options.preset.value_or(""), options.maps, options.headers);
    if (!read) return usage_failure(read.error().message);
    mapping = std::move(*read);
  }
  const auto url = from.relay.leader.database.url.read_blocking();
  if (!url)
    return url.error().kind == fault::permanent ? usage_failure(url.error().message)
                                                : run_failure(url.error().message);
  pg::blocking_session session;
  if (const auto opened = session.open(*url, "outboxd adopt"); !opened)
    return run_failure(opened.error().message);
  const auto& outbox = from.relay.leader.database.schema;
  adopting at(session, [](const std::string& words) { say_error(words); });
  OUTBOXD_TRY_VOID(at.begin());
  auto table = read_source_table(session, options.table, outbox);
  if (!table) return run_failure(table.error().message);
  if (table->adoption && !table->adoption->through.empty())
    return run_failure(fmt::format("{} is a partition of {}, which is adopted; adopt that one again instead",
                                   table->shown(), table->adoption->through));
  if (!options.print) OUTBOXD_TRY_VOID(check_owner(session, *table));
  if (options.remove) return remove(at, *table, options);
  OUTBOXD_TRY(const auto payload, read_payload_type(session, outbox));
  auto event = fit_columns(*table, mapping, payload);
  if (!event) return run_failure(event.error().message);
  const auto decided = decide_misfits(*table, mapping, payload, options.misfits);
  if (!decided) return usage_failure(decided.error().message);
  const bool keeps = options.keep || mapping.keeps || keeps_by_preset(*table, options);
  say_choices(options, *decided, keeps);
  if (decided->asks_rows) OUTBOXD_TRY_VOID(ask_rows(session, *table, mapping, options.print));
  replace_null_payload(*event, payload, decided->payload);
  auto fits = fit_conditions(*table, mapping, payload, outbox, *decided);
  // Only if the user has asked for it, because the second of two rows with the same id is skipped silently.
  const bool passes_twins =
      options.misfits.unfit && decided->others == unfit_row::skip && mapping.fields.contains(event_field::id);
  return make(session, at,
              {.from = std::move(*table),
               .outbox = outbox,
               .event = std::move(*event),
               .fits = std::move(fits),
               .passes_twins = passes_twins,
               .where = options.where.value_or(""),
               .keeps = keeps,
               .order_by = {}},
              options);
}

}  // namespace

int adopt_command(const settings& from, const adopt_options& options) {
  return report(run_adopt(from, options));
}

}  // namespace outboxd::app
