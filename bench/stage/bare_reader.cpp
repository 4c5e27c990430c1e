#include "stage/bare_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "store/event_columns.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::bench {
namespace {

using column = store::event_column;

pg::schema_name outbox() {
  auto name = pg::schema_name::parse("outbox");
  if (!name) throw std::logic_error("outbox is a good name for a schema");
  return *name;
}

flow::snapshot parse(const std::string& text) {
  auto found = flow::snapshot::parse(text);
  if (!found) throw std::runtime_error("this is no snapshot: " + text);
  return *found;
}

const test::cell& of(const test::cells& row, column which) {
  return row.at(static_cast<std::size_t>(which));
}

}  // namespace

// The settings that determine the plans, as in relay/database_session.cpp.
bare_reader::bare_reader(const stage& where, int batch) : session_(where.connect()), batch_(batch) {
  session_.exec("SET search_path = pg_catalog, pg_temp; SET synchronous_commit = off");
  session_.exec(fmt::format("SELECT {}", store::planner_settings));
  for (const auto& one : store::relay_statements(outbox(), payload_type::jsonb, store::after_publish::keep))
    if (one.name == store::statement::read || one.name == store::statement::mark)
      session_.exec(fmt::format("PREPARE {} AS {}", one.name, one.sql));
  at_ = flow::position::start(parse(session_.value("SELECT pg_current_snapshot()")));
}

test::result_rows bare_reader::read() {
  constexpr std::int64_t largest = 1'000'000'000;  // bytes
  constexpr auto last_seq = std::numeric_limits<std::int64_t>::max();
  constexpr flow::xid all = 1'000'000'000;  // transactions that one read may scan
  return session_.exec(fmt::format("EXECUTE {}({}, 0, 0, '{}', '{{{}}}', '{}', '{}', {}, {}, false, '{{}}')",
                                   store::statement::read, largest, at_.seq,
                                   fmt::join(at_.seen.in_progress, ","), at_.seen.xmax, at_.seen.xmax + all,
                                   last_seq, batch_));
}

void bare_reader::mark(const test::result_rows& rows) {
  std::string ids;
  std::string places;
  std::string seqs;
  std::string txs;
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  std::int64_t highest = 0;
  for (const auto& row : rows) {
    if (!of(row, column::id)) continue;  // the header row
    const std::int64_t seq = std::stoll(*of(row, column::seq));
    lowest = std::min(lowest, seq);
    highest = std::max(highest, seq);
    const bool first = ids.empty();
    ids += (first ? "" : ",") + *of(row, column::id);
    places += (first ? "\"" : ",\"") + *of(row, column::place) + "\"";
    seqs += (first ? "" : ",") + *of(row, column::seq);
    txs += (first ? "" : ",") + *of(row, column::tx);
  }
  session_.exec(fmt::format("EXECUTE {}('{{{}}}', '{{{}}}', '{{{}}}', '{{{}}}', {}, {})",
                            store::statement::mark, ids, places, seqs, txs, lowest, highest));
}

std::int64_t bare_reader::read_and_mark() {
  const auto rows = read();
  const auto found = static_cast<std::int64_t>(rows.size()) - 1;
  if (found == 0) return 0;
  mark(rows);
  std::int64_t last = at_.seq;
  for (const auto& row : rows)
    if (of(row, column::id)) last = std::max(last, std::int64_t{std::stoll(*of(row, column::seq))});
  at_.advance(last, parse(nlohmann::json::parse(*of(rows.front(), column::head)).at("snapshot")));
  return found;
}

double bare_reader::read_milliseconds() {
  const auto began = std::chrono::steady_clock::now();
  read();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

void bare_reader::go_to_end() {
  const auto now = session_.exec("SELECT coalesce(max(seq), 0), pg_current_snapshot() FROM outbox.event");
  at_ = {std::stoll(*now[0][0]), parse(*now[0][1])};
}

}  // namespace outboxd::bench
