// store_event_rows_test: what the columns of an event's row mean for the flow.
#include <doctest/doctest.h>

#include <map>

#include "made_rows.hpp"
#include "pg/binary.hpp"
#include "store/event_columns.hpp"
#include "store/event_rows.hpp"

namespace store_event_rows_test {

using namespace outboxd;
using namespace outboxd::store;
using outboxd::test::made_rows;
using outboxd::test::row_of_fields;
using pg::boolean;
using pg::int8;

namespace {

std::optional<std::string>& at(row_of_fields& row, event_column which) {
  return row[static_cast<std::size_t>(which)];
}

row_of_fields backing_off(const std::string& failure) {
  row_of_fields out(static_cast<std::size_t>(event_column::behind) + 1);
  at(out, event_column::id) = std::string(16, '\7');
  at(out, event_column::place) = std::string(6, '\1');
  for (const auto which : {event_column::seq, event_column::tx, event_column::hash, event_column::created_at})
    at(out, which) = int8(42);
  for (const auto which : {event_column::aggregate_type, event_column::aggregate_id, event_column::event_type,
                           event_column::payload, event_column::headers})
    at(out, which) = "{}";
  at(out, event_column::exception) = "backing_off";
  at(out, event_column::failure) = failure;
  at(out, event_column::available_at) = int8(43);
  at(out, event_column::behind) = boolean(false);
  return out;
}

flow::stored_event read_one(const row_of_fields& row) {
  auto all = read_events(made_rows({row}));
  REQUIRE(all.size() == 1);
  return all.front();
}

}  // namespace

TEST_CASE("who leads next knows of each failure whether its event travels alone") {
  const std::map<std::string, bool> all{{"channel_closed", true}, {"connection_closed", true},
                                        {"refused", false},       {"returned", false},
                                        {"nacked", false},        {"destination_down", false}};
  for (const auto& [code, alone] : all) {
    CAPTURE(code);
    const auto got = read_one(backing_off(code));
    CHECK(got.from == flow::exception::backing_off);
    CHECK(got.suspect == alone);
    CHECK_FALSE(got.waits_for);
    CHECK_FALSE(got.first_failed_at);
  }
}

TEST_CASE("and for which destination it waits, and since when it fails") {
  auto row = backing_off("returned");
  at(row, event_column::waits_for) = pg::int8(-7);
  at(row, event_column::first_failed_at) = pg::int8(5'000'000);
  const auto got = read_one(row);
  CHECK(got.waits_for == flow::destination_id{-7});
  CHECK(got.first_failed_at == pg::read_timestamp(pg::int8(5'000'000)));
}

TEST_CASE("a due event knows whether an earlier one of its aggregate waits") {
  auto row = backing_off("returned");
  CHECK_FALSE(read_one(row).earlier_waits);
  at(row, event_column::behind) = boolean(true);
  CHECK(read_one(row).earlier_waits);
}

TEST_CASE("counts that are null are 0, and a size stands for texts that have not come along") {
  auto row = backing_off("returned");
  CHECK(read_one(row).what.attempts == 0);
  CHECK(read_one(row).size == 10);  // five texts of two bytes
  CHECK_FALSE(read_one(row).withheld);
  at(row, event_column::attempts) = int8(3);
  at(row, event_column::size) = int8(1'000'000);
  CHECK(read_one(row).what.attempts == 3);
  CHECK(read_one(row).size == 1'000'000);
  CHECK(read_one(row).withheld);
}

TEST_CASE("a row tells in how many milliseconds it is due, if it is scheduled and not set aside yet") {
  auto row = backing_off("returned");
  CHECK_FALSE(read_one(row).due_in);
  at(row, event_column::due_in) = int8(500);
  CHECK(read_one(row).due_in == std::chrono::milliseconds(500));
}

TEST_CASE("rows of events are looked at before they are read: their columns, lengths, nulls and order") {
  const auto good = backing_off("returned");
  CHECK_FALSE(misfit_of_events(made_rows({good}), true));
  CHECK(misfit_of_events(made_rows({good}), false));  // too many columns
  for (int column = 0; column < static_cast<int>(good.size()); ++column) {
    auto row = good;
    auto& field = row[static_cast<std::size_t>(column)];
    const auto which = static_cast<event_column>(column);
    const bool may_be_null = which >= event_column::exchange && which != event_column::available_at &&
                             which != event_column::behind;
    field.reset();
    CHECK(misfit_of_events(made_rows({row}), true).has_value() != may_be_null);
  }
  auto withheld = good;
  at(withheld, event_column::payload).reset();
  CHECK(misfit_of_events(made_rows({withheld}), true));
  at(withheld, event_column::size) = int8(1'000'000);
  CHECK_FALSE(misfit_of_events(made_rows({withheld}), true));
  auto cut = good;
  at(cut, event_column::id) = std::string(15, '\7');
  CHECK(misfit_of_events(made_rows({cut}), true));
  row_of_fields head(good.size());
  at(head, event_column::head) = "{}";
  CHECK_FALSE(misfit_of_events(made_rows({head, head, good}), true));
  CHECK(misfit_of_events(made_rows({good, head}), true));
}

}  // namespace store_event_rows_test
