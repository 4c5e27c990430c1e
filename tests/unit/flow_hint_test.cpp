// flow_hint_test: a word that anybody can say is followed at once, and then once in a while.
#include "flow/lead/hint.hpp"

#include <doctest/doctest.h>

namespace flow_hint_test {

using namespace outboxd::flow;
using namespace std::chrono_literals;

TEST_CASE("a word is followed at once, and not lost when it comes again too soon") {
  constexpr clock::time_point begin{1h};
  hint of{100ms};
  CHECK_FALSE(of.take(begin));
  CHECK(of.next() == clock::time_point::max());
  of.hear();
  CHECK(of.take(begin));
  CHECK_FALSE(of.take(begin));
  of.hear();
  CHECK_FALSE(of.take(begin + 99ms));
  CHECK(of.next() == begin + 100ms);
  CHECK(of.take(begin + 100ms));
  CHECK_FALSE(of.take(begin + 1h));
}

TEST_CASE("however often it is said, it is followed ten times in a second") {
  clock::time_point now{1h};
  hint of{100ms};
  int followed = 0;
  for (int said = 0; said < 10'000; ++said, now += 100us) {
    of.hear();
    followed += of.take(now) ? 1 : 0;
  }
  CHECK(followed == 10);
}

}  // namespace flow_hint_test
