#include "console/site.hpp"

#include <algorithm>
#include <tuple>

#include "console/page.hpp"
#include "console/query.hpp"

namespace outboxd::console {
namespace {

using nlohmann::json;

constexpr std::string_view prefix_of_outboxes = "/outbox/";

int badness(const json& row) {
  const auto& level = row.at("headline").at("level");
  return level == "bad" ? 0 : level == "warn" ? 1 : 2;
}

double age_in(const json& row) {
  const auto& age = row.at("oldest_due_age_seconds");
  return age.is_number() ? age.get<double>() : 0;
}

}  // namespace

json row_of(const std::string& name, const json& seen) {
  const auto& status = seen.at("status");
  json out{{"name", name},
           {"headline", seen.at("headline")},
           {"published_per_second", seen.at("published_per_second")},
           {"pending", nullptr},
           {"waiting", nullptr},
           {"dead", nullptr},
           {"oldest_due_age_seconds", status.value("oldest_due_age_seconds", json())}};
  if (const auto events = status.find("events"); events != status.end())
    for (const char* which : {"pending", "waiting", "dead"}) out[which] = events->at(which);
  return out;
}

json row_of_wrong(const std::string& name, const std::string& why) {
  return {{"name", name},
          {"headline",
           {{"code", "configuration"},
            {"level", "bad"},
            {"text", "The settings of this outbox are wrong: " + why},
            {"todo", "Correct the file and start the console again."},
            {"since", ""}}},
          {"published_per_second", nullptr},
          {"pending", nullptr},
          {"waiting", nullptr},
          {"dead", nullptr},
          {"oldest_due_age_seconds", nullptr}};
}

void put_worst_first(json& rows) {
  auto& all = rows.get_ref<json::array_t&>();
  std::sort(all.begin(), all.end(), [](const json& a, const json& b) {
    return std::tuple(badness(a), -age_in(a), a.at("name").get<std::string>()) <
           std::tuple(badness(b), -age_in(b), b.at("name").get<std::string>());
  });
}

http::later_handler site::handler() {
  return [this](const http::request& asked) -> answered {
    auto out = co_await answer(asked);
    add_guards(out);
    co_return out;
  };
}

site::answered site::answer(const http::request& asked) {
  const auto path = without_prefix(path_of(asked.target), main_.console.public_url);
  if (!path.starts_with(prefix_of_outboxes)) co_return answer_itself(path, asked);
  const auto rest = path.substr(prefix_of_outboxes.size());
  const auto slash = rest.find('/');
  auto* const found = find(rest.substr(0, slash));
  if (found == nullptr) co_return refused(404, "no_outbox", "there is no such outbox");
  if (slash == std::string_view::npos) {
    http::response out{308, std::string(http::plain_text), "", {}};
    out.headers.emplace_back("Location", std::string(asked.target) + "/");
    co_return out;
  }
  const std::string target = std::string(rest.substr(slash)) + std::string(query_of(asked.target));
  http::request below = asked;
  below.target = target;
  co_return co_await found->answers().answer(below);
}

http::response site::answer_itself(std::string_view path, const http::request& asked) {
  const auto now = gate::clock::now();
  if (path == "/api/login") return door_.login(asked, now);
  if (path == "/api/logout") return door_.logout(asked);
  if (path == "/api/session") return door_.session(asked, now, {{"lists_outboxes", true}});
  if (asked.method == "POST") return refused(405, "method", "GET it");
  if (path != "/api/outboxes") return page_at(path, main_.console.public_url);
  const auto decided = door_.look(asked, now);
  if (const auto* why = std::get_if<http::response>(&decided)) return *why;
  return {200,
          "application/json",
          json{{"outboxes", rows()}}.dump(-1, ' ', false, json::error_handler_t::replace) + "\n",
          {}};
}

json site::rows() {
  json out = json::array();
  for (const auto& one : pages_) out.push_back(row_of(one->from().outbox, one->sees().glance()));
  for (const auto& one : wrong_) out.push_back(row_of_wrong(one.name, one.why));
  put_worst_first(out);
  return out;
}

outbox_pages* site::find(std::string_view name) {
  const auto found =
      std::find_if(pages_.begin(), pages_.end(), [&](const auto& one) { return one->from().outbox == name; });
  return found == pages_.end() ? nullptr : found->get();
}

}  // namespace outboxd::console
