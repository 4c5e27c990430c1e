#include "store/store_session.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/failpoint.hpp"
#include "pg/answer_shape.hpp"
#include "pg/binary.hpp"
#include "store/round_trip.hpp"

namespace outboxd::store {

boost::asio::awaitable<result<flow::saved_position>> store_session::load(shard_view& of) {
  pg::pipeline ask;
  ask.run(std::string(statement::load), {pg::int4(of.shard)});
  OUTBOXD_CO_TRY(const auto answers, co_await link_.execute(std::move(ask), timeout_));
  const pg::rows& row = answers.front();
  if (row.size() == 0) co_return transient("the shard no longer exists");
  static constexpr std::array cells{pg::number_or_null_cell, pg::text_or_null_cell, pg::text_cell,
                                    pg::text_cell,           pg::number_cell,       pg::boolean_cell,
                                    pg::boolean_cell,        pg::number_cell};
  if (const auto why = pg::misfit(row, {.cells = cells, .most_rows = 1}))
    co_return transient(
        fmt::format("PostgreSQL has answered the statement {} with {}", statement::load, *why));
  const auto now = flow::snapshot::parse(row.at(0, 3));
  const auto seen = flow::snapshot::parse(row.at(0, 1));
  if (!now) co_return permanent("PostgreSQL has sent a snapshot that this version of outboxd cannot read");
  const auto shards = pg::read_int8(row.at(0, 4));
  if (shards <= of.shard || shards > most_shards || (shards & (shards - 1)) != 0)
    co_return transient(fmt::format(
        "the outbox has {} shards, which is not a power of two up to {}: `outboxd migrate` repairs it",
        shards, most_shards));
  of.shards = static_cast<int>(shards);
  of.rings = pg::read_bool(row.at(0, 5));
  of.afresh = pg::read_bool(row.at(0, 6));
  of.server_time = pg::read_timestamp(row.at(0, 7));
  flow::saved_position out{flow::position::start(*now), {}};
  if (row.is_null(0, 0) || !seen) co_return out;
  out.at = {pg::read_int8(row.at(0, 0)), *seen};
  out.unsettled = pg::read_int8_array(row.at(0, 2));
  co_return out;
}

boost::asio::awaitable<result<flow::store_answer>> store_session::execute(const flow::store_request& what,
                                                                          const shard_view& of) {
  round_trip trip(what, of);
  if (what.find<flow::mark_request>() != nullptr) failpoint("marking");
  OUTBOXD_CO_TRY(auto got, co_await link_.execute_segments(trip.steps(), timeout_));
  co_return trip.answer(std::move(got));
}

}  // namespace outboxd::store
