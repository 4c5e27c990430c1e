// Fuzzes rows of events: any types, lengths and nulls, as from a server with another schema. Reading them,
// and making messages of them, touches nothing outside of the rows.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/to_message.hpp"
#include "input.hpp"
#include "store/event_columns.hpp"
#include "store/event_rows.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

constexpr int columns = static_cast<int>(store::event_column::exception);       // of `read`
constexpr int all_columns = static_cast<int>(store::event_column::behind) + 1;  // of the others

// Without a row.
PGresult* make_columns(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("c" + std::to_string(i));
  std::vector<PGresAttDesc> attributes(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    attributes[i].name = names[i].data();
    attributes[i].format = 1;
  }
  PGresult* const made = PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK);
  must(PQsetResultAttrs(made, count, attributes.data()) == 1, "libpq takes the columns");
  return made;
}

// For each field a length byte (255: null) and the bytes.
pg::rows make_rows(fuzz::input& in) {
  const int count = in.byte() % 2 == 0 ? columns : all_columns;
  PGresult* const made = make_columns(count);
  for (int row = 0; !in.empty() && row < 16; ++row) {
    for (int column = 0; column < count; ++column) {
      const int length = in.byte();
      std::string bytes(length == 255 ? std::string_view() : in.take(static_cast<std::size_t>(length)));
      must(PQsetvalue(made, row, column, bytes.data(), length == 255 ? -1 : static_cast<int>(bytes.size())) ==
               1,
           "libpq takes the field");
    }
  }
  return pg::rows(made);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  constexpr std::array<Oid, 5> types{17, 25, 114, 3802, 16};
  const auto payload = store::payload_type_of(types.at(in.byte() % types.size()));
  const auto from = make_rows(in);
  const auto events = store::read_events(from);
  must(events.size() <= static_cast<std::size_t>(from.size()), "no event without a row");
  if (!payload) return 0;
  const routing by;
  for (const flow::stored_event& one : events) {
    must(one.storage != nullptr, "an event keeps its row");
    const message made = to_message(one.what, *payload, by);
    must(made.message_id.size() == 36, "an id has its usual form");
    must(made.occurred_at.ends_with('Z'), "a time is in UTC");
    // Every byte is looked at, so that a view which is too long is found.
    std::size_t sum = 0;
    for (const auto text : {made.body, made.headers, made.type, made.aggregate_id, made.aggregate_type,
                            made.exchange, made.routing_key})
      for (const char c : text) sum += static_cast<unsigned char>(c);
    must(sum < std::size_t{1} << 30U, "a row is small here");
  }
  return 0;
}
