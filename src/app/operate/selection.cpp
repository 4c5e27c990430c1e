#include "app/operate/selection.hpp"
#include "core/routing.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace outboxd::app {
namespace {

bool is_hexadecimal(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// 8-4-4-4-12 hexadecimal digits.
bool is_uuid(std::string_view text) {
  constexpr std::string_view form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::equal(text.begin(), text.end(), form.begin(), form.end(),
                    [](char c, char wanted) { return wanted == '-' ? c == '-' : is_hexadecimal(c); });
}

// TYPE/ID, where both parts are nonempty.
bool is_aggregate(std::string_view text) {
  const auto slash = text.find('/', 1);
  return slash != std::string_view::npos && slash + 1 < text.size();
}

}  // namespace

result<void> check_selectors(const selectors& given) {
  for (const std::string& one : given.ids)
    if (!is_uuid(one))
      return permanent(fmt::format(
          "--id '{}' is not a UUID; give an id as `outboxd events list` or the message_id shows it", one));
  for (const std::string& one : given.statuses)
    if (one != "pending" && one != "waiting" && one != "published" && one != "dead")
      return permanent(
          fmt::format("--status '{}' is not a status; give pending, waiting, published or dead", one));
  for (const std::string& one : given.aggregates)
    if (!is_aggregate(one))
      return permanent(
          fmt::format("--aggregate '{}' is not TYPE/ID; give both, for example --aggregate order/42", one));
  for (const std::string& one : given.event_types)
    if (one.empty()) return permanent("--event-type is empty; give for example --event-type order.created");
  for (const std::string& one : given.codes)
    if (one.empty())
      return permanent(
          "--error-code is empty; give one that `outboxd events list --by reason` shows, or none");
  if (given.all && given.narrowed())
    return permanent("--all selects every event and excludes other selectors; give one or the other");
  return {};
}

result<void> require_selectors(const selectors& given, std::string_view command) {
  if (given.all || given.narrowed()) return {};
  return permanent(
      fmt::format("{} needs a selector: give --id, --event-type, --aggregate, --exchange, --routing-key, "
                  "--error-code, --since or --until, or --all for every one; --dry-run shows which",
                  command));
}

bool has(event_set which, std::string_view status) {
  switch (which) {
    case event_set::dead:
      return status == "dead";
    case event_set::published:
      return status == "published";
    case event_set::unsent:
      return status == "pending" || status == "waiting";
    case event_set::any:
      break;
  }
  return true;
}

event_set set_of(const std::vector<std::string>& statuses) {
  for (const auto one : {event_set::dead, event_set::published, event_set::unsent})
    if (!statuses.empty() &&
        std::all_of(statuses.begin(), statuses.end(), [&](const auto& status) { return has(one, status); }))
      return one;
  return event_set::any;
}

std::string_view name_of(event_set which) {
  switch (which) {
    case event_set::dead:
      return "dead";
    case event_set::published:
      return "published";
    case event_set::unsent:
      return "pending or waiting";
    case event_set::any:
      return "any";
  }
  return {};
}

std::string_view time_column(event_set which) {
  switch (which) {
    case event_set::dead:
    case event_set::unsent:
    case event_set::any:
      return "e.created_at";
    case event_set::published:
      return "e.published_at";
  }
  return {};
}

namespace {

// Dead events are selected by the column exception, which has an index and is equivalent for them.
std::string_view status_condition(event_set which) {
  switch (which) {
    case event_set::dead:
      return "e.exception = 'dead'";
    case event_set::published:
      return "e.status = 'published'";
    case event_set::unsent:
      return "e.status IN ('pending', 'waiting')";
    case event_set::any:
      return "true";
  }
  return {};
}

}  // namespace

std::string array_literal(const std::vector<std::string>& values) {
  std::string out = "{";
  for (const std::string& one : values) {
    if (out.size() > 1) out.push_back(',');
    out.push_back('"');
    for (const char c : one) {
      if (c == '"' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
    out.push_back('"');
  }
  return out + "}";
}

std::string words_of(const selectors& given) {
  std::string out;
  const auto add = [&](std::string_view flag, const std::string& value) {
    out += fmt::format("{}{} {}", out.empty() ? "" : " ", flag, shell_word(value));
  };
  for (const auto& one : given.ids) add("--id", one);
  for (const auto& one : given.statuses) add("--status", one);
  for (const auto& one : given.event_types) add("--event-type", one);
  for (const auto& one : given.aggregates) add("--aggregate", one);
  for (const auto& one : given.aggregate_types) add("--aggregate-type", one);
  for (const auto& one : given.exchanges) add("--exchange", one);
  for (const auto& one : given.routing_keys) add("--routing-key", one);
  for (const auto& one : given.codes) add("--error-code", one);
  if (given.since) add("--since", *given.since);
  if (given.until) add("--until", *given.until);
  return given.all ? "--all" : out;
}

std::string exchange_of_row() {
  return fmt::format("coalesce(e.failed_exchange, e.replay_exchange, e.exchange, '{}')", outbox_exchange);
}

std::string routing_key_of_row() {
  return "coalesce(e.failed_routing_key, e.replay_routing_key, e.routing_key, e.event_type)";
}

std::string like_pattern(const glob& from) {
  std::string out;
  for (const char c : from.text()) {
    if (c == '*') {
      out.push_back('%');
    } else if (c == '?') {
      out.push_back('_');
    } else {
      if (c == '%' || c == '_' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
  }
  return out;
}

// COLLATE makes the comparison bytewise, even if the column's collation treats different texts as equal.
std::string matches_one_of(std::string_view text, std::size_t parameter) {
  return fmt::format("{} COLLATE \"C\" LIKE ANY (${}::text[])", text, parameter);
}

std::string like_patterns(const std::vector<std::string>& globs) {
  std::vector<std::string> out;
  out.reserve(globs.size());
  for (const std::string& one : globs) out.push_back(like_pattern(glob(one)));
  return array_literal(out);
}

condition condition_of(const selectors& resolved, event_set which) {
  condition out{std::string(status_condition(which)), {}};
  const auto add = [&](std::string_view left, std::string_view type, std::string value,
                       std::string_view right) {
    out.parameters.push_back(std::move(value));
    out.sql += fmt::format(" AND {}${}::{}{}", left, out.parameters.size(), type, right);
  };
  const auto time = time_column(which);
  if (!resolved.ids.empty()) add("e.id = ANY (", "uuid[]", array_literal(resolved.ids), ")");
  if (!resolved.statuses.empty())
    add("e.status::text = ANY (", "text[]", array_literal(resolved.statuses), ")");
  if (!resolved.event_types.empty())
    add("e.event_type = ANY (", "text[]", array_literal(resolved.event_types), ")");
  if (!resolved.aggregates.empty())
    add("e.aggregate_type || '/' || e.aggregate_id = ANY (", "text[]", array_literal(resolved.aggregates),
        ")");
  if (!resolved.codes.empty())
    add("coalesce(e.last_error_code, 'none') = ANY (", "text[]", array_literal(resolved.codes), ")");
  const auto add_globs = [&](const std::string& text, const std::vector<std::string>& globs) {
    if (globs.empty()) return;
    out.parameters.push_back(like_patterns(globs));
    out.sql += " AND " + matches_one_of(text, out.parameters.size());
  };
  add_globs(exchange_of_row(), resolved.exchanges);
  add_globs(routing_key_of_row(), resolved.routing_keys);
  if (resolved.since) add(fmt::format("{} >= ", time), "timestamptz", *resolved.since, "");
  if (resolved.until) add(fmt::format("{} < ", time), "timestamptz", *resolved.until, "");
  return out;
}

}  // namespace outboxd::app
