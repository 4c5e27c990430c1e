#include "relay/store_session.hpp"

#include <utility>

#include "core/failpoint.hpp"
#include "pg/binary.hpp"
#include "relay/round_trip.hpp"

namespace outboxd::relay {

boost::asio::awaitable<result<flow::saved_position>> store_session::load(shard_view& of) {
  pg::pipeline ask;
  ask.run(std::string(pg::statement::load), {pg::int4(of.shard)});
  const auto answers = co_await link_.execute(std::move(ask), timeout_);
  if (!answers) co_return tl::make_unexpected(answers.error());
  const pg::rows& row = answers->front();
  if (row.size() == 0) co_return transient("the shard is not there any more");
  const auto now = flow::snapshot::parse(row.at(0, 3));
  const auto seen = flow::snapshot::parse(row.at(0, 1));
  if (!now) co_return permanent("PostgreSQL has sent a snapshot that this version of outboxd cannot read");
  of.shards = static_cast<int>(pg::read_int8(row.at(0, 4)));
  of.rings = pg::read_bool(row.at(0, 5));
  of.afresh = pg::read_bool(row.at(0, 6));
  of.server_time = pg::read_timestamp(row.at(0, 7));
  flow::saved_position out{flow::position::start(*now), {}};
  if (row.is_null(0, 0) || !seen) co_return out;
  out.at = {pg::read_int8(row.at(0, 0)), *seen};
  out.unsettled = pg::read_uuid_array(row.at(0, 2));
  co_return out;
}

boost::asio::awaitable<result<flow::store_answer>> store_session::execute(const flow::store_request& what,
                                                                          const shard_view& of) {
  round_trip trip(what, of);
  if (!what.marks.ids.empty()) failpoint("marking");
  auto got = co_await link_.execute_segments(trip.steps(), timeout_);
  if (!got) co_return tl::make_unexpected(got.error());
  co_return trip.answer(std::move(*got));
}

}  // namespace outboxd::relay
