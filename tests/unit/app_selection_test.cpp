// app_selection_test: which selectors are taken, and the condition that they become.
#include <doctest/doctest.h>

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
  CHECK(has(nothing.error().message, "replay needs to know which events"));
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
                      .codes = {},
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

TEST_CASE("an array's text form quotes every element") {
  CHECK(array_literal({}) == "{}");
  CHECK(array_literal({"a", "", "NULL", "b c,{}"}) == R"({"a","","NULL","b c,{}"})");
  CHECK(array_literal({R"(quote " and \ back)"}) == R"({"quote \" and \\ back"})");
}

}  // namespace app_selection_test
