#include "console/relay_views.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "http/client.hpp"

namespace outboxd::console {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds answer_limit{1'000};

// A process with several outboxes has an object for each.
json status_of(const json& answer, const std::string& outbox) {
  const auto all = answer.find("outboxes");
  if (all == answer.end()) return answer;
  const auto own = all->find(outbox);
  return own != all->end() && own->is_object() ? *own : json();
}

json view_of(const std::string& url, const std::string& outbox, const result<http::answer>& heard) {
  json out{{"url", url}, {"status", nullptr}, {"error", nullptr}};
  if (!heard) {
    out["error"] = heard.error().message;
  } else if (heard->status != 200) {
    out["error"] = fmt::format("{} answers with HTTP status {}{}", url, heard->status,
                               heard->status == 421 ? ": its http.allowed_hosts has to name this host" : "");
  } else if (auto status = json::parse(heard->body, nullptr, false); status.is_object()) {
    out["status"] = status_of(status, outbox);
    if (out["status"].is_null()) out["error"] = fmt::format("{} does not relay the outbox {}", url, outbox);
  } else {
    out["error"] = fmt::format("{} does not answer with the /status of a relay", url);
  }
  return out;
}

bool has_port(const http::address& where) {
  const auto* tcp = std::get_if<http::tcp_address>(&where);
  return tcp == nullptr || tcp->port != 0;
}

}  // namespace

json ask_relays(const app::settings& from) {
  json out = json::array();
  for (const http::url& one : from.console.relay_urls)
    out.push_back(view_of(one.display(), from.outbox, http::get(one, "/status", {}, answer_limit)));
  if (!from.console.relay_urls.empty() || from.http.listen.empty()) return out;
  const auto& near = from.http.listen.front();
  if (!has_port(near)) return out;
  auto view = view_of(http::url_of(near), from.outbox, http::get(near, "/status", answer_limit));
  // No relay is configured, so a missing answer is not an error.
  if (view.at("status").is_object()) out.push_back(std::move(view));
  return out;
}

}  // namespace outboxd::console
