#include "console/outlook.hpp"

#include <fmt/chrono.h>

#include <array>

#include "app/operate/status.hpp"
#include "console/headline.hpp"
#include "console/relay_views.hpp"
#include "http/as_result.hpp"

namespace outboxd::console {
namespace asio = boost::asio;
using nlohmann::json;
using std::chrono::steady_clock;
using std::chrono::system_clock;

namespace {

constexpr std::array<std::string_view, 5> parts{"events", "pauses", "relays", "lock_holders", "row_holders"};
constexpr std::chrono::seconds watched_for{30};   // time for which a request counts as a viewer
constexpr std::chrono::seconds silent_after{15};  // a slower query means that PostgreSQL does not answer
constexpr std::chrono::seconds longest_wait{
    2};  // longest wait of a request for the query that it has started

double unix_seconds(system_clock::time_point at) {
  return std::chrono::duration<double>(at.time_since_epoch()).count();
}

std::string iso(system_clock::time_point at) {
  return fmt::format("{:%FT%TZ}", std::chrono::floor<std::chrono::seconds>(at));
}

std::int64_t count_in(const json& status, const char* which) {
  return status.at("events").at(which).at("count").get<std::int64_t>();
}

}  // namespace

outlook::outlook(const asio::any_io_executor& on, const app::settings& from, desk& asks)
    : from_(from), desk_(asks), next_(on), seen_(on) {}

void outlook::stop() {
  stopped_ = true;
  next_.cancel();
  seen_.cancel();
}

asio::awaitable<void> outlook::run() {
  while (!stopped_) {
    co_await look();
    const bool watched = steady_clock::now() - asked_ < watched_for;
    if (stopped_) co_return;
    next_.expires_after(pause_between_looks(took_, watched));
    co_await next_.async_wait(http::as_result);
  }
}

asio::awaitable<void> outlook::look() {
  const auto begun = steady_clock::now();
  looking_since_ = system_clock::now();
  const desk::question what = [this](app::operator_session& session) -> desk::answer {
    auto found = app::look_at_outbox(session, from_.relay.leader.database, parts);
    // If all parts failed, the session is lost, or there is no outbox.
    if (found.at("errors").size() == parts.size())
      return app::run_failure(found.at("errors").front().get<std::string>());
    return found;
  };
  auto seen = co_await desk_.look(what);
  looking_since_.reset();
  took_ = std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - begun);
  const std::function<desk::answer()> asking = [this]() -> desk::answer { return ask_relays(from_); };
  auto relays = co_await desk_.work(asking);
  if (relays) relays_ = std::move(*relays);
  if (seen)
    take(std::move(*seen));
  else
    failed(seen.error().message);
  seen_.cancel();
}

void outlook::take(json seen) {
  error_.reset();
  failing_since_.reset();
  published_per_second_ = rate(relays_, seen);
  if (seen.contains("events"))
    history_.add({system_clock::now(), published_per_second_, count_in(seen, "pending"),
                  count_in(seen, "waiting"), count_in(seen, "dead")});
  status_ = std::move(seen);
  status_["seen_at"] = iso(system_clock::now());
}

void outlook::failed(std::string why) {
  took_ = {};  // so that a recovery is noticed soon
  error_ = std::move(why);
  if (!failing_since_) failing_since_ = system_clock::now();
}

// From the relays' counters, if the same relays answered as before and none has restarted; otherwise the
// average of the last minute, from the table.
double outlook::rate(const json& relays, const json& status) {
  counted now{{}, 0, steady_clock::now()};
  for (const json& one : relays) {
    if (!one.at("status").is_object()) continue;
    const auto total = one.at("status").find("events_published_total");
    if (total == one.at("status").end() || !total->is_number_integer()) continue;
    now.urls.push_back(one.at("url").get<std::string>());
    now.published += total->get<std::int64_t>();
  }
  const auto before = std::exchange(before_, now);
  if (before && !now.urls.empty() && before->urls == now.urls && now.published >= before->published) {
    // A total needs all relays, and a relay that is not configured would be missing.
    const auto found = status.find("relays");
    const bool all = found != status.end() && found->size() <= now.urls.size();
    const auto seconds = std::chrono::duration<double>(now.at - before->at).count();
    if (all && seconds > 0) return static_cast<double>(now.published - before->published) / seconds;
  }
  constexpr double a_minute = 60;
  const auto minute = status.find("published_last_minute");
  if (minute == status.end() || !minute->is_object()) return published_per_second_;
  return minute->at("count").get<double>() / a_minute;
}

json outlook::current() const {
  json status = status_;
  if (status.is_null())
    status = {{"schema", from_.relay.leader.database.schema.name()}, {"errors", json::array()}};
  json out{{"database", {{"up", !error_}}},
           {"status", std::move(status)},
           {"relays", relays_},
           {"published_per_second", published_per_second_}};
  if (error_) {
    out["database"]["error"] = *error_;
    if (failing_since_) out["database"]["since"] = iso(*failing_since_);
  } else if (looking_since_ && system_clock::now() - *looking_since_ > silent_after) {
    out["database"] = {{"up", false}, {"error", "it does not answer"}, {"since", iso(*looking_since_)}};
  }
  const auto words = headline_of(out);
  out["headline"] = {{"code", words.code},
                     {"level", words.level},
                     {"text", words.text},
                     {"todo", words.todo},
                     {"since", words.since}};
  return out;
}

json outlook::without_answer() const {
  json out = current();
  out["database"] = {{"up", false}, {"error", "it has not answered yet"}};
  out["headline"] = {{"code", "database_away"},
                     {"level", "bad"},
                     {"text", "PostgreSQL has not answered yet."},
                     {"todo", "The page continues when it does."},
                     {"since", ""}};
  return out;
}

json outlook::glance() {
  const bool was_watched = steady_clock::now() - std::exchange(asked_, steady_clock::now()) < watched_for;
  if (!stopped_ && !was_watched) next_.cancel();
  return has_answer() ? current() : without_answer();
}

asio::awaitable<json> outlook::now(double figures_since) {
  const bool was_watched = steady_clock::now() - asked_ < watched_for;
  asked_ = steady_clock::now();
  if (!stopped_ && (!was_watched || !has_answer())) {
    // There was no viewer for a while, so the intervals were long: query now.
    if (!was_watched) seen_.expires_after(longest_wait);
    next_.cancel();
    co_await seen_.async_wait(http::as_result);
  }
  if (!has_answer()) co_return without_answer();
  json out = current();
  json points = json::array();
  for (const figures& one : history_.all()) {
    const auto at = unix_seconds(one.at);
    if (at <= figures_since) continue;
    points.push_back({at, one.published_per_second, one.pending, one.waiting, one.dead});
  }
  out["figures"] = std::move(points);
  out["version"] = OUTBOXD_VERSION;
  co_return out;
}

}  // namespace outboxd::console
