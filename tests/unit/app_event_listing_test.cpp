// app_event_listing_test: the table of events, and what goes to a terminal.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "app/operate/event_listing.hpp"
#include "core/text.hpp"

namespace app_event_listing_test {

using outboxd::escaped;
using outboxd::app::table_lines;

namespace {

using lines = std::vector<std::string>;

const std::string an_id(36, '7');

std::vector<lines> two_rows(const std::string& aggregate, const std::string& last_error) {
  return {{"id", "created", "attempts", "event type", "aggregate", "last error"},
          {an_id, "2026-01-31 14:00:00Z", "20", "order.created", aggregate, last_error}};
}

}  // namespace

TEST_CASE("a table that goes to no terminal, or fits it, has one whole line for each event") {
  const std::string words(300, 'x');
  const lines whole = table_lines(two_rows("order/42", words), std::nullopt);
  REQUIRE(whole.size() == 2);
  CHECK(whole[0] ==
        "id                                    created               attempts  event type     aggregate  "
        "last error");
  CHECK(whole[1] == an_id + "  2026-01-31 14:00:00Z  20        order.created  order/42   " + words);
  CHECK(table_lines(two_rows("order/42", words), whole[1].size()) == whole);
  CHECK(table_lines(two_rows("order/42", words), whole[1].size() - 1).size() == 4);
}

TEST_CASE("a table that is too wide for a terminal has two lines for each event, and the id is whole") {
  const lines cut = table_lines(two_rows("order/42", std::string(300, 'x')), 80);
  REQUIRE(cut.size() == 4);
  CHECK(cut[0] == "id                                    created               attempts");
  CHECK(cut[1] == "  event type     aggregate  last error");
  CHECK(cut[2] == an_id + "  2026-01-31 14:00:00Z  20");
  CHECK(cut[3] == "  order.created  order/42   " + std::string(80 - 28 - 1, 'x') + "…");
}

TEST_CASE("a long name leaves room for what stands behind it, and no character is cut in two") {
  std::string long_name = "order/";
  for (int i = 0; i < 100; ++i) long_name += "ö";
  const lines cut = table_lines(two_rows(long_name, "no route"), 80);
  REQUIRE(cut.size() == 4);
  CHECK(cut[3] == "  order.created  order/ööööööööööööö…  no route");
}

TEST_CASE("less and less is read of an event that cannot be read, and of any other refusal nothing more") {
  using outboxd::app::part_read;
  std::vector<part_read> tried;
  const auto refused = [&](bool of_a_row) {
    tried.clear();
    const auto got =
        outboxd::app::read_what_can_be([&](part_read how) -> outboxd::app::outcome<outboxd::pg::rows> {
          tried.push_back(how);
          return tl::make_unexpected(outboxd::app::command_failure{1, "refused", of_a_row});
        });
    return !got.has_value();
  };
  CHECK(refused(false));
  CHECK(tried == std::vector{part_read::whole});
  CHECK(refused(true));
  CHECK(tried == std::vector{part_read::whole, part_read::reason, part_read::numbers});
}

TEST_CASE("what a terminal would obey is escaped, and everything else stays") {
  CHECK(escaped("order 42, größe 😀 \\n") == "order 42, größe 😀 \\n");
  CHECK(escaped("a\nb\tc\x1b[31m\x7f") == "a\\nb\\x09c\\x1b[31m\\x7f");
  CHECK(escaped(std::string_view("\0x", 2)) == "\\x00x");
  CHECK(escaped("\xc2\x9b"
                "2J") == "\\u009b2J");
  CHECK(escaped("\xc2\xa0\xc2") == "\xc2\xa0\xc2");  // a no-break space, and half a letter
  CHECK(escaped("").empty());
}

}  // namespace app_event_listing_test
