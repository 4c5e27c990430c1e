// dispatcher: the part before a message is sent: which event is offered to a lane, and when.
#include "flow/stream/dispatcher.hpp"

#include <algorithm>
#include <utility>

#include "core/to_message.hpp"
#include "core/trace_parent.hpp"

namespace outboxd::flow {

void dispatcher::start(payload_type payload) {
  payload_ = payload;
  sure_until_ = {};
  state_.client = lanes_.join(*this);
}

void dispatcher::offer_all() {
  for (const aggregate of : events_.aggregates()) offer_next(of);
}

void dispatcher::offer_next(aggregate of) {
  auto* const chain = events_.find_chain(of);
  if (chain == nullptr || !state_.runs() || barriers_.paused.everything()) return;
  const bool knows = chain->offered_to != no_slot;
  slot which = knows ? events_.at(chain->offered_to).after : chain->first;
  for (; which != no_slot; which = events_.at(which).after) {
    auto& one = events_.at(which);
    if (one.is<stage::dying>() || one.is<stage::fetching>()) return;
    if (one.is_queued()) {
      auto* const letter = std::get_if<stage::letter>(&one.now);
      if (one.it.withheld && letter == nullptr) {
        one.now = stage::fetching{};
        fetches_.add(which, state_.now());
        return;
      }
      // An event that backs off is later sent before all others of its aggregate. So it may back off only
      // after the earlier events are settled.
      const bool is_head = which == chain->first;
      if (one.goes_as_first && !is_head) return;
      if (letter == nullptr && state_.is_paused(which)) return is_head ? wait_for_pause_end(which) : void();
      if (const auto block = find_block(which)) return is_head ? wait_for_blocked(which, *block) : void();
      const bool is_first = chain->offered == 0;
      const bool returns = is_first ? one.it.from != exception::none : chain->returns;
      const auto lane =
          lanes_.offer({.whose = this, .which = which, .alone = travels_alone(which), .returning = returns},
                       of, is_first ? -1 : chain->lane);
      if (!lane) return;
      chain->returns = returns;
      if (letter != nullptr)
        letter->offered = true;
      else
        one.now = stage::offered{};
      one.lane = static_cast<std::int16_t>(*lane);
      one.turn = ++turns_;
      chain->lane = *lane;
      ++chain->offered;
    }
    if (limits_.order == order_mode::strict || travels_alone(which)) return;
    chain->offered_to = which;
  }
}

// Returns why the event may not be sent. Dead letters go to their own exchange, which is never blocked. If an
// event was read to probe its destination, or because that destination works again, its destination may have
// changed since.
std::optional<destinations::block> dispatcher::find_block(slot which) {
  auto& one = events_.at(which);
  if (one.is<stage::letter>()) return std::nullopt;
  const destination to = state_.destination_of(which);
  auto& known = lanes_.destinations();
  if (one.it.read_for_destination && one.it.waits_for != id_of(to) &&
      one.it.waits_for != exchange_id_of(to)) {
    known.on_moved(*one.it.waits_for, state_.now());
    one.it.read_for_destination = false;
  }
  const auto block = known.find_block(to);
  if (!one.it.read_for_destination) return block;
  const destination_id of = *one.it.waits_for;
  if (!known.may_go(of, one.it.what.seq)) return known.block_of(of);
  return block && block->of != of ? block : std::nullopt;
}

bool dispatcher::travels_alone(slot which) const {
  const auto& one = events_.at(which);
  return one.so_far.suspected >= suspicion::suspect || one.is<stage::letter>();
}

// A dead letter has the content that failed, even if the row was changed since. An event that was read
// because its destination works again is not sent if that destination fails once more. In pipelined order, an
// event that waits for a check must not be overtaken by its successors, which are already queued on the lane.
bool dispatcher::is_fresh(slot which, clock::time_point now) const {
  const auto& one = events_.at(which);
  if (one.is<stage::letter>()) return true;
  if (one.it.read_for_destination && !lanes_.destinations().may_go(*one.it.waits_for, one.it.what.seq))
    return false;
  return is_young(one, now) && !overtakes(one);
}

bool dispatcher::is_young(const unsettled::entry& one, clock::time_point now) const {
  return now - one.seen_at <= limits_.fresh_for;
}

// True if the preceding event was withdrawn from the lane, either to wait or to be queued again at the end.
bool dispatcher::overtakes(const unsettled::entry& one) const {
  if (limits_.order == order_mode::strict || one.before == no_slot) return false;
  const auto& before = events_.at(one.before);
  return before.is_unsent() || before.turn > one.turn;
}

void dispatcher::on_stale(slot which, clock::time_point now) {
  on_unsent(which);
  auto& one = events_.at(which);
  if (!one.is<stage::queued>()) return;
  if (is_young(one, now)) return offer_next(events_.aggregate_of(which));
  one.now = stage::fetching{};
  looks_.add(which, now);
}

// A dead letter keeps the header of the row, because an event that is not published has no span.
result<message> dispatcher::message_of(slot which) {
  const auto& one = events_.at(which);
  auto formed = to_message(one.it.what, payload_, limits_.route, one.route.get());
  const auto* const letter = std::get_if<stage::letter>(&one.now);
  if (letter == nullptr) return formed;
  message out = formed ? std::move(*formed) : to_message(one.it.what, payload_, limits_.route);
  std::erase_if(out.format_headers, [](const auto& header) { return header.name == traceparent_header; });
  out.dead_reason = letter->how->reason;
  out.dead_exchange = out.exchange;
  out.dead_routing_key = out.routing_key;
  out.exchange = limits_.dead_letter_exchange;
  if (letter->form > 1) {
    out.headers = "{}";
    out.default_headers.clear();
    out.routing_key = "dead";
    out.dead_routing_key = {};
  }
  if (letter->form > 2) out.body = {};
  return out;
}

void dispatcher::on_unsent(slot which) {
  auto& one = events_.at(which);
  if (!one.is_offered()) return;
  if (auto* const dead = std::get_if<stage::letter>(&one.now))
    dead->offered = false;
  else
    one.now = stage::queued{};
  auto* const chain = events_.find_chain(one.it.what.aggregate);
  if (chain == nullptr) return;
  --chain->offered;
  chain->offered_to = no_slot;
}

std::optional<std::int64_t> dispatcher::forget_unsent() {
  std::vector<slot> unsent;
  std::optional<std::int64_t> lowest;
  events_.for_each([&](slot which, const unsettled::entry& one) {
    if (!one.is_unsent()) return;
    unsent.push_back(which);
    if (one.it.from == exception::none) lowest = std::min(lowest.value_or(one.it.what.seq), one.it.what.seq);
  });
  for (const slot which : unsent) {
    events_.leave_chain(which);
    events_.erase(which);
  }
  fetches_.clear();
  looks_.clear();
  return lowest;
}

void dispatcher::abandon() {
  lanes_.leave(*this);
  std::vector<slot> in_flight;
  events_.for_each([&](slot which, const unsettled::entry& one) {
    if (one.is_offered()) in_flight.push_back(which);
  });
  for (const slot which : in_flight) on_unsent(which);
}

void dispatcher::clear() {
  lanes_.leave(*this);
  fetches_.clear();
  looks_.clear();
  sure_until_ = {};
}

// The event's texts were fetched, or its row was checked.
void dispatcher::on_fetched(slot which) {
  const aggregate of = events_.aggregate_of(which);
  auto& stage = events_.at(which).now;
  const bool waits = std::get<stage::fetching>(stage).waits_then && barriers_.held.holds(of);
  stage = stage::queued{};
  if (waits) park_behind(which);
  offer_next(of);
}

void dispatcher::on_gone(slot which, bool put_off) {
  const aggregate of = events_.aggregate_of(which);
  drop_probe(which);
  events_.leave_chain(which);
  events_.erase(which);
  if (put_off) {
    barriers_.held.begin(of, hold::head_waits);
    park_others(of);
  } else if (events_.length_of(of) == 0) {
    barriers_.held.on_head_settled(of);
  }
  offer_next(of);
}

destinations::sent_event dispatcher::seen_by_destinations(slot which) const {
  const stored_event& one = events_.at(which).it;
  return {.seq = one.what.seq, .waited_for = one.waits_for};
}

void dispatcher::drop_probe(slot which) {
  const stored_event& one = events_.at(which).it;
  if (one.read_for_destination) lanes_.destinations().on_unsent(*one.waits_for, one.what.seq, state_.now());
}

}  // namespace outboxd::flow
