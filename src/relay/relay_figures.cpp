// relay_figures: the functions of relay.hpp that answer metrics, health and readiness requests.
#include <fmt/format.h>

#include <algorithm>

#include "relay/relay.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// A confirm is overdue after this time, which is far longer than a healthy broker takes, and much shorter
// than confirm_timeout.
constexpr auto overdue_after = 3s;

// After this time, readiness reports the activity that keeps the leader busy.
constexpr auto slow_after = 5s;

// A refusal that lasts this long is considered permanent.
constexpr auto refused_for = 10s;

// This time is longer than every timeout of a step.
constexpr auto stuck_after = 15s;

std::chrono::system_clock::time_point since(clock::time_point when) {
  return std::chrono::system_clock::now() -
         std::chrono::duration_cast<std::chrono::system_clock::duration>(clock::now() - when);
}

}  // namespace

std::string_view reason_of(cause why, std::string_view otherwise) {
  switch (why) {
    case cause::login:
      return "login_refused";
    case cause::read_only:
      return "database_read_only";
    case cause::schema_missing:
      return "schema_missing";
    case cause::schema_version:
      return "schema_version";
    case cause::other:
      return otherwise;
  }
  return otherwise;
}

void relay::on_destination_down(const flow::destination_report& what, std::string_view reason) {
  if (what.which.exchange == settings_.leader.stream.route.exchange && what.which.routing_key.empty()) {
    exchange_missing_ = reason;
    missing_since_ = std::chrono::system_clock::now();
  }
  tell_(notice::destination_down{what, reason});
}

std::vector<obstacle> relay::obstacles() const {
  std::vector<obstacle> out;
  const auto away = [](const link_state& of, std::string_view otherwise) {
    const error& why = of.latest;
    return obstacle{reason_of(why.why, otherwise), why.message.empty() ? "not connected yet" : why.message,
                    of.none_since};
  };
  if (stage_ != stage::running) out.push_back({"stopping", "the relay was told to stop", stopped_at_});
  if (database_.up == 0) out.push_back(away(database_, "database_down"));
  if (!lanes_.any_up()) out.push_back(away(broker_, "broker_down"));
  if (blocked_ > 0)
    out.push_back({"broker_blocked", fmt::format("publishing blocked by RabbitMQ ({})", blocked_because_),
                   blocked_since_});
  for (const auto& one : leaders_)
    if (const auto* found = one->lock_holders().locked_out()) {
      out.push_back({"locked_out", found->words, found->since});
      break;
    }
  for (const auto& one : leaders_)
    if (auto why = catching_up(*one)) out.push_back(std::move(*why));
  if (auto why = refused_writes(true)) out.push_back(std::move(*why));
  // A relay that leads no shard publishes nothing, so it would not notice that the exchange exists again.
  const auto block = lanes_.destinations().find_block(
      {.exchange = settings_.leader.stream.route.exchange, .routing_key = {}});
  if (block && flow::is_exchange(block->of) && share_.led() > 0)
    out.push_back({"exchange_missing", exchange_missing_, missing_since_});
  if (const auto oldest = lanes_.oldest_in_flight(); oldest && clock::now() - *oldest > overdue_after) {
    const auto age = clock::now() - *oldest;
    out.push_back({"confirms_overdue",
                   fmt::format("a message has been in flight for {} s without a confirm", age / 1s),
                   since(*oldest)});
  }
  return out;
}

// Due events may have to wait, because this read occupies the shard's whole stream.
std::optional<obstacle> relay::catching_up(const leader& one) const {
  if (!one.leads()) return std::nullopt;
  const auto late = [](clock::time_point from) { return clock::now() - from > slow_after; };
  if (const auto loads = one.events().loads_since(); loads && late(*loads))
    return obstacle{
        "catching_up",
        fmt::format("shard {}: loading blocked aggregates; {} so far", *one.leads(), one.events().held()),
        since(*loads)};
  if (const auto reads = one.events().reads_since(); reads && late(*reads))
    return obstacle{"catching_up",
                    fmt::format("shard {}: a read of the table has not finished", *one.leads()),
                    since(*reads)};
  const auto found = one.events().searching();
  if (!found || !late(found->since)) return std::nullopt;
  if (found->seen < found->up_to)
    return obstacle{
        "catching_up",
        fmt::format("shard {}: searching for events of unseen transactions; at transaction {} of {}",
                    *one.leads(), found->seen, found->up_to),
        since(found->since)};
  return obstacle{"catching_up",
                  fmt::format("shard {}: skipping finished events; at seq {}", *one.leads(), found->seq),
                  since(found->since)};
}

// all: only report if no other outcome is written, either.
std::optional<obstacle> relay::refused_writes(bool all) const {
  for (const auto& one : leaders_) {
    const auto found = one->leads() ? one->events().refuses() : std::nullopt;
    if (!found || found->all != all || clock::now() - found->since < refused_for) continue;
    return obstacle{
        "marks_refused",
        fmt::format(
            "PostgreSQL rejects the status update of {} of shard {}, confirmed or refused by RabbitMQ: {}",
            found->events == 1 ? "an event" : fmt::format("{} events", found->events), *one->leads(),
            found->reason),
        since(found->since)};
  }
  return std::nullopt;
}

std::vector<obstacle> relay::warnings() const {
  std::vector<obstacle> out;
  if (auto why = refused_writes(false)) out.push_back(std::move(*why));
  const auto told = std::find_if(leaders_.begin(), leaders_.end(),
                                 [](const auto& one) { return one->leads() && one->queue_fills_since(); });
  if (told != leaders_.end()) {
    out.push_back({"notification_queue",
                   fmt::format("PostgreSQL's notification queue is {:.0f} % full, so the leader polls and "
                               "writers do not notify; `outboxd check` names the session that holds it up",
                               100 * (*told)->queue_usage()),
                   *(*told)->queue_fills_since()});
  }
  for (const auto& one : leaders_)
    if (one->leads() && one->deaf_since()) {
      out.push_back(
          {"deaf", "notifications from PostgreSQL do not arrive, so the leader polls", *one->deaf_since()});
      break;
    }
  if (said_schema_ > 0)
    out.push_back(
        {"newer_schema",
         fmt::format("the outbox was migrated to version {}, and this program was built for {}; upgrade it",
                     said_schema_, store::schema_version),
         newer_since_});
  return out;
}

relay_figures relay::figures() const {
  relay_figures out;
  const auto tried = [](const link_state& of) { return of.up > 0 || !of.latest.message.empty(); };
  out.now_in = stage_ != stage::running             ? progress::stopping
               : tried(database_) && tried(broker_) ? progress::running
                                                    : progress::starting;
  out.so_far = counts_;
  out.publish_times = lanes_.publish_times();
  out.lanes_open = lanes_.count(flow::lane::state::open) + lanes_.count(flow::lane::state::renewing);
  out.lanes_blocked = lanes_.count(flow::lane::state::blocked);
  out.lanes_down = lanes_.count(flow::lane::state::down) + lanes_.count(flow::lane::state::dropped);
  out.in_flight = lanes_.in_flight();
  out.destinations_down = lanes_.destinations().down();
  out.shards = share_.shards();
  out.shards_led = share_.led();
  out.relays = share_.relays();
  out.database_up = database_.up > 0;
  out.broker_up = lanes_.any_up();
  out.broker_blocked = blocked_ > 0;
  out.obstacles = obstacles();
  out.warnings = warnings();
  out.certificate_expires = certificate_expires_;
  out.table = table_;
  out.paused = paused_;
  for (const auto& one : leaders_) {
    if (!one->leads()) continue;
    out.notification_queue_usage = std::max(out.notification_queue_usage.value_or(0), one->queue_usage());
    out.unsettled += one->events().events().size();
    out.held_aggregates += one->events().held();
    if (one->asleep()) ++out.asleep;
  }
  return out;
}

std::optional<std::string> relay::stuck() const {
  const auto longest =
      settings_.leader.database.claim_timeout + settings_.leader.database.connect_timeout + stuck_after;
  for (const auto& one : leaders_)
    if (clock::now() - one->latest_turn() > longest)
      return fmt::format("a session with PostgreSQL has made no progress for {} s",
                         (clock::now() - one->latest_turn()) / 1s);
  if (const auto due = lanes_.next_deadline(); due && clock::now() - *due > stuck_after)
    return fmt::format("a connection to RabbitMQ has not handled its overdue confirms for {} s",
                       (clock::now() - *due) / 1s);
  return std::nullopt;
}

}  // namespace outboxd::relay
