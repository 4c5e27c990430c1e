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
  constexpr std::int64_t batch_bytes = 8'000'000;
  constexpr int shards = 16;
  session_.exec(pg::session_settings(30s));
  for (const auto& one : pg::lane_statements(outbox(), 30s))
    if (one.name == pg::statement::claim || one.name == pg::statement::mark_published)
      session_.exec(fmt::format("PREPARE {} AS {}", one.name, one.sql));
  claim_ = fmt::format("EXECUTE {}({}, {}, {})", pg::statement::claim, batch, batch_bytes, shards);
  mark_ = fmt::format("EXECUTE {}(", pg::statement::mark_published);
}

test::result_rows claimer::claim() {
  auto rows = session_.exec(claim_);
  // One row of nulls: others had been faster.
  if (rows.size() == 1 && !rows[0][0]) rows.clear();
  return rows;
}

std::int64_t claimer::claim_and_mark() {
  session_.exec("BEGIN ISOLATION LEVEL READ COMMITTED");
  const auto rows = claim();
  if (!rows.empty()) {
    std::string ids;
    for (const auto& row : rows) ids += (ids.empty() ? "" : ",") + *row[0];
    session_.exec(mark_ + "'{" + ids + "}')");
  }
  session_.exec("COMMIT");
  return static_cast<std::int64_t>(rows.size());
}

double claimer::claim_milliseconds() {
  session_.exec("BEGIN ISOLATION LEVEL READ COMMITTED");
  const auto began = std::chrono::steady_clock::now();
  claim();
  const auto took = std::chrono::steady_clock::now() - began;
  session_.exec("ROLLBACK");
  return std::chrono::duration<double, std::milli>(took).count();
}

}  // namespace outboxd::bench
