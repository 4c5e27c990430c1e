#include "console/headline.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/operate/status.hpp"

namespace outboxd::console {
namespace {

using nlohmann::json;

std::string text_at(const json& of, const char* key, std::string_view otherwise = "") {
  const auto found = of.find(key);
  return found != of.end() && found->is_string() ? found->get<std::string>() : std::string(otherwise);
}

const json& array_at(const json& of, const char* key) {
  static const json none = json::array();
  const auto found = of.find(key);
  return found != of.end() && found->is_array() ? *found : none;
}

bool flag_at(const json& of, const char* key) {
  const auto found = of.find(key);
  return found != of.end() && found->is_boolean() && found->get<bool>();
}

std::int64_t count_of(const json& status, const char* which) {
  const auto events = status.find("events");
  return events == status.end() ? 0 : events->at(which).at("count").get<std::int64_t>();
}

std::string events(std::int64_t count) {
  return fmt::format("{} {}", grouped(count), count == 1 ? "event" : "events");
}

// The remedies of docs/runbook.md, in short.
std::string code_words(const std::string& code) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> known{{
      {"returned", "no queue is bound for that key"},
      {"refused", "the exchange is missing, or may not be written to"},
      {"nacked", "a queue is full or has failed"},
      {"unconfirmed", "RabbitMQ does not confirm it in time"},
      {"connection_closed", "RabbitMQ closes the connection over it"},
      {"unencodable", "no message can be made of them"},
      {"cancelled", "an operator has cancelled them"},
  }};
  if (code.empty()) return "no reason is recorded";
  for (const auto& [name, words] : known)
    if (name == code) return fmt::format("{} ({})", words, code);
  return code;
}

// "18,230 events wait, and nothing is lost"
std::string waiting_words(const json& status) {
  if (!status.contains("events")) return "how many events wait is not known";
  const auto count = count_of(status, "pending") + count_of(status, "waiting");
  if (count == 0) return "nothing waits";
  return fmt::format("{} {}, and nothing is lost", events(count), count == 1 ? "waits" : "wait");
}

std::string pause_part(const json& one) {
  const auto part = text_at(one, "part");
  if (part == "everything") return "Everything";
  const auto* const kind = part == "event_type"    ? "Event type"
                           : part == "exchange"    ? "Exchange"
                           : part == "routing_key" ? "Routing key"
                                                   : "Aggregate type";
  const auto name = text_at(one, "name");
  return fmt::format("{} {}", kind, name.empty() ? "''" : name);
}

std::string pause_words(const json& one) {
  const auto reason = text_at(one, "reason");
  return fmt::format("{} is paused by {}{}", pause_part(one), text_at(one, "who", "somebody"),
                     reason.empty() ? "" : fmt::format(" ({})", reason));
}

std::optional<headline> database_away(const json& now) {
  const auto& database = now.at("database");
  if (database.at("up").get<bool>()) return std::nullopt;
  return headline{
      "database_away", "bad",
      fmt::format("PostgreSQL cannot be asked: {}.", text_at(database, "error", "it does not answer")),
      "The figures below are from before. The page continues when PostgreSQL answers again.",
      text_at(database, "since")};
}

// The table cannot be read, for instance because of another schema version. Holders of locks on it are
// reported first.
std::optional<headline> events_unread(const json& status) {
  if (status.contains("events")) return std::nullopt;
  const auto& errors = array_at(status, "errors");
  return headline{"outbox_unread", "bad",
                  fmt::format("The outbox in schema {} cannot be read: {}.", text_at(status, "schema"),
                              errors.empty() ? "no reason is known" : errors.front().get<std::string>()),
                  "outboxd check says what is missing.", ""};
}

std::optional<headline> outbox_unread(const json& status) {
  if (status.contains("relays")) return std::nullopt;
  return events_unread(status);
}

std::optional<headline> lock_holder(const json& status) {
  for (const auto& one : array_at(status, "culprits")) {
    const auto from = text_at(one, "keeps_from");
    if (from != "writing" && from != "leading") continue;
    const auto pid = one.at("pid").is_null() ? std::string("?") : one.at("pid").dump();
    return headline{
        "lock_holder", "bad",
        fmt::format(
            "A session is in the way: pid {} (user {}, application {}) {} {} and keeps relays from {}; {}.",
            pid, text_at(one, "user", "?"), text_at(one, "application", "?"),
            one.value("behind", json()).is_null() ? "holds" : "waits for", text_at(one, "mode"), from,
            waiting_words(status)),
        fmt::format("Let it finish, or end it: SELECT pg_terminate_backend({});", pid), ""};
  }
  return std::nullopt;
}

std::optional<headline> all_paused(const json& status) {
  for (const auto& one : array_at(status, "paused"))
    if (text_at(one, "part") == "everything")
      return headline{"all_paused", "warn", fmt::format("{}; {}.", pause_words(one), waiting_words(status)),
                      "outboxd resume --all ends that.", text_at(one, "since")};
  return std::nullopt;
}

// A missing leader means that nobody reads the shard's events.
std::optional<headline> shard_missing(const json& status) {
  const auto& shards = array_at(status, "shards");
  if (!status.contains("shards")) return std::nullopt;
  const auto count = shards.size();
  bool whole = count > 0 && (count & (count - 1)) == 0;
  for (std::size_t i = 0; whole && i < count; ++i) whole = shards.at(i).at("shard") == i;
  if (whole) return std::nullopt;
  return headline{"shard_missing", "bad",
                  fmt::format("The table shard of the outbox has {}, which is not what migrate has made.",
                              count == 1 ? "one row" : fmt::format("{} rows", count)),
                  "outboxd migrate repairs it; nothing is lost.", ""};
}

std::optional<headline> no_relay(const json& status) {
  if (!status.contains("relays") || !array_at(status, "relays").empty()) return std::nullopt;
  const bool waits = count_of(status, "pending") + count_of(status, "waiting") > 0;
  return headline{"no_relay", waits ? "bad" : "warn",
                  fmt::format("No relay runs; {}.", waiting_words(status)), "Start one: outboxd run.", ""};
}

// None of the queried relays is ready, and one of them gives a reason.
std::optional<headline> not_ready(const json& now) {
  const json* why = nullptr;
  for (const auto& one : array_at(now, "relays")) {
    const auto& status = one.at("status");
    if (!status.is_object()) continue;
    const auto& reasons = array_at(status, "reasons");
    if (flag_at(status, "ready") && !flag_at(status, "broker_blocked")) return std::nullopt;
    if (why == nullptr && !reasons.empty()) why = &reasons.front();
  }
  if (why == nullptr) return std::nullopt;
  const auto& status = now.at("status");
  return headline{
      "relay_not_ready", "bad",
      fmt::format("The relay cannot publish: {}; {}.", text_at(*why, "message"), waiting_words(status)),
      fmt::format("docs/runbook.md says what {} means.", text_at(*why, "code")), text_at(*why, "since")};
}

// A relay that hangs, or is suspended, does not answer either.
std::string silent_words(const json& now) {
  for (const auto& one : array_at(now, "relays"))
    if (one.at("status").is_null())
      return fmt::format(" The relay at {} does not answer.", text_at(one, "url"));
  return "";
}

std::optional<headline> unled(const json& now) {
  const auto& status = now.at("status");
  const auto& shards = array_at(status, "shards");
  std::size_t without = 0;
  for (const auto& one : shards) without += one.at("leader").is_null() ? 1 : 0;
  if (without == 0) return std::nullopt;
  return headline{"unled", "bad",
                  shards.size() == 1 ? fmt::format("A relay runs, and does not lead; {}.{}",
                                                   waiting_words(status), silent_words(now))
                                     : fmt::format("{} of {} shards have no leader; {}.{}", without,
                                                   shards.size(), waiting_words(status), silent_words(now)),
                  "Its log and /readyz say why; a take-over takes a second at most.", ""};
}

bool one_destination(const json& a, const json& b) {
  return a.at("exchange") == b.at("exchange") && a.at("routing_key") == b.at("routing_key");
}

// Events that a destination does not accept.
struct blocked_destination {
  std::int64_t count;
  std::string where;  // exchange "shop" with key a.b: no queue is bound for that key (returned)
  std::string since;
};

std::optional<blocked_destination> worst_destination(const json& status) {
  const json* worst = nullptr;
  std::int64_t count = 0;
  for (const auto& one : array_at(status, "waits_by_destination")) {
    if (text_at(one, "code") == "paused") continue;
    if (worst == nullptr) worst = &one;
    if (!one_destination(one, *worst)) continue;
    count += one.at("events").get<std::int64_t>();
  }
  if (worst == nullptr) return std::nullopt;
  const auto exchange = worst->at("exchange").is_null()
                            ? std::string("its route's exchange")
                            : fmt::format("exchange \"{}\"", text_at(*worst, "exchange"));
  return blocked_destination{count,
                             fmt::format("{} with key {}: {}", exchange, text_at(*worst, "routing_key"),
                                         code_words(text_at(*worst, "code"))),
                             text_at(*worst, "failing_since")};
}

std::optional<headline> destination(const json& status) {
  const auto worst = worst_destination(status);
  if (!worst) return std::nullopt;
  return headline{"destination", "warn",
                  fmt::format("{} {} at {}. The rest goes out.", events(worst->count),
                              worst->count == 1 ? "waits" : "wait", worst->where),
                  "Stuck shows them by reason, with an example of each.", worst->since};
}

std::optional<double> overdue(const json& status) {
  const auto found = status.find("oldest_due_age_seconds");
  if (found == status.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string rate_words(const json& now) {
  const auto rate = now.value("published_per_second", 0.0);
  if (rate >= 10) return fmt::format("{}/s", grouped(std::llround(rate)));
  return fmt::format("{:.1f}/s", rate);
}

std::optional<headline> behind(const json& now) {
  constexpr double tolerated = 10;  // seconds
  const auto& status = now.at("status");
  const auto age = overdue(status);
  if (!age || *age < tolerated) return std::nullopt;
  return headline{"behind", "warn",
                  fmt::format("Behind: the oldest due event has waited for {}; {} pending, {} published.{}",
                              app::words_of_seconds(*age), events(count_of(status, "pending")),
                              rate_words(now), silent_words(now)),
                  "If it does not shrink: docs/runbook.md, \"Backlog growing\".", ""};
}

// nullopt: there are none. At most a hundred thousand are counted.
std::string scheduled_words(const json& status) {
  const auto found = status.find("events");
  if (found == status.end()) return "";
  const auto& waiting = found->at("waiting");
  const auto count = waiting.value("scheduled", std::int64_t{0});
  if (count == 0) return "";
  if (!flag_at(waiting, "exact"))
    return fmt::format("more than {} are scheduled for later", events(count - 1));
  return fmt::format("{} {} scheduled for later", events(count), count == 1 ? "is" : "are");
}

std::string going_on(const json& now) {
  const auto& status = now.at("status");
  const auto rate = now.value("published_per_second", 0.0);
  const auto age = overdue(status);
  if (rate >= 0.05)
    return fmt::format("Publishing {}{}.", rate_words(now),
                       age && *age >= 0.1 ? fmt::format(", {} behind", app::words_of_seconds(*age))
                                          : ", and nothing is overdue");
  if (age) return fmt::format("{} to be published.", events(count_of(status, "pending")));
  if (const auto later = scheduled_words(status); !later.empty())
    return fmt::format("Everything that is due is published; {}.", later);
  if (count_of(status, "published") == 0) return "The outbox has no published event yet, and nothing waits.";
  return "Everything that is due is published.";
}

std::optional<headline> some_paused(const json& now) {
  const auto& all = array_at(now.at("status"), "paused");
  if (all.empty()) return std::nullopt;
  return headline{"some_paused", "warn", fmt::format("{}. {}", pause_words(all.front()), going_on(now)),
                  "outboxd resume ends it.", text_at(all.front(), "since")};
}

std::optional<headline> warned(const json& now) {
  for (const auto& one : array_at(now, "relays")) {
    if (!one.at("status").is_object()) continue;
    const auto& warnings = array_at(one.at("status"), "warnings");
    if (!warnings.empty())
      return headline{
          "relay_warns", "warn",
          fmt::format("A relay warns: {}. {}", text_at(warnings.front(), "message"), going_on(now)),
          fmt::format("docs/runbook.md says what {} means.", text_at(warnings.front(), "code")),
          text_at(warnings.front(), "since")};
  }
  return std::nullopt;
}

// A configured relay does not answer. Other sentences say whether this has consequences.
std::optional<headline> silent(const json& now) {
  for (const auto& one : array_at(now, "relays"))
    if (one.at("status").is_null())
      return headline{"relay_silent", "warn",
                      fmt::format("A relay cannot be asked: {}. {}",
                                  text_at(one, "error", "no reason is known"), going_on(now)),
                      "It hangs, or has ended; console.relay_urls names it.", ""};
  return std::nullopt;
}

// ": no queue is bound for that key (returned); no message can be made of them (unencodable)"
std::string reasons_of_dead(const json& status) {
  constexpr std::size_t most = 3;
  const auto& all = array_at(status, "dead_by_code");
  std::string out;
  for (std::size_t i = 0; i < all.size() && i < most; ++i)
    out += fmt::format("{}{}", i == 0 ? ": " : "; ", code_words(text_at(all.at(i), "code")));
  return all.size() > most ? out + "; and others" : out;
}

// Findings that only need attention.
headline minor(const json& now) {
  if (auto one = some_paused(now)) return *one;
  if (auto one = warned(now)) return *one;
  if (auto one = silent(now)) return *one;
  return {"well", "ok", going_on(now), "", ""};
}

// Dead events, which are not delivered until an operator decides. Waiting events are mentioned together with
// them.
std::optional<headline> dead(const json& now) {
  const auto& status = now.at("status");
  const auto count = count_of(status, "dead");
  if (count == 0) return std::nullopt;
  const auto are_dead = fmt::format("{} {} dead", events(count), count == 1 ? "is" : "are");
  if (const auto worst = worst_destination(status))
    return headline{"dead", "warn",
                    fmt::format("{}, and {} {} at {}. The rest goes out.", are_dead, grouped(worst->count),
                                worst->count == 1 ? "waits" : "wait", worst->where),
                    "Stuck says for each reason what helps.", ""};
  return headline{"dead", "warn",
                  fmt::format("{} and {} for a decision{}. {}", are_dead, count == 1 ? "waits" : "wait",
                              reasons_of_dead(status), minor(now).text),
                  "Stuck says for each reason what helps.", ""};
}

}  // namespace

std::string grouped(std::int64_t number) {
  std::string out = fmt::format("{}", number);
  const std::size_t first = out.starts_with('-') ? 1 : 0;
  for (auto at = out.size(); at > first + 3; at -= 3) out.insert(at - 3, 1, ',');
  return out;
}

// In order of severity: causes that stop all events, dead events, causes that stop some events, and findings
// that only need attention.
headline headline_of(const json& now) {
  const auto& status = now.at("status");
  if (auto one = database_away(now)) return *one;
  if (auto one = outbox_unread(status)) return *one;
  if (auto one = lock_holder(status)) return *one;
  if (auto one = events_unread(status)) return *one;
  if (auto one = all_paused(status)) return *one;
  if (auto one = shard_missing(status)) return *one;
  if (auto one = no_relay(status)) return *one;
  if (auto one = not_ready(now)) return *one;
  if (auto one = unled(now)) return *one;
  if (auto one = behind(now)) return *one;
  if (auto one = dead(now)) return *one;
  if (auto one = destination(status)) return *one;
  return minor(now);
}

}  // namespace outboxd::console
