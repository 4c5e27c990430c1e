// app_event_listing_test: what goes to a terminal.
#include <doctest/doctest.h>

#include "app/event_listing.hpp"

using outboxd::app::printable;

TEST_CASE("what a terminal would obey is escaped, and everything else stays") {
  CHECK(printable("order 42, größe 😀 \\n") == "order 42, größe 😀 \\n");
  CHECK(printable("a\nb\tc\x1b[31m\x7f") == "a\\nb\\x09c\\x1b[31m\\x7f");
  CHECK(printable(std::string_view("\0x", 2)) == "\\x00x");
  CHECK(printable("\xc2\x9b"
                  "2J") == "\\u009b2J");
  CHECK(printable("\xc2\xa0\xc2") == "\xc2\xa0\xc2");  // a no-break space, and half a letter
  CHECK(printable("").empty());
}
