#include "console/api.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "app/check/checks.hpp"
#include "app/command/outcome.hpp"
#include "app/config/effective_settings.hpp"
#include "app/operate/event_payload.hpp"
#include "app/operate/selection.hpp"
#include "app/operate/status.hpp"
#include "app/operate/trace.hpp"
#include "console/page.hpp"
#include "console/query.hpp"

namespace outboxd::console {
namespace asio = boost::asio;
using nlohmann::json;

namespace {

constexpr std::string_view api_prefix = "/api/";

// A server's message may be in any encoding: invalid UTF-8 is replaced instead of throwing.
http::response told(const json& body) {
  return {200, "application/json", body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n", {}};
}

http::response told(const desk::answer& found) {
  if (found) return told(*found);
  return refused(found.error().status == app::exit_usage ? 400 : 503, "database", found.error().message);
}

// Queries that own a string are created here instead of where they are awaited, because gcc 12 destroys a
// closure created in a coroutine twice.
desk::question actions_before(const std::string& id) {
  return [id](app::operator_session& session) -> desk::answer {
    OUTBOXD_TRY(const auto found, session.ask("audit", {id}));
    return json::parse(found.value_or("{}"));
  };
}

desk::question event_of(const std::string& id) {
  return [id](app::operator_session& session) -> desk::answer {
    OUTBOXD_TRY(auto found, app::trace_event(session, id));
    for (auto& one : found) {
      const auto names = session.ask("header_names", {one.at("id").get<std::string>(), one.at("seq").dump()});
      one["header_names"] = names && *names ? json::parse(**names) : json();
    }
    if (!found.empty()) return json{{"events", std::move(found)}};
    OUTBOXD_TRY(auto missing, app::trace_missing(session, id));
    return json{{"events", json::array()}, {"missing", std::move(missing)}};
  };
}

desk::question payload_of(const std::string& id, const std::string& seq) {
  return [id, seq](app::operator_session& session) { return app::look_at_payload(session, id, seq); };
}

// $1 to $8 of sql/status/search.sql; the two times are passed as the user entered them.
desk::question events_with(const std::vector<std::string>& parameters) {
  return [parameters](app::operator_session& session) -> desk::answer {
    auto resolved = parameters;
    for (const auto& [at, name] : {std::pair{4, "since"}, std::pair{5, "until"}}) {
      auto& text = resolved[static_cast<std::size_t>(at)];
      if (text.empty()) continue;
      OUTBOXD_TRY(auto time, session.resolve_time(name, text));
      text = std::move(time);
    }
    OUTBOXD_TRY(const auto found, session.ask("search", resolved));
    return json::parse(found.value_or("{}"));
  };
}

// The warnings that `outboxd check` would report, as far as an operator can see them in the database.
std::function<desk::answer()> checks_of(const app::settings& from) {
  return [&from]() -> desk::answer {
    constexpr std::chrono::seconds longest{5};
    app::check::context database(from);
    const auto found = app::check::check_table(database, longest);
    if (!found) return app::run_failure(found.error().message);
    auto out = json::array();
    for (const auto& one : *found)
      out.push_back({{"name", one.name},
                     {"verdict", one.how == app::check::verdict::failure ? "failure" : "warning"},
                     {"words", one.words},
                     {"remedy", one.remedy}});
    return json{{"findings", std::move(out)}};
  };
}

// Validates a text that is used as an id or a seq in SQL.
bool is_number(const std::string& text) {
  constexpr std::size_t longest = 18;
  return text.size() <= longest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_id(const std::string& text) {
  app::selectors which;
  which.ids = {text};
  return app::check_selectors(which).has_value();
}

double number_of(const std::string& text) {
  double out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  return failed == std::errc() && end == text.data() + text.size() ? out : 0;
}

}  // namespace

http::later_handler api::handler() {
  return [this](const http::request& asked) -> answered {
    auto out = co_await answer(asked);
    add_guards(out);
    co_return out;
  };
}

api::answered api::answer(const http::request& asked) {
  const auto path = without_prefix(path_of(asked.target), from_.console.public_url);
  const auto now = gate::clock::now();
  if (!path.starts_with(api_prefix)) {
    if (asked.method == "POST") co_return refused(405, "method", "GET it");
    co_return page_at(path, from_.console.public_url);
  }
  if (path == "/api/login") co_return gate_.login(asked, now);
  if (path == "/api/logout") co_return gate_.logout(asked);
  if (path == "/api/session") co_return gate_.session(asked, now, {{"outbox", from_.outbox}});
  const auto decided = gate_.look(asked, now);
  if (const auto* why = std::get_if<http::response>(&decided)) co_return *why;
  if (asked.method == "POST") co_return co_await actions_.post(path, asked, std::get<principal>(decided));
  co_return co_await data(path, asked, std::get<principal>(decided));
}

api::answered api::data(std::string_view path, const http::request& asked, const principal& by) {
  if (path == "/api/now") co_return co_await now(asked);
  if (path == "/api/stuck") co_return co_await stuck();
  if (path == "/api/checks") co_return co_await checks();
  if (path == "/api/audit") co_return co_await audit(asked);
  if (path == "/api/event") co_return co_await event(asked);
  if (path == "/api/payload") co_return co_await payload(asked, by);
  if (path == "/api/events") co_return co_await search(asked);
  if (path == "/api/settings") co_return settings();
  if (path == "/api/action") co_return actions_.progress(parameter(asked.target, "token"));
  co_return refused(404, "no_data", "there is no such data");
}

api::answered api::now(const http::request& asked) {
  co_return told(co_await outlook_.now(number_of(parameter(asked.target, "after"))));
}

api::answered api::stuck() {
  const desk::question what = [this](app::operator_session& session) -> desk::answer {
    constexpr std::array<std::string_view, 5> parts{"stuck", "pauses", "lock_holders", "row_holders",
                                                    "snapshot"};
    auto found = app::look_at_outbox(session, from_.relay.leader.database, parts);
    if (found.at("errors").size() == parts.size())
      return app::run_failure(found.at("errors").front().get<std::string>());
    return found;
  };
  const shared_answer::asking ask = [this, &what] { return desk_.look(what); };
  co_return told(co_await stuck_.get(ask));
}

api::answered api::checks() {
  const auto what = checks_of(from_);
  const shared_answer::asking ask = [this, &what] { return desk_.work(what); };
  co_return told(co_await checks_.get(ask));
}

api::answered api::audit(const http::request& asked) {
  const auto before = parameter(asked.target, "before");
  if (!is_number(before)) co_return refused(400, "wrong_parameter", "before is the id of an action");
  const auto what = actions_before(before);
  auto found = co_await desk_.look(what);
  if (found) (*found)["running"] = actions_.running();
  co_return told(found);
}

api::answered api::event(const http::request& asked) {
  const auto id = parameter(asked.target, "id");
  if (!is_id(id)) co_return refused(400, "wrong_id", "an id looks like 6f1c1f1e-2f0c-4b1e-9d55-0a1b2c3d4e5f");
  const auto what = event_of(id);
  co_return told(co_await desk_.look(what));
}

api::answered api::payload(const http::request& asked, const principal& by) {
  if (!gate_.may_see_payloads(by))
    co_return refused(403, "no_payloads", "payloads are not shown to you here: see console.payloads");
  const auto id = parameter(asked.target, "id");
  const auto seq = parameter(asked.target, "seq");
  if (!is_id(id) || seq.empty() || !is_number(seq))
    co_return refused(400, "wrong_id", "an event is named by its id and its seq");
  const auto what = payload_of(id, seq);
  const auto found = co_await desk_.look(what);
  if (found && found->is_null()) co_return refused(404, "no_event", "there is no such event any more");
  co_return told(found);
}

api::answered api::search(const http::request& asked) {
  const auto status = parameter(asked.target, "status");
  constexpr std::array<std::string_view, 5> statuses{"", "pending", "waiting", "published", "dead"};
  if (std::find(statuses.begin(), statuses.end(), status) == statuses.end())
    co_return refused(400, "wrong_status", "status is pending, waiting, published or dead");
  const auto aggregate = parameter(asked.target, "aggregate");
  const auto slash = aggregate.find('/');
  if (!aggregate.empty() && (slash == std::string::npos || slash == 0 || slash + 1 == aggregate.size()))
    co_return refused(400, "wrong_aggregate", "an aggregate is TYPE/ID, such as order/42");
  const auto before = parameter(asked.target, "before");
  if (!is_number(before)) co_return refused(400, "wrong_parameter", "before is the seq of an event");
  std::vector<std::string> parameters;
  parameters.push_back(status);
  parameters.push_back(parameter(asked.target, "type"));
  parameters.push_back(aggregate.empty() ? aggregate : aggregate.substr(0, slash));
  parameters.push_back(aggregate.empty() ? aggregate : aggregate.substr(slash + 1));
  parameters.push_back(parameter(asked.target, "since"));
  parameters.push_back(parameter(asked.target, "until"));
  parameters.push_back(before);
  parameters.push_back(parameter(asked.target, "code"));
  const auto what = events_with(parameters);
  co_return told(co_await desk_.look(what));
}

http::response api::settings() const {
  return told({{"toml", app::to_toml(from_, app::extent::all)}, {"sources", from_.sources}});
}

}  // namespace outboxd::console
