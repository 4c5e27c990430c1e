#include "app/operate/trace_look.hpp"

#include <fmt/format.h>

#include "app/operate/event_listing.hpp"
#include "app/operate/trace_words.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;

json found(json event, json behind, trace_finding finding) {
  event["state"] = std::move(finding.state);
  event["why"] = std::move(finding.why);
  event["behind"] = std::move(behind);
  return event;
}

// As much as PostgreSQL can read of the events.
outcome<std::vector<json>> read_in_parts(operator_session& session, const std::string& id) {
  const auto got = read_what_can_be([&](part_read how) {
    return session.execute(
        fmt::format("SELECT {}) FROM {{0}}.event AS e WHERE e.id = $1::uuid ORDER BY e.seq",
                    json_of_event(how)),
        {id});
  });
  if (!got) return tl::make_unexpected(got.error());
  std::vector<json> out;
  for (int row = 0; row < got->rows.size(); ++row) {
    auto event = json::parse(std::string(got->rows.at(row, 0)));
    const bool is_over = event.at("status") == "dead" || event.at("status") == "published";
    auto finding =
        is_over ? explain(event, json())
                : trace_finding{"unreadable",
                                "PostgreSQL cannot read it whole, or not say it in UTF-8: it is dead when a "
                                "relay has come to it"};
    out.push_back(found(std::move(event), json(), std::move(finding)));
  }
  return out;
}

outcome<json> behind_of(operator_session& session, const json& event) {
  if (event.at("status") != "pending" && event.at("status") != "waiting") return json();
  OUTBOXD_TRY(const auto ahead,
              session.ask("behind", {event.at("id").get<std::string>(), event.at("seq").dump()}));
  if (!ahead || event.at("exception") == "scheduled") return json();
  return json::parse(*ahead);
}

}  // namespace

outcome<std::vector<json>> trace_event(operator_session& session, const std::string& id) {
  const auto all = session.ask_all("trace", {id});
  if (!all && all.error().of_a_row) return read_in_parts(session, id);
  if (!all) return tl::make_unexpected(all.error());
  std::vector<json> out;
  for (const std::string& one : *all) {
    auto event = json::parse(one);
    OUTBOXD_TRY(auto behind, behind_of(session, event));
    auto finding = explain(event, behind);
    out.push_back(found(std::move(event), std::move(behind), std::move(finding)));
  }
  return out;
}

outcome<json> trace_missing(operator_session& session, const std::string& id) {
  OUTBOXD_TRY(const auto kept, session.ask("discarded", {id}));
  std::string why = fmt::format("there is no event {} in schema {}", id, session.schema().name());
  if (!kept) {
    why +=
        ", as far as committed transactions go: its own may be open, rolled back, or long ago, and the event "
        "deleted since";
    return json{{"id", id}, {"state", "unknown"}, {"why", why}};
  }
  const auto discarded = json::parse(*kept);
  why += fmt::format(
      ": {} discarded it at {}{}", discarded.at("who").get<std::string>(),
      discarded.at("at").get<std::string>(),
      discarded.at("reason").is_null() ? "" : " (" + discarded.at("reason").get<std::string>() + ")");
  return json{{"id", id}, {"state", "discarded"}, {"why", why}};
}

}  // namespace outboxd::app
