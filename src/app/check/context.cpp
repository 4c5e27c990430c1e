#include "app/check/context.hpp"

#include <algorithm>
#include <array>

#include "app/schema/differences.hpp"
#include "relay/database_session.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::app::check {

std::string sql_name(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  const bool starts_well = !name.empty() && (name.front() < '0' || name.front() > '9');
  if (starts_well && std::all_of(name.begin(), name.end(), plain)) return std::string(name);
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string context::statement(const std::string& name) const {
  const auto text = [](std::string_view of) {
    const auto all = statements();
    return std::ranges::find(all, of, &sql_file::name)->sql;
  };
  const auto& schema = database().schema;
  const bool removes = database().after_publish == store::after_publish::remove;
  const bool compares = text(name).find("@declared@") != std::string_view::npos;
  const std::array<placeholder, 8> more{
      {{"@declared@", compares ? declared_objects(schema, known.shape, true) : ""},
       {"@tables@", fill_in(text("tables"), schema, known.shape)},
       {"@lock_holders@", fill_in(store::relay_text("lock_holders"), schema, known.shape)},
       {"@row_holders@", fill_in(store::state_text("row_holders"), schema, known.shape)},
       {"@oldest_server@", std::to_string(store::oldest_server)},
       {"@user@", text_literal(known.user)},
       {"@removes@", removes ? "true" : "false"},
       {"@samples@", configured().relay.samples_table ? "1" : "0"}}};
  return fill_in(text(name), schema, known.shape, more);
}

result<void> context::open() {
  OUTBOXD_TRY(const auto url, database().url.read_blocking());
  if (const auto opened = wait_for(io_, raw_.open(url, database().connect_timeout)); !opened) return opened;
  const auto given =
      ask("SELECT s.name, pg_catalog.current_setting(s.name), s.setting, s.source, s.boot_val"
          " FROM pg_catalog.pg_settings AS s WHERE s.setting OPERATOR(pg_catalog.<>) s.boot_val");
  if (!given) return tl::make_unexpected(given.error());
  for (int i = 0; i < given->size(); ++i)
    known.settings.push_back({std::string(given->at(i, 0)), std::string(given->at(i, 1)),
                              std::string(given->at(i, 2)), std::string(given->at(i, 3)),
                              std::string(given->at(i, 4))});
  raw_.explain_denials(
      [this](std::string_view words) { return store::denial_query(database().schema, known.role, words); });
  const auto facts =
      ask("SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false), current_user,"
          " pg_catalog.current_database(), pg_catalog.set_config('row_security', 'off', false)");
  if (!facts) return tl::make_unexpected(facts.error());
  known.user = facts->at(0, 1);
  known.database = facts->at(0, 2);
  return {};
}

result<void> context::open_as_relay() {
  OUTBOXD_TRY(const auto opened,
              wait_for(io_, relay::open_session(own_, database(), relay::session_use::stream)));
  known.opened_as_relay = true;
  pg::pipeline steps;
  for (auto& one :
       store::relay_statements(database().schema, opened.payload, database().after_publish, opened.may))
    steps.prepare(std::move(one.name), std::move(one.sql));
  OUTBOXD_TRY_VOID(wait_for(io_, own_.execute(std::move(steps), database().connect_timeout)));
  return {};
}

result<pg::rows> context::look(const std::string& name, std::vector<std::string> parameters) {
  pg::pipeline steps;
  steps.run_unnamed(statement(name), std::move(parameters));
  OUTBOXD_TRY(auto answers, wait_for(io_, raw_.execute(std::move(steps), database().connect_timeout)));
  return std::move(answers.front());
}

result<pg::rows> context::ask(pg::connection& on, std::string sql) {
  pg::pipeline steps;
  steps.text(std::move(sql));
  OUTBOXD_TRY(auto answers, wait_for(io_, on.execute(std::move(steps), database().connect_timeout)));
  return std::move(answers.front());
}

}  // namespace outboxd::app::check
