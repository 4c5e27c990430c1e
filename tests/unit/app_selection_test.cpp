// app_selection_test: which selectors are taken, and the condition that they become.
#include <doctest/doctest.h>

#include <random>

#include "app/operate/selection.hpp"

namespace app_selection_test {

using namespace outboxd::app;

namespace {

std::string refusal(const selectors& given) {
  const auto good = check_selectors(given);
  return good ? "" : good.error().message;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

selectors ids(std::vector<std::string> values) {
  selectors out;
  out.ids = std::move(values);
  return out;
}
selectors aggregates(std::vector<std::string> values) {
  selectors out;
  out.aggregates = std::move(values);
  return out;
}

// LIKE by its definition, for ASCII.
bool like(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '%')
    return like(pattern.substr(1), name) || (!name.empty() && like(pattern, name.substr(1)));
  if (name.empty()) return false;
  if (pattern[0] == '_') return like(pattern.substr(1), name.substr(1));
  const std::size_t length = pattern[0] == '\\' ? 2 : 1;
  return length <= pattern.size() && pattern[length - 1] == name[0] &&
         like(pattern.substr(length), name.substr(1));
}

constexpr auto some_id = "0123abcd-ABCD-4eff-8000-0123456789ab";

}  // namespace

TEST_CASE("an id is a UUID in its usual form") {
  CHECK(refusal(ids({some_id})).empty());
  for (const char* bad : {"", "4711", "0123abcd-ABCD-4eff-8000-0123456789a",
                          "0123abcd-ABCD-4eff-8000-0123456789abc", "0123abcdaABCDa4effa8000a0123456789ab",
                          "g123abcd-ABCD-4eff-8000-0123456789ab", "{0123abcd-ABCD-4eff-8000-0123456789ab}"})
    CHECK_MESSAGE(has(refusal(ids({some_id, bad})), "is not a UUID"), bad);
}

TEST_CASE("an aggregate is a type and an id with a slash between them") {
  for (const char* good : {"order/42", "a/b/c", "a//", "//b", "größe/😀", "a b/ "})
    CHECK_MESSAGE(refusal(aggregates({good})).empty(), good);
  for (const char* bad : {"", "order", "order/", "/42", "/", "//"})
    CHECK_MESSAGE(has(refusal(aggregates({bad})), "is not TYPE/ID"), bad);
}

TEST_CASE("all goes with no other selector, and one of them has to be given where events are changed") {
  selectors all;
  all.all = true;
  CHECK(refusal(all).empty());
  CHECK(require_selectors(all, "replay").has_value());
  CHECK(require_selectors(ids({some_id}), "replay").has_value());
  const auto nothing = require_selectors({}, "replay");
  REQUIRE_FALSE(nothing.has_value());
  CHECK(has(nothing.error().message, "replay needs a selector"));
  all.since = "";
  CHECK(has(refusal(all), "--all"));
  CHECK(require_selectors(all, "replay").has_value());
}

TEST_CASE("selectors become one condition with their values as parameters") {
  CHECK(condition_of({}, event_set::dead).sql == "e.exception = 'dead'");
  CHECK(condition_of({}, event_set::dead).parameters.empty());
  selectors all_kinds{.ids = {some_id},
                      .event_types = {"it's"},
                      .aggregates = {"order/42"},
                      .aggregate_types = {},
                      .codes = {},
                      .exchanges = {},
                      .routing_keys = {},
                      .since = "then",
                      .until = "now"};
  const auto published = condition_of(all_kinds, event_set::published);
  CHECK(published.sql ==
        "e.status = 'published' AND e.id = ANY ($1::uuid[]) AND e.event_type = ANY ($2::text[])"
        " AND e.aggregate_type || '/' || e.aggregate_id = ANY ($3::text[])"
        " AND e.published_at >= $4::timestamptz AND e.published_at < $5::timestamptz");
  CHECK(published.parameters == std::vector<std::string>{"{\"" + std::string(some_id) + "\"}", "{\"it's\"}",
                                                         "{\"order/42\"}", "then", "now"});
  all_kinds.ids.clear();
  all_kinds.event_types.clear();
  all_kinds.since.reset();
  const auto dead = condition_of(all_kinds, event_set::dead);
  CHECK(dead.sql ==
        "e.exception = 'dead' AND e.aggregate_type || '/' || e.aggregate_id = ANY ($1::text[])"
        " AND e.created_at < $2::timestamptz");
}

TEST_CASE("an exchange and a routing key are matched by globs, where the row tells that the event goes") {
  selectors which;
  which.exchanges = {"orders*", "", "50%?"};
  which.routing_keys = {R"(a_\b)"};
  which.codes = {"returned"};
  CHECK(which.narrowed());
  CHECK(refusal(which).empty());
  CHECK(words_of(which) ==
        R"(--exchange 'orders*' --exchange '' --exchange '50%?' --routing-key 'a_\b' --error-code returned)");
  const auto unsent = condition_of(which, event_set::unsent);
  CHECK(unsent.sql ==
        "e.status IN ('pending', 'waiting') AND coalesce(e.last_error_code, 'none') = ANY ($1::text[])"
        " AND coalesce(e.failed_exchange, e.replay_exchange, e.exchange, 'outbox') COLLATE \"C\""
        " LIKE ANY ($2::text[])"
        " AND coalesce(e.failed_routing_key, e.replay_routing_key, e.routing_key, e.event_type) COLLATE \"C\""
        " LIKE ANY ($3::text[])");
  CHECK(unsent.parameters ==
        std::vector<std::string>{R"({"returned"})", R"({"orders%","","50\\%_"})", R"({"a\\_\\\\b"})"});
}

TEST_CASE("a glob takes a name if and only if its pattern of LIKE does") {
  std::mt19937 random(4711);  // NOLINT: the same each time
  const auto some = [&](std::string_view letters) {
    std::string out(random() % 6, ' ');
    for (char& c : out) c = letters[random() % letters.size()];
    return out;
  };
  int taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    const outboxd::glob pattern(some(R"(ab%_\*?)"));
    const std::string name = some(R"(ab%_\)");
    const bool takes = pattern.matches(name);
    taken += takes ? 1 : 0;
    CHECK_MESSAGE(like(like_pattern(pattern), name) == takes, pattern.text(), " and ", name);
  }
  CHECK(taken > 500);
}

TEST_CASE("an array's text form quotes every element") {
  CHECK(array_literal({}) == "{}");
  CHECK(array_literal({"a", "", "NULL", "b c,{}"}) == R"({"a","","NULL","b c,{}"})");
  CHECK(array_literal({R"(quote " and \ back)"}) == R"({"quote \" and \\ back"})");
}

}  // namespace app_selection_test
