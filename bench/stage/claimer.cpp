#include "stage/claimer.hpp"

#include <fmt/format.h>

#include <chrono>

#include "pg/outbox_statements.hpp"

namespace outboxd::bench {
namespace {

using namespace std::chrono_literals;

pg::schema_name outbox() {
  auto name = pg::schema_name::parse("outbox");
  if (!name) throw std::logic_error("outbox is a good name for a schema");
  return *name;
}

}  // namespace

claimer::claimer(const stage& where, int batch) : session_(where.connect()) {
  constexpr std::int64_t largest = 1'000'000'000;  // bytes
  constexpr int shards = 16;
  session_.exec(pg::session_settings(30s));
  for (const auto& one : pg::lane_statements(outbox(), 30s, pg::after_publish::keep))
    if (one.name == pg::statement::take_shards || one.name == pg::statement::claim ||
        one.name == pg::statement::mark_published)
      session_.exec(fmt::format("PREPARE {} AS {}", one.name, one.sql));
  take_ = fmt::format("EXECUTE {}({}, ", pg::statement::take_shards, shards);
  claim_ = fmt::format("EXECUTE {}({}, {})", pg::statement::claim, batch, largest);
  mark_ = fmt::format("EXECUTE {}(", pg::statement::mark_published);
}

test::result_rows claimer::claim() {
  session_.exec(take_ + floors_ + ", 0)");
  return session_.exec(claim_);
}

// As a relay does: the next one goes on where this one has come to.
void claimer::look() {
  const auto found = session_.exec("SELECT floors, settled FROM outbox.sweep(0, " + floors_ + ")");
  const auto literal = [](const test::cell& value) { return value ? "'" + *value + "'" : "NULL"; };
  floors_ = literal(found[0][0]) + ", " + literal(found[0][1]) + ", NULL";
}

std::int64_t claimer::claim_and_mark() {
  session_.exec("BEGIN ISOLATION LEVEL READ COMMITTED");
  const auto rows = claim();
  if (!rows.empty()) {
    std::string ids;
    std::string places;
    for (const auto& row : rows) {
      const bool first = ids.empty();
      ids += (first ? "" : ",") + *row[0];
      places += (first ? "\"" : ",\"") + *row[1] + "\"";
    }
    session_.exec(mark_ + "'{" + ids + "}', '{" + places + "}')");
  }
  session_.exec("COMMIT");
  return static_cast<std::int64_t>(rows.size());
}

double claimer::claim_milliseconds() {
  look();
  session_.exec("BEGIN ISOLATION LEVEL READ COMMITTED");
  const auto began = std::chrono::steady_clock::now();
  claim();
  const auto took = std::chrono::steady_clock::now() - began;
  session_.exec("ROLLBACK");
  return std::chrono::duration<double, std::milli>(took).count();
}

}  // namespace outboxd::bench
