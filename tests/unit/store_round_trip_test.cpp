// store_round_trip_test: what a request of the flow asks PostgreSQL for, and what the answers mean.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "made_rows.hpp"
#include "pg/binary.hpp"
#include "request_by_name.hpp"
#include "store/event_columns.hpp"
#include "store/round_trip.hpp"

namespace store_round_trip_test {

using namespace outboxd;
using namespace outboxd::store;
using outboxd::test::made_rows;

namespace {

event_key key_of(std::uint8_t number) {
  return {.id = {.bytes = {number}}, .seq = number, .tx = 7};
}

// Of the event that was named at this place, from 1 on.
std::string number(std::int64_t of) {
  return pg::int8(of);
}

flow::store_request failing(flow::exception to, std::string reason) {
  flow::store_request out;
  out.add(
      flow::record_request{{{.key = key_of(1), .to = to, .code = "returned", .reason = std::move(reason)}}});
  return out;
}

bool commits_for_good(const flow::store_request& what) {
  const shard_view of;
  const auto pipeline = round_trip(what, of).steps();
  return std::ranges::any_of(pipeline.steps(), [](const pg::step& one) {
    return one.sql.find("set_config('synchronous_commit', 'local', true)") != std::string::npos;
  });
}

const std::string yes("\1", 1);
const std::string no("\0", 1);

flow::store_request marks_of(std::uint8_t events) {
  flow::mark_request marks{.keys = {}, .places = {}, .mode = flow::mark_mode::by_key};
  for (std::uint8_t one = 1; one <= events; ++one) {
    marks.keys.push_back(key_of(one));
    marks.sent.emplace_back();
  }
  flow::store_request out;
  out.add(std::move(marks));
  return out;
}

// One segment with these answers.
auto round_trip_with(const flow::store_request& what, std::vector<pg::rows> rows) {
  const shard_view of;
  round_trip trip(what, of);
  trip.steps();
  std::vector<pg::connection::segment> segments(1);
  segments.front().answers = std::move(rows);
  return trip.answer(std::move(segments));
}

test::named_answers answer_to(const flow::store_request& what, std::vector<pg::rows> rows) {
  auto out = round_trip_with(what, std::move(rows));
  REQUIRE(out);
  return {what, std::move(*out)};
}

}  // namespace

TEST_CASE("a death is written so that no crash of the server undoes it, and other failures need not be") {
  CHECK(commits_for_good(failing(flow::exception::dead, "given up")));
  CHECK_FALSE(commits_for_good(failing(flow::exception::backing_off, "returned")));
  CHECK_FALSE(commits_for_good(failing(flow::exception::parked, "")));
}

TEST_CASE("a reason is written in UTF-8, whatever the broker has said") {
  const auto what = failing(flow::exception::backing_off, "no queue \xED\xA0\x80");
  const shard_view of;
  const auto pipeline = round_trip(what, of).steps();
  REQUIRE(pipeline.steps().front().name == store::statement::record);
  const std::vector<std::optional<std::string>> written{"no queue ???"};
  const auto& parameters = pipeline.steps().front().parameters;
  CHECK(parameters.at(7) == pg::text_array(written));
}

TEST_CASE("what is unfinished and was not recorded has been locked by somebody") {
  flow::store_request what;
  what.add(
      flow::record_request{{{.key = key_of(1), .code = {}, .reason = {}},
                            {.key = key_of(2), .code = {}, .reason = {}},
                            {.key = key_of(3), .code = {}, .reason = {}}}});  // gone, or finished by hand
  const auto got = answer_to(what, {made_rows({{number(1)}}), made_rows({{number(1)}, {number(2)}})});
  CHECK(got.failures.result == flow::write_result::done);
  CHECK(got.failures.left == std::vector{key_of(2)});
}

TEST_CASE("marks by place that meet fewer rows than they name have missed") {
  flow::store_request what;
  what.add(flow::mark_request{.keys = {key_of(1)}, .places = {{}}});
  CHECK(answer_to(what, {made_rows({})}).marks.result == flow::write_result::missed);
}

TEST_CASE("marks by key leave what somebody has locked, and tell what somebody has changed") {
  const auto what = marks_of(3);
  const auto marked = made_rows({{number(1), no}, {number(3), yes}});
  const auto got = answer_to(what, {marked, made_rows({{number(2)}})});
  CHECK(got.marks.result == flow::write_result::done);
  CHECK(got.marks.left == std::vector{key_of(2)});
  CHECK(got.marks.changed == std::vector{key_of(3)});
}

TEST_CASE("an answer that tells of a change of another event, or of none, ends the session and says so") {
  const auto what = marks_of(2);
  for (const auto& wrong : {made_rows({{number(3), yes}}), made_rows({{number(0), yes}}),
                            made_rows({{std::nullopt, yes}}), made_rows({{number(1)}})})
    CHECK_FALSE(round_trip_with(what, {wrong, made_rows({{number(2)}})}));
}

TEST_CASE("an answer that names another event, or one twice, or none, ends the session and says so") {
  const auto what = marks_of(2);
  for (const auto& wrong :
       {made_rows({{number(3)}}), made_rows({{number(0)}}), made_rows({{number(2)}, {number(2)}}),
        made_rows({{std::nullopt}}), made_rows({{std::string("2")}}), made_rows({{number(1), number(2)}})}) {
    const auto got = round_trip_with(what, {made_rows({{number(1), no}}), wrong});
    REQUIRE_FALSE(got);
    CHECK(got.error().message.find("unfinished") != std::string::npos);
  }
}

TEST_CASE("what is saved names the events below it that are not settled") {
  flow::store_request what;
  what.add(flow::save_request{.at = {.seq = 7, .seen = {3, 3, {}}}, .unsettled = {5}});
  shard_view of;
  of.shard = 2;
  const auto pipeline = round_trip(what, of).steps();
  CHECK(pipeline.steps().front().name == store::statement::save);
  CHECK(pipeline.steps().front().parameters ==
        std::vector<std::string>{pg::int4(2), pg::int8(7),
                                 "3:3:", pg::int8_array(std::vector<std::int64_t>{5})});
}

namespace {

// A read that has seen up to transaction 10, answered by this head.
result<flow::tried<flow::read_answer>> read_answered(const std::string& head) {
  flow::store_request what;
  what.add(flow::read_request{.from = {.seq = 7, .seen = {10, 10, {}}}, .seq_limit = 100, .events = 5});
  const shard_view of;
  round_trip trip(what, of);
  trip.steps();
  std::vector<std::optional<std::string>> row(static_cast<std::size_t>(store::event_column::head) + 1);
  row.back() = head;
  std::vector<pg::connection::segment> segments(1);
  segments.front().answers = {made_rows({row})};
  auto got = trip.answer(std::move(segments));
  if (!got) return tl::make_unexpected(got.error());
  return test::named_answers(what, std::move(*got)).read;
}

}  // namespace

TEST_CASE("a read has seen as far as PostgreSQL says that it has looked") {
  const auto part = read_answered(R"({"snapshot":"900:900:","upto":"30","late":0,"queue":0.25})");
  REQUIRE(part);
  CHECK_FALSE(part->answer.saw_all);
  CHECK(part->answer.now == flow::snapshot{30, 30, {}});
  CHECK(part->answer.xmax == 900);
  const auto all = read_answered(R"({"snapshot":"900:900:","upto":"900","late":0})");
  REQUIRE(all);
  CHECK(all->answer.saw_all);
  CHECK(all->answer.now == flow::snapshot{900, 900, {}});
  constexpr auto last = std::numeric_limits<flow::xid>::max();
  const auto far = read_answered(
      R"({"snapshot":"18446744073709551615:18446744073709551615:","upto":"18446744073709551615","late":0})");
  REQUIRE(far);
  CHECK(far->answer.saw_all);
  CHECK(far->answer.now == flow::snapshot{last, last, {}});
}

TEST_CASE("an answer that goes back behind the position, or says nothing of it, ends the session") {
  CHECK_FALSE(read_answered(R"({"snapshot":"900:900:","upto":"9","late":0})"));
  CHECK_FALSE(read_answered(R"({"snapshot":"900:900:","upto":"901","late":0})"));
  CHECK_FALSE(read_answered(R"({"snapshot":"900:900:","late":0})"));
  CHECK_FALSE(read_answered(R"({"snapshot":"900:900:","upto":30,"late":0})"));
  CHECK_FALSE(read_answered(R"({"snapshot":"900:900:","upto":"30x","late":0})"));
}

}  // namespace store_round_trip_test
