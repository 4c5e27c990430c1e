#include "relay/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pg/binary.hpp"

namespace outboxd::relay {
namespace {

// A sample that takes longer than this would burden a busy server, so it is cancelled.
constexpr auto longest_sample = std::chrono::seconds(1);

table_sample read_sample(const pg::rows& from) {
  const auto number = [&](int index) { return pg::read_int8(from.at(0, index)); };
  const auto seconds = [&](int index) {
    return from.is_null(0, index) ? 0.0 : static_cast<double>(number(index)) / 1'000;
  };
  table_sample out;
  out.at = std::chrono::system_clock::now();
  const auto due = number(3);
  out.pending = number(0);
  out.backlog = out.pending + due;
  out.backlog_is_estimate = pg::read_bool(from.at(0, 1)) || due >= table_sample::exact_to;
  out.waiting = number(2);
  out.dead = number(4);
  out.published = std::max<std::int64_t>(0, number(5) - out.pending - out.waiting - out.dead);
  out.oldest_due_seconds = seconds(6);
  out.oldest_waiting_seconds = seconds(7);
  out.oldest_failing_seconds = seconds(8);
  return out;
}

}  // namespace

sampler::sampler(const boost::asio::any_io_executor& on, const postgres_settings& settings, teller tell)
    : settings_(settings), tell_(std::move(tell)), session_(on, settings) {}

boost::asio::awaitable<void> sampler::run() {
  co_await session_.run([this](pg::connection& link) { return serve(link); });
}

boost::asio::awaitable<result<void>> sampler::serve(pg::connection& link) {
  pg::pipeline first;
  first.text(fmt::format("SET statement_timeout = {}", std::chrono::milliseconds(longest_sample).count()));
  for (auto& one : store::relay_statements(settings_.schema, payload_type::jsonb, settings_.after_publish, {},
                                           settings_.clock_tolerance))
    if (one.name == store::statement::sample) first.prepare(std::move(one.name), std::move(one.sql));
  OUTBOXD_CO_TRY_VOID(co_await link.execute(std::move(first), settings_.connect_timeout));
  while (!session_.stopping()) {
    pg::pipeline steps;
    steps.run(std::string(store::statement::sample), {pg::int8(table_sample::exact_to)});
    const auto found = co_await link.execute(std::move(steps), settings_.claim_timeout);
    if (!found && (link.lost() || !is_of_the_statement(link.last_sqlstate())))
      co_return tl::make_unexpected(found.error());
    session_.reset_pause();
    if (!found && std::exchange(said_, found.error().message) != found.error().message)
      tell_(tl::make_unexpected(found.error()));
    if (found) said_.clear();
    if (found && !session_.stopping()) tell_(read_sample(found->front()));
    co_await session_.rest(link, kept_session::clock::now() + sample_interval);
    if (link.lost()) co_return tl::make_unexpected(*link.lost());
  }
  co_return result<void>();
}

}  // namespace outboxd::relay
