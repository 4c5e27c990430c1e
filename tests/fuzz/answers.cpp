// Fuzzes the answers of a round trip: rows missing, doubled, of another event or another shard, of other
// lengths, null where none may be, results missing or too many. Either the session is given up with words, or
// what is taken from it is what was asked for.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "../unit/request_by_name.hpp"
#include "input.hpp"
#include "pg/binary.hpp"
#include "store/event_columns.hpp"
#include "store/round_trip.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

event_key key_of(int number) {
  event_key out;
  out.id.bytes[15] = static_cast<std::uint8_t>(number);
  out.seq = number;
  out.tx = 7;
  return out;
}

flow::store_request everything(bool by_place, bool keys_only) {
  flow::record_request failures;
  flow::mark_request marks;
  flow::look_request looks;
  flow::fetch_request fetch;
  for (int i = 1; i <= 3; ++i)
    failures.failures.push_back({.key = key_of(i), .code = "nacked", .reason = "r"});
  marks.places.resize(3);
  marks.mode = by_place ? flow::mark_mode::by_place : flow::mark_mode::unlocked;
  for (int i = 4; i <= 6; ++i) {
    marks.keys.push_back(key_of(i));
    if (!by_place) marks.sent.push_back({});
    looks.rows.push_back({.key = key_of(i), .place = {}, .written_by = 0});
  }
  for (int i = 7; i <= 9; ++i) fetch.keys.push_back(key_of(i));
  flow::store_request out;
  out.keys_only = keys_only;
  out.add(std::move(failures));
  out.add(std::move(marks));
  out.add(flow::save_request{});
  out.add(std::move(looks));
  out.add(std::move(fetch));
  out.add(flow::walk_request{});
  out.add(flow::read_request{.from = {}, .seq_limit = 100, .events = 3, .with_summary = true});
  out.add(flow::check_request{});
  out.add(flow::due_request{.after = {}, .events = 3});
  out.add(flow::laggards_request{.of = {{2, 0}}, .seq_span = 100, .events = 3});
  out.add(flow::left_request{{1, 2}});
  out.add(flow::release_request{.of = {2, 4}, .events = 2});
  out.add(flow::pauses_request{});
  out.add(flow::dead_request{});
  out.add(flow::held_request{});
  out.add(flow::failing_destinations_request{.after = {}, .give_up_after = {}});
  out.add(flow::waiting_events_request{.of = {{.of = flow::destination_id{1}, .after = 0}}});
  out.add(flow::resume_request{.after = 0, .events = 3, .paused = {}});
  return out;
}

// The right number of columns, for each statement.
int columns_of(const std::string& statement) {
  constexpr int of_read = static_cast<int>(store::event_column::head) + 1;
  constexpr int of_events = static_cast<int>(store::event_column::behind) + 1;
  static const std::map<std::string, int> all{
      {"record", 1}, {"unfinished", 1}, {"mark", 0},   {"save", 0}, {"read", of_read},  {"walk", 3},
      {"held", 3},   {"waits", 3},      {"pauses", 5}, {"dead", 2}, {"mark_by_key", 2}, {"look", 1}};
  const auto found = all.find(statement);
  return found == all.end() ? of_events : found->second;
}

// A field of a length that is often right, and often of what was asked for.
std::string field(fuzz::input& in, int column, bool& null) {
  const int kind = in.byte();
  null = kind == 255;
  if (null) return {};
  const auto key = key_of(kind % 12);
  if (kind >= 200) {
    const auto* const bytes = reinterpret_cast<const char*>(key.id.bytes.data());
    switch (column) {
      case 0:
        return {bytes, key.id.bytes.size()};
      case 1:
        return std::string(6, '\1');
      case 2:
        return pg::int8(key.seq);
      case 3:
        return pg::int8(7);
      default:
        return pg::int8(kind % 4);
    }
  }
  if (kind >= 190)
    return R"({"snapshot":"3:9:","upto":"9","late":1,"lowest_late":1,"top":5,"hash":2,"more":true})";
  if (kind >= 180) return pg::int8(kind % 5);
  if (kind >= 178) return std::string(1, '\1');
  return std::string(in.take(static_cast<std::size_t>(kind % 24)));
}

pg::rows make_rows(fuzz::input& in, int columns) {
  std::vector<std::string> names;
  for (int i = 0; i < columns; ++i) names.push_back("c" + std::to_string(i));
  std::vector<PGresAttDesc> attributes(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    attributes[i].name = names[i].data();
    attributes[i].format = 1;
  }
  PGresult* const made = PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK);
  if (columns > 0) must(PQsetResultAttrs(made, columns, attributes.data()) == 1, "libpq takes the columns");
  const int rows = columns > 0 ? in.byte() % 5 : 0;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      bool null = false;
      std::string bytes = field(in, column, null);
      must(PQsetvalue(made, row, column, bytes.data(), null ? -1 : static_cast<int>(bytes.size())) == 1,
           "libpq takes the field");
    }
  return pg::rows(made);
}

void check(const std::vector<flow::stored_event>& events) {
  for (const flow::stored_event& one : events) {
    must((one.what.aggregate & 1) == 0, "every event is of this shard");
    must(one.storage != nullptr, "an event keeps its row");
    must(one.withheld || one.what.headers.data() != nullptr, "an event that came whole has its texts");
  }
}

template <class Keys>
void check_keys(const Keys& asked, std::vector<event_key> got) {
  std::sort(got.begin(), got.end());
  must(std::adjacent_find(got.begin(), got.end()) == got.end(), "no event comes twice");
  for (const event_key& one : got)
    must(std::find(asked.begin(), asked.end(), one) != asked.end(), "none comes that was not asked for");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const int mode = in.byte();
  const auto asked = everything((mode & 1) != 0, (mode & 2) != 0);
  store::shard_view view;
  view.shards = 2;
  view.largest = 100;
  store::round_trip trip(asked, view);
  const auto steps = trip.steps();
  std::vector<pg::connection::segment> segments(1);
  for (const pg::step& one : steps.steps()) {
    if (one.what == pg::step::kind::end) {
      segments.emplace_back();
      continue;
    }
    auto& into = segments.back();
    const int kind = in.byte();
    if (kind == 1) into.refusal = error{fault::transient, "refused"}, into.sqlstate = "22021";
    if (kind == 2) into.refusal = error{fault::transient, "put off"}, into.sqlstate = "55P03";
    if (into.refusal) continue;
    into.answers.push_back(make_rows(in, kind == 3 ? in.byte() % 30 : columns_of(one.name)));
  }
  segments.pop_back();
  const auto got = trip.answer(std::move(segments));
  if (!got) {
    must(!got.error().message.empty(), "it is said why the session is given up");
    return 0;
  }
  const test::named_request questions(asked);
  const test::named_answers all(asked, *got);
  for (const auto* some :
       {&all.read.answer.rows, &all.due.answer.rows, &all.laggards.answer.rows, &all.fetched.answer,
        &all.left.answer, &all.released.answer.rows, &all.resumed.answer.rows})
    check(*some);
  std::vector<event_key> fetched;
  for (const auto& one : all.fetched.answer) fetched.push_back(one.what.key());
  check_keys(questions.fetch, fetched);
  check_keys(questions.marks.keys, all.marks.left);
  std::vector<event_key> recorded;
  for (const auto& one : questions.failures) recorded.push_back(one.key);
  check_keys(recorded, all.failures.left);
  return 0;
}
