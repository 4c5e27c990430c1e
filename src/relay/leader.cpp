#include "relay/leader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "pg/binary.hpp"
#include "pg/transport_risk.hpp"

namespace outboxd::relay {
namespace {

// Executes each writing statement once, without any event, so that a missing privilege is noticed now and not
// at the first event.
void add_privilege_probe(pg::pipeline& to) {
  const auto none = pg::uuid_array({});
  const auto no_tx = pg::xid8_array({});
  const auto no_number = pg::int8_array(std::vector<std::int64_t>());
  const auto no_text = pg::text_array({});
  to.run(std::string(store::statement::mark),
         {none, pg::tid_array({}), no_number, no_tx, pg::int8(0), pg::int8(0)});
  to.run(std::string(store::statement::mark_by_key),
         {none, no_number, no_tx, pg::xid_array({}), pg::bytea_array({})});
  to.run(std::string(store::statement::record), {none, no_number, no_tx, no_text, no_number, no_number,
                                                 no_text, no_text, no_text, no_number, no_text, no_text});
  to.run(std::string(store::statement::save), {pg::int4(-1), pg::int8(0), "3:3:", no_number});
  to.run(std::string(store::statement::by_key),
         {pg::int8(0), pg::int8(0), pg::int8(0), none, no_number, no_tx, pg::int8(0)});
}

boost::asio::awaitable<void> keep(std::shared_ptr<sleep_lock> lock) {
  co_await lock->run();
}

// Selects the settings that the flow needs.
flow::leader_limits limits_of(const leader_settings& settings) {
  return {.stream = settings.stream,
          .doorbell = settings.doorbell,
          .sweep_interval = settings.sweep_interval,
          .claim_timeout = settings.database.claim_timeout,
          .standby_interval = settings.standby_interval};
}

}  // namespace

leader::leader(const boost::asio::any_io_executor& on, const leader_settings& settings, flow::lanes& lanes,
               flow::fair_share& share, leader_host& host)
    : executor_(on),
      settings_(settings),
      host_(host),
      pause_(on),
      flow_(
          lanes, share, limits_of(settings),
          [this](const flow::any_notice& what) { std::visit([this](const auto& one) { take(one); }, what); },
          host.steps()),
      lock_holders_(settings.database.schema, settings.database.claim_timeout) {
  view_.patience = settings.database.claim_timeout;
  measure_by_settings();
}

void leader::measure_by_settings() {
  const auto& stream = settings_.stream;
  view_.largest = std::max<std::int64_t>(1, stream.batch_bytes / stream.read.batch);
  view_.together = stream.batch_bytes;
}

boost::asio::awaitable<void> leader::run() {
  while (!flow_.stopping()) {
    latest_turn_ = clock::now();
    pg::connection link(executor_);
    current_ = &link;
    const auto opened = co_await open(link);
    auto kind = fault::transient;
    if (opened) {
      host_.on_link_up(peer::database);
      if (const auto risk = pg::transport_risk(link.server(), link.encrypted(), link.sslmode()))
        host_.on_open_to_network(*risk);
      const error why = co_await serve(link);
      count_senders(link);
      flow_.on_lost(clock::now());
      kind = why.kind;
      host_.on_link_down(peer::database, why);
    } else {
      kind = opened.error().kind;
      host_.on_link_refused(peer::database, opened.error());
    }
    current_ = nullptr;
    if (!flow_.stopping()) co_await pause_.wait(kind);
  }
}

boost::asio::awaitable<result<void>> leader::open(pg::connection& link) {
  OUTBOXD_CO_TRY(const auto found, co_await open_session(link, settings_.database, session_use::stream));
  OUTBOXD_CO_TRY(auto succeeds, co_await succeed(link, settings_.database, session_, found.may));
  session_ = std::move(succeeds);
  may_ = found.may;
  if (!found.goes_without.empty()) host_.tell(notice::goes_without{found.goes_without});
  if (found.version > store::schema_version) host_.tell(notice::newer_schema{found.version});
  if (const auto why = misfit(settings_.stream.route, found.payload)) co_return permanent(*why);
  payload_ = found.payload;
  pg::pipeline steps;
  for (auto& one :
       store::relay_statements(settings_.database.schema, *payload_, settings_.database.after_publish, may_,
                               settings_.database.clock_tolerance))
    steps.prepare(std::move(one.name), std::move(one.sql));
  add_privilege_probe(steps);
  OUTBOXD_CO_TRY_VOID(co_await link.execute(std::move(steps), settings_.database.connect_timeout));
  co_return result<void>();
}

boost::asio::awaitable<error> leader::serve(pg::connection& link) {
  link.heed_only({own_probe(), "due", "pause", "yield", "ring"});
  flow_.on_session(*payload_, clock::now());
  for (;;) {
    if (link.lost()) co_return *link.lost();
    take_notifications(link);
    auto what = flow_.next(latest_turn_ = clock::now());
    if (std::holds_alternative<flow::task::end_session>(what))
      co_return link.turned_read_only() ? is_read_only(link) : error{fault::transient, "stopped"};
    const auto carried_out = co_await std::visit([&](auto& task) { return carry_out(link, task); }, what);
    if (!carried_out) co_return carried_out.error();
  }
}

std::string leader::own_probe() const {
  return fmt::format("probe {}", current_ != nullptr ? current_->backend_pid() : 0);
}

void leader::count_senders(pg::connection& link) {
  for (const auto& [sender, count] : link.take_senders()) flow_.hear_sender(sender, count, clock::now());
}

void leader::take_notifications(pg::connection& link) {
  count_senders(link);
  const auto now = clock::now();
  const auto probe = own_probe();
  for (const auto& [payload, count] : link.take_notifications()) {
    if (payload == probe)
      flow_.hear(flow::word::own_probe, count, now);
    else if (payload == "due")
      flow_.hear(flow::word::due, count, now);
    else if (payload == "pause")
      flow_.hear(flow::word::pause, count, now);
    else if (payload == "yield")
      flow_.hear(flow::word::yield, count, now);
    else if (payload == "ring")
      flow_.hear(flow::word::ring, count, now);
  }
}

void leader::on_sleep_lock(sleep_news news) {
  flow_.on_sleep_lock(news, clock::now());
  interrupt();
}

void leader::interrupt() {
  if (current_ != nullptr) current_->interrupt();
}

void leader::adopt() {
  measure_by_settings();
  flow_.adopt(limits_of(settings_), clock::now());
  if (flow_.has_session()) interrupt();  // does not interrupt the opening of a session
}

void leader::stop() {
  flow_.stop();
  pause_.stop();
  if (current_ == nullptr) return;
  if (flow_.leads())
    current_->interrupt();
  else
    current_->close();
}

void leader::abandon() {
  flow_.abandon();
  interrupt();
}

void leader::cut() {
  flow_.say_unmarked();
  if (current_ != nullptr) current_->close();
}

void leader::take(const flow::notice::wake_driver&) {
  interrupt();
}

void leader::take(const flow::notice::published& what) {
  counts& all = host_.so_far();
  all.published_by_route[what.route] += what.events;
  all.published += what.events;
  all.last_published = std::chrono::system_clock::now();
}

void leader::take(const flow::notice::delivered& what) {
  host_.so_far().delivery_times.add(what.after);
}

void leader::take(const flow::notice::leads&) {
  if (view_.rings) {
    sleep_lock_ = std::make_shared<sleep_lock>(executor_, settings_.database, view_.shard, host_,
                                               [this](sleep_news news) { on_sleep_lock(news); });
    boost::asio::co_spawn(executor_, keep(sleep_lock_), boost::asio::detached);
  }
  host_.tell(notice::led{view_});
}

void leader::take(const flow::notice::gave_up& what) {
  queue_fills_since_.reset();
  deaf_since_.reset();
  if (sleep_lock_) std::exchange(sleep_lock_, nullptr)->stop();
  host_.tell(what);
}

void leader::take(const flow::notice::swept&) {
  ++host_.so_far().sweeps;
  host_.so_far().last_sweep = std::chrono::system_clock::now();
}

void leader::take(const flow::notice::rung& what) {
  host_.so_far().notifications += static_cast<std::uint64_t>(what.count);
}

void leader::take(const flow::notice::deaf& what) {
  deaf_since_ = std::chrono::system_clock::now();
  host_.tell(what);
}

void leader::take(const flow::notice::hears_again& what) {
  deaf_since_.reset();
  host_.tell(what);
}

void leader::take(const flow::notice::queue& what) {
  queue_fills_since_ = what.fills ? std::optional(std::chrono::system_clock::now()) : std::nullopt;
  host_.tell(what);
}

void leader::take(const flow::notice::kept& what) {
  lock_holders_.set(what.from, what.now);
}

void leader::take(const flow::notice::loudest& what) {
  lock_holders_.set_loudest(what.process);
}

}  // namespace outboxd::relay
