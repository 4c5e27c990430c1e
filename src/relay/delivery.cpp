#include "relay/delivery.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/failpoint.hpp"

namespace outboxd::relay {
namespace {

constexpr token burial_mark = token{1} << 31U;  // in the name of a publish to the dead letter exchange
constexpr token index_mask = burial_mark - 1;

}  // namespace

delivery_totals& delivery_totals::operator+=(const delivery_totals& more) {
  claimed += more.claimed;
  acked += more.acked;
  nacked += more.nacked;
  returned += more.returned;
  refused += more.refused;
  unencodable += more.unencodable;
  behind += more.behind;
  unknown += more.unknown;
  given_back += more.given_back;
  return *this;
}

delivery::delivery(batch claimed, const delivery_settings& settings, std::uint32_t generation)
    : batch_(std::move(claimed)),
      settings_(&settings),
      generation_(generation),
      order_(batch_.events, settings.order),
      fates_(batch_.events.size(), fate::unsent) {}

bool delivery::travels_alone(std::size_t index) const {
  return fates_[index] == fate::suspect || batch_.events[index].attempts > 0;
}

void delivery::send(broker& to, std::mt19937_64& chance) {
  full_ = false;
  while (!full_) {
    if (!burials_.empty()) {
      if (in_flight_ > 0) return;
      send_burial(to);
      continue;
    }
    const auto next = order_.front();
    if (!next || (in_flight_ > 0 && (alone_ || travels_alone(*next)))) return;
    if (send_event(*next, to, chance)) order_.pop();
  }
}

// False: no room, to be tried again.
bool delivery::send_event(std::size_t index, broker& to, std::mt19937_64& chance) {
  const event& next = batch_.events[index];
  if (next.behind) {
    fates_[index] = fate::behind;
    set_back(index, {.id = next.id, .what = setback::kind::behind, .behind = next.behind, .reason = {}});
    order_.finish(index);  // its successors were claimed behind it, too, and go the same way
    return true;
  }
  const auto sent = to.publish(name_of(index), envelope(next, batch_.payload, settings_->route));
  if (!sent) {
    fates_[index] = fate::unencodable;
    fail(index, failure::unencodable, sent.error().message, chance);
    return true;
  }
  full_ = *sent == accepted::full;
  if (full_) return false;
  alone_ = travels_alone(index);
  fates_[index] = fate::in_flight;
  ++in_flight_;
  return true;
}

bool delivery::take(const outcome& one, std::mt19937_64& chance) {
  if (one.id >> 32U != generation_) return false;
  if ((one.id & burial_mark) != 0) {
    --in_flight_;
    end_burial(one.what == verdict::acked      ? std::string_view()
               : one.what == verdict::returned ? std::string_view(one.reason)
                                               : "nacked");
    return true;
  }
  const auto index = static_cast<std::size_t>(one.id & index_mask);
  if (fates_[index] != fate::in_flight) return false;
  --in_flight_;
  alone_ = false;
  switch (one.what) {
    case verdict::acked:
      failpoint("acked");
      fates_[index] = fate::acked;
      settlement_.published.push_back(batch_.events[index].id);
      settlement_.places.push_back(batch_.events[index].place);
      finish(index);
      return true;
    case verdict::returned:
      fates_[index] = fate::returned;
      fail(index, failure::returned, fmt::format("returned by the broker: {}", one.reason), chance);
      return true;
    case verdict::nacked:
      fates_[index] = fate::nacked;
      fail(index, failure::nacked, "nacked by the broker: it could not take the message", chance);
      return true;
  }
  return false;
}

void delivery::on_channel_closed(std::span<const token> unknown, std::string_view reason,
                                 std::mt19937_64& chance) {
  std::vector<std::size_t> suspects;
  bool burying = false;
  for (const token one : unknown) {
    if (one >> 32U != generation_) continue;
    burying = burying || (one & burial_mark) != 0;
    if ((one & burial_mark) == 0) suspects.push_back(static_cast<std::size_t>(one & index_mask));
  }
  in_flight_ = 0;
  alone_ = false;
  const bool traced = unknown.size() == 1;
  if (burying) {
    if (traced) end_burial(reason);  // else it is sent again
    return;
  }
  if (traced && !suspects.empty()) {
    fates_[suspects.front()] = fate::refused;
    return fail(suspects.front(), failure::refused, fmt::format("refused by the broker: {}", reason), chance);
  }
  for (const std::size_t index : suspects) fates_[index] = fate::suspect;
  order_.again(suspects);
}

void delivery::fail(std::size_t index, failure why, std::string reason, std::mt19937_64& chance) {
  const event& which = batch_.events[index];
  switch (judge(why).what) {
    case remedy::bury:
      return die(index, std::move(reason));
    case remedy::retry: {
      const auto delay = settings_->retry.delay_after(which.attempts + 1, chance);
      if (!delay)
        return die(index, fmt::format("given up after {} failed attempts: {}", which.attempts + 1, reason));
      return set_back(index, {.id = which.id,
                              .counts_attempt = true,
                              .delay = *delay,
                              .behind = {},
                              .reason = std::move(reason)});
    }
    case remedy::retry_for_ever:
      return set_back(index, {.id = which.id,
                              .counts_nack = true,
                              .delay = settings_->retry.pause_after(which.nacks + 1, chance),
                              .behind = {},
                              .reason = std::move(reason)});
    case remedy::isolate:
    case remedy::give_back:
      return;
  }
}

// To the dead letter exchange first, where there is one. A delivery that ends before that leaves the event as it was,
// and it comes here again.
void delivery::die(std::size_t index, std::string reason) {
  if (settings_->dead_letter_exchange.empty()) return bury(index, std::move(reason));
  burials_.push_back({index, std::move(reason)});
}

// As it is, else without what cannot be encoded. It travels alone, for it may be what closes the channel.
void delivery::send_burial(broker& to) {
  const burial& now = burials_.front();
  message letter = envelope(batch_.events[now.index], batch_.payload, settings_->route);
  letter.dead_reason = now.reason;
  letter.dead_exchange = letter.exchange;
  letter.dead_routing_key = letter.routing_key;
  letter.exchange = settings_->dead_letter_exchange;
  const auto name = name_of(now.index) | burial_mark;
  auto sent = to.publish(name, letter);
  if (!sent) {
    letter.headers = "{}";
    letter.routing_key = "dead";
    letter.dead_routing_key = {};
    sent = to.publish(name, letter);
  }
  if (!sent) {
    letter.body = {};
    sent = to.publish(name, letter);
  }
  if (!sent) return end_burial(sent.error().message);
  full_ = *sent == accepted::full;
  if (full_) return;
  ++in_flight_;
  alone_ = true;
}

// Dead it is in any case; what the exchange did not take is only said.
void delivery::end_burial(std::string_view trouble) {
  alone_ = false;
  burial done = std::move(burials_.front());
  burials_.pop_front();
  if (!trouble.empty()) done.reason += fmt::format("; and its dead letter: {}", trouble);
  bury(done.index, std::move(done.reason));
}

void delivery::bury(std::size_t index, std::string reason) {
  set_back(index, {.id = batch_.events[index].id,
                   .what = setback::kind::dead,
                   .counts_attempt = true,
                   .behind = {},
                   .reason = std::move(reason)});
  finish(index);
}

// Published or dead: its successor may be sent, and those that wait behind it may go.
void delivery::finish(std::size_t index) {
  const event& done = batch_.events[index];
  if (done.has_followers) settlement_.released.push_back(done.seq);
  order_.finish(index);
}

void delivery::set_back(std::size_t index, setback how) {
  set_back_.push_back(index);
  settlement_.set_back.push_back(std::move(how));
}

const settlement& delivery::conclude() {
  std::vector<bool> done(fates_.size());
  for (std::size_t i = 0; i < fates_.size(); ++i) done[i] = fates_[i] == fate::acked;
  for (const std::size_t i : set_back_) done[i] = true;
  std::array<std::int64_t, shard_count> below{};
  std::array<bool, shard_count> stopped{};
  for (std::size_t i = 0; i < done.size(); ++i) {
    const event& one = batch_.events[i];
    const auto shard = static_cast<std::size_t>(one.shard);
    if (shard >= stopped.size()) continue;
    stopped[shard] = stopped[shard] || !done[i];
    if (!stopped[shard]) below[shard] = one.seq + 1;
  }
  settlement_.passed.clear();
  for (std::size_t shard = 0; shard < below.size(); ++shard)
    if (below[shard] > 0) settlement_.passed.push_back({static_cast<std::int16_t>(shard), below[shard]});
  return settlement_;
}

delivery_totals delivery::totals() const {
  delivery_totals out;
  out.claimed = fates_.size();
  for (const fate one : fates_) switch (one) {
      case fate::unsent:
        ++out.given_back;
        break;
      case fate::suspect:
      case fate::in_flight:
        ++out.unknown;
        break;
      case fate::acked:
        ++out.acked;
        break;
      case fate::nacked:
        ++out.nacked;
        break;
      case fate::returned:
        ++out.returned;
        break;
      case fate::refused:
        ++out.refused;
        break;
      case fate::unencodable:
        ++out.unencodable;
        break;
      case fate::behind:
        ++out.behind;
        break;
    }
  return out;
}

}  // namespace outboxd::relay
