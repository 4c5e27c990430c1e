// leader_hearing: how a leader reacts to notifications, and whether it may be idle.
#include <algorithm>

#include "flow/lead/leader.hpp"

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// The pause before the leader retries sending a proof of hearing.
constexpr auto next_turn = 1s;

}  // namespace

// A notification by itself changes nothing: it only triggers a check, and the rate of checks is limited.
void leader::hear(word what, int count, clock::time_point now) {
  if (!lead_.has_lead()) return;
  switch (what) {
    case word::own_probe:
    case word::due:
    case word::pause:
      return hearing_.hear(what, now);
    case word::yield:
      return lead_.hear_request(now);
    case word::ring:
      tell_(notice::rung{count});
      if (doorbell_.on_notified(count, now)) stream_.ring();
      return;
  }
}

void leader::hear_sender(int process, int count, clock::time_point now) {
  if (lead_.has_lead()) hearing_.add(process, count, now);
}

// While the leader does not listen, polls, sweeps and one check per second replace the notifications. When
// the leader listens again, a sweep finds the changes that it was not notified of.
std::optional<leader_task> leader::heed_flood() {
  auto out = hearing_.heed_flood(now_);
  if (out && hearing_.listens()) next_sweep_ = now_;
  if (!hearing_.listens()) lead_.hear_request(now_);
  return out;
}

void leader::on_notified_self(bool sent, clock::time_point now) {
  if (sent) return;
  hearing_.on_unsent(now);
  next_sweep_ = std::min(next_sweep_, now + next_turn);
}

void leader::on_queue_usage(std::optional<double> usage, clock::time_point now) {
  if (!usage || !shard_) return;
  hearing_.on_queue_usage(*usage);
  tell_if_it_hears(now);
}

// An awake leader makes writers skip NOTIFY, so that no commit fails even if the queue becomes full.
void leader::tell_if_it_hears(clock::time_point now) {
  doorbell_.set(doorbell::obstacle::deaf, !hearing_.hears(), now);
  doorbell_.set(doorbell::obstacle::queue_fills, hearing_.queue_fills(), now);
}

void leader::tell_doorbell(clock::time_point now) {
  const bool reads = lanes_.any_up() && !stream_.is_paused() && !draining();
  doorbell_.set(doorbell::obstacle::no_reads, !reads, now);
}

void leader::on_sleep_lock(sleep_news news, clock::time_point now) {
  if (news == sleep_news::contended) return doorbell_.on_contention(now);
  sleep_refused_ = news == sleep_news::refused;
  tell_(notice::kept{keeps_from::sleeping, sleep_refused_});
  if (news == sleep_news::granted) return doorbell_.on_granted(now);
  if (news == sleep_news::refused) return doorbell_.on_refused(now);
  doorbell_.set(doorbell::obstacle::no_lock_session, news == sleep_news::down, now);
}

}  // namespace outboxd::flow
