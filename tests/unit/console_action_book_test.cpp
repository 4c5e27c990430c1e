// Previews and results: which are kept, for how long, and that each begins once.
#include <doctest/doctest.h>

#include "console/action_book.hpp"

namespace outboxd::console::console_action_book_test {
namespace {

using namespace std::chrono_literals;

action_plan plan_of(std::size_t events) {
  action_plan out;
  out.what.what = app::deed::retry;
  out.what.which.all = true;
  out.who = "act token";
  for (std::size_t i = 0; i < events; ++i) out.events.push_back({{}, static_cast<std::int64_t>(i)});
  out.shown = nlohmann::json::object();
  return out;
}

const action::clock::time_point start{};

}  // namespace

TEST_CASE("a preview is found by its token alone, and not when its time is up") {
  action_book book;
  const auto one = book.add(plan_of(1), start);
  const auto other = book.add(plan_of(2), start);
  CHECK(one->token() != other->token());
  CHECK(book.find(one->token(), start + 14min) == one);
  CHECK(book.find("", start) == nullptr);
  CHECK(book.find(one->token() + "0", start) == nullptr);
  CHECK(book.find(one->token(), start + 15min) == nullptr);
}

TEST_CASE(
    "an action begins once, for the first reason, and is found as long as it runs and half a day longer") {
  action_book book;
  const auto one = book.add(plan_of(1), start);
  CHECK(book.running().empty());
  CHECK(one->begin("first", start + 1min));
  CHECK_FALSE(one->begin("second", start + 2min));
  CHECK(one->what().reason == "first");
  CHECK(book.running().size() == 1);
  CHECK(book.find(one->token(), start + 100h) == one);
  one->end(action_state::done, "", start + 100h);
  CHECK(book.running().empty());
  CHECK_FALSE(one->begin("third", start + 101h));
  CHECK(book.find(one->token(), start + 111h) == one);
  CHECK(book.find(one->token(), start + 112h) == nullptr);
}

TEST_CASE("the oldest previews make room, and neither what runs nor the newest does") {
  action_book book({.previews = 2, .results = 1, .events = 10});
  const auto running = book.add(plan_of(9), start);
  running->begin("why", start);
  std::vector<std::shared_ptr<action>> previews;
  for (int i = 1; i <= 3; ++i) previews.push_back(book.add(plan_of(1), start + std::chrono::seconds(i)));
  CHECK(book.find(previews[0]->token(), start + 3s) == nullptr);
  CHECK(book.find(previews[1]->token(), start + 3s) != nullptr);
  const auto large = book.add(plan_of(50), start + 4s);
  CHECK(book.find(large->token(), start + 4s) == large);
  CHECK(book.find(previews[2]->token(), start + 4s) == nullptr);
  CHECK(book.find(running->token(), start + 4s) == running);
}

TEST_CASE("an action tells how much is done, and of the rest what it had become") {
  action one("token", plan_of(10), start);
  one.begin("ticket 7", start);
  one.see({.handled = 8, .changed = 5, .otherwise = {{"gone", 2}, {"waiting", 1}}, .unsure = 2});
  auto told = one.told();
  CHECK(told.at("state") == "unsure");
  CHECK(told.at("handled") == 8);
  CHECK(told.at("changed") == 5);
  CHECK(told.at("otherwise") == nlohmann::json{{"gone", 2}, {"waiting", 1}});
  CHECK(told.at("unsure") == 2);
  one.see({.handled = 10, .changed = 7});
  one.end(action_state::failed, "the connection was lost", start);
  told = one.told();
  CHECK(told.at("state") == "failed");
  CHECK(told.at("handled") == 10);
  CHECK(told.at("changed") == 7);
  CHECK(told.at("unsure") == 0);
  CHECK(told.at("message") == "the connection was lost");
  CHECK(told.at("command") == "outboxd events retry --all --reason 'ticket 7' --yes");
}

TEST_CASE("an action that is to stop waits for nothing") {
  action one("token", plan_of(1), start);
  CHECK(one.wait_until(action::clock::now()));
  one.stop();
  CHECK_FALSE(one.wait_until(action::clock::now() + 1h));
}

}  // namespace outboxd::console::console_action_book_test
