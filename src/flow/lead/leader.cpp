#include "flow/lead/leader.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// How often it looks for a leader that hangs.
constexpr auto hang_check_interval = 500ms;

// How often it is looked whether each shard has a row.
constexpr auto shard_check_interval = 5s;

// A lock is usually held for less.
constexpr auto deferral_worth_saying = 1s;

// A question that the server answers for certain.
bool is_question(const leader_task& what) {
  return std::visit(
      [](const auto& one) {
        using type = std::decay_t<decltype(one)>;
        return !std::is_same_v<type, task::wait> && !std::is_same_v<type, task::end_session> &&
               !std::is_same_v<type, task::ask_for_sleep> && !std::is_same_v<type, task::give_back_sleep> &&
               !std::is_same_v<type, task::probe_contention> &&
               !std::is_same_v<type, task::name_lock_holders>;
      },
      what);
}

}  // namespace

leader::leader(lanes& over, fair_share& share, const leader_limits& limits, observer tell,
               step_observer* steps)
    : lanes_(over),
      share_(share),
      tell_(std::move(tell)),
      sweep_interval_(limits.sweep_interval),
      claim_timeout_(limits.claim_timeout),
      standby_interval_(limits.standby_interval),
      stream_(over, limits.stream, tell_, steps),
      doorbell_(limits.doorbell),
      hearing_(tell_) {
  share.add(*this);
}

void leader::on_session(payload_type payload, clock::time_point now) {
  lead_.on_session();
  payload_ = payload;
  next_hang_check_ = next_shard_check_ = now;
}

void leader::on_lost(clock::time_point now) {
  hearing_.on_lost(now);
  lead_.on_lost();
  present_ = false;
  errands_.clear();
  end_lead();
}

void leader::end_lead() {
  const auto shard = std::exchange(shard_, std::nullopt);
  if (!is_loaded()) return;  // it was only about to lead
  stream_.lost();
  hearing_.end();
  for (const auto what : {kept_from::sleeping, kept_from::writing, kept_from::quiet, kept_from::ringing})
    tell_(notice::kept{what, false});
  tell_(notice::gave_up{*shard});
}

leader_task leader::next(clock::time_point now) {
  for (;;) {
    while (!errands_.empty()) {
      const auto what = errands_.front();
      errands_.pop_front();
      if (auto out = begin(what, now)) return note(std::move(*out), now);
    }
    if (lead_.has_lead()) {
      if (auto out = lead_on(now)) return note(std::move(*out), now);
    } else {
      end_lead();
      if (lead_.stopping()) return task::end_session{};
      plan_standby(now);
    }
  }
}

leader_task leader::note(leader_task what, clock::time_point now) {
  if (is_question(what)) latest_question_ = now;
  return what;
}

void leader::plan_standby(clock::time_point now) {
  errands_ = {errand::show_presence};
  if (now >= next_hang_check_) {
    next_hang_check_ = now + std::min<std::chrono::milliseconds>(claim_timeout_ / 4, hang_check_interval);
    errands_.insert(errands_.end(),
                    {errand::end_hanging_leaders, errand::name_lock_holders, errand::mend_shards});
    // Others of this relay lead, and would not know that another relay has gone.
    if (share_.led() > 0) errands_.push_back(errand::count_relays);
  }
  errands_.insert(errands_.end(), {errand::take_lead, errand::rest});
}

void leader::plan_sweep(clock::time_point now) {
  next_sweep_ = now + sweep_interval_;
  stream_.sweep();
  if (hearing_.queue_fills()) stream_.ring_pauses();  // operators do not ring
  tell_(notice::swept{});
  tell_doorbell(now);
  errands_ = {errand::listen_again,       errand::prove_hearing,    errand::ask_queue_usage,
              errand::show_presence,      errand::mend_shards,      errand::count_relays,
              errand::end_former_sleeper, errand::name_lock_holders};
}

std::optional<leader_task> leader::begin(errand what, clock::time_point now) {
  const auto if_so = [&](bool so, leader_task then) {
    return so ? std::optional(std::move(then)) : std::nullopt;
  };
  switch (what) {
    case errand::show_presence: {
      // Who could lead holds PRESENT, once per relay. It is never waited for: somebody else may hold it.
      const bool able = share_.speaks(*this) && lanes_.any_up() && !lead_.stopping();
      return if_so(able != present_, task::show_presence{able});
    }
    case errand::end_hanging_leaders:
      return task::end_hanging_leaders{};
    case errand::name_lock_holders:
      return task::name_lock_holders{};
    case errand::mend_shards:
      // A shard without a row has no leader, and nobody would know. Where the row of a shard is gone that has
      // a leader, the next leader needs it.
      if (now < next_shard_check_ || (shard_ && !share_.speaks(*this))) return std::nullopt;
      next_shard_check_ = now + shard_check_interval;
      return task::mend_shards{};
    case errand::take_lead:
      return if_so(lanes_.any_up() && lead_.may_try(now) && share_.may_lead(*this),
                   task::take_lead{share_.led_shards()});
    case errand::rest:
      return task::wait{now + standby_interval_};
    case errand::listen:
      return if_so(hearing_.listens(), task::listen{});
    case errand::look_for_request:
      return task::look_for_request{};
    case errand::load:
      return task::load{};
    case errand::listen_again:
      return if_so(hearing_.misses_proof(now), task::listen{});
    case errand::prove_hearing:
      return if_so(hearing_.sends_proof(now), task::notify_self{});
    case errand::ask_queue_usage:
      return if_so(!std::exchange(read_told_usage_, false), task::ask_queue_usage{});
    case errand::count_relays:
      return if_so(share_.shards() > 1 && share_.speaks(*this), task::count_relays{});
    case errand::end_former_sleeper:
      return if_so(std::exchange(sleep_refused_, false), task::end_former_sleeper{});
    case errand::allow_writes:
      return task::allow_writes{};
    case errand::release_lead:
      return task::release_lead{};
    case errand::stop_listening:
      return task::stop_listening{};
  }
  return std::nullopt;
}

void leader::on_taken(std::optional<int> shard) {
  tell_(notice::kept{kept_from::leading, !shard});
  if (!shard) return tell_(notice::stands_by{});
  shard_ = shard;
  lead_.on_taken();
  // LISTEN takes effect with the end of its transaction. The look for who asks, and the first read, have to
  // begin after that.
  errands_ = {errand::listen, errand::look_for_request, errand::load};
}

void leader::on_loaded(loaded_shard what, clock::time_point now) {
  shards_ = what.shards;
  share_.on_shards(what.shards);
  next_sweep_ = now;
  has_read_all_ = read_told_usage_ = sleep_refused_ = false;
  lead_.on_loaded(now);
  stream_.start(std::move(what.from), payload_);
  stream_.on_server_time(latest_question_, what.server_time);
  doorbell_.start(now);
  doorbell_.set(doorbell::obstacle::no_lock_session, true, now);
  doorbell_.set(doorbell::obstacle::no_bell, !what.rings, now);
  hearing_.start(now);
  tell_if_it_hears(now);
  tell_(notice::leads{});
}

std::optional<leader_task> leader::lead_on(clock::time_point now) {
  if (hearing_.follows(word::due, now)) stream_.ring_due();
  if (hearing_.follows(word::pause, now)) stream_.ring_pauses();
  if (auto out = heed_flood(now)) return out;
  if (lead_.wants_look(now)) return task::look_for_request{};
  lead_.on_broker(lanes_.any_up(), now);
  if (lead_.wants_count(now)) return task::count_relays{};
  if (heed_lead(now) || stream_.drained()) {  // to drain may have been all
    if (lead_.leaving()) return task::end_session{};
    give_up(now);
    return std::nullopt;
  }
  if (now >= next_sweep_) {
    plan_sweep(now);
    return std::nullopt;
  }
  if (now >= doorbell_.next_poll()) {
    doorbell_.on_poll();
    stream_.ring();
  }
  if (auto out = act_on_doorbell(now)) return out;
  if (auto request = stream_.next()) {
    asked_ = {.reads = request->asks_one_of<read_request>(),
              .tells = request->reads_or_writes_events(),
              .writes = request->asks_one_of<record_request, mark_request>()};
    if (asked_.reads) doorbell_.on_read_sent();
    return task::round_trip{std::move(request)};
  }
  if (stream_.drained()) return std::nullopt;
  // The server ends a session that asks nothing for claim_timeout: it passes for one that hangs.
  if (now >= next_question()) return task::ask_queue_usage{};
  return task::wait{std::min({stream_.next_at(), doorbell_.next_poll(), next_sweep_, hearing_.next(),
                              lead_.next(stream_.meets_lock()), next_question()})};
}

bool leader::heed_lead(clock::time_point now) {
  if (stream_.drained()) return true;
  switch (lead_.step(share_.has_too_many(*this, now), stream_.meets_lock(), now)) {
    case leadership::action::none:
      return false;
    case leadership::action::drain:
      drain(now);
      return false;
    case leadership::action::lead_on:
      has_read_all_ = false;
      stream_.go_on();
      tell_doorbell(now);
      return false;
    case leadership::action::give_up:
      say_in_doubt(stream_.in_flight());
      say_in_doubt(stream_.unmarked());
      return true;
  }
  return false;
}

void leader::drain(clock::time_point now) {
  if (draining()) return;
  stream_.drain();
  tell_doorbell(now);
}

void leader::give_up(clock::time_point now) {
  lead_.on_given_up(now);
  errands_ = {errand::release_lead, errand::stop_listening};
}

void leader::on_requester(const std::optional<std::string>& who, clock::time_point now) {
  if (!lead_.on_looked(who.has_value(), now)) return;
  if (!is_loaded()) return give_up(now);
  tell_(notice::makes_way{*who});
}

void leader::on_counted(int relays, clock::time_point now) {
  lead_.on_counted(relays - (share_.is_present() ? 1 : 0), now);
  if (share_.speaks(*this)) share_.on_counted(relays);
}

void leader::on_answer(store_answer what, bool read_only, clock::time_point now) {
  const asked was = std::exchange(asked_, {});
  if (read_only) {
    // Nothing more is read or sent. What was sent is marked all the same, or the next leader would send it
    // again: the setting is only what transactions begin with.
    lead_.leave();
    drain(now);
    errands_.push_back(errand::allow_writes);
  }
  const bool put_off = !what.deferral().empty();
  if (was.tells) watch_deferrals(what.deferral(), was.writes, now);
  const auto news = stream_.on_answer(std::move(what));
  if (news.complete) has_read_all_ = true;
  if (was.tells) tell_(notice::kept{kept_from::writing, put_off || stream_.meets_lock()});
  if (news.queue_usage) {
    read_told_usage_ = true;
    on_queue_usage(news.queue_usage, now);
  }
  if (was.reads) doorbell_.on_read(news.found, news.complete, now, shards_ > 1 ? news.passed : 0);
}

// Over it is when something is written again; what is deferred waits for its pauses while reads go on.
void leader::watch_deferrals(std::string_view reason, bool wrote, clock::time_point now) {
  if (!reason.empty()) {
    if (deferral_ == deferral::none) {
      deferral_ = deferral::unsaid;
      deferred_since_ = now;
    }
    if (deferral_ == deferral::said || now - deferred_since_ < deferral_worth_saying) return;
    deferral_ = deferral::said;
    tell_(notice::deferred{reason});
  } else if (wrote || stream_.events().size() == 0) {
    if (std::exchange(deferral_, deferral::none) == deferral::said) tell_(notice::deferral_over{});
  }
}

void leader::abandon() {
  say_in_doubt(stream_.in_flight());
  stream_.abandon();
}

void leader::say_in_doubt(std::vector<event_key> keys) {
  if (!keys.empty()) tell_(notice::in_doubt{std::move(keys)});
}

void leader::adopt(const leader_limits& changed, clock::time_point now) {
  stream_.retry_by(changed.stream.retry);
  stream_.give_up_after(changed.stream.give_up_after);
  stream_.route_by(changed.stream.route);
  doorbell_.poll_within(changed.doorbell.longest_poll);
  sweep_interval_ = changed.sweep_interval;
  standby_interval_ = changed.standby_interval;
  next_sweep_ = std::min(next_sweep_, now + sweep_interval_);
}

}  // namespace outboxd::flow
