#include "relay/doorbell.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "pg/outbox_statements.hpp"

namespace outboxd::relay {
namespace {

// What other relays are woken for may wait for the end of long transactions: then their sweep finds it.
constexpr std::chrono::milliseconds longest_hand_over{1'000};
constexpr std::chrono::milliseconds hand_over_pause{5};

doorbell_limits limits_for(std::chrono::milliseconds sweep_interval) {
  doorbell_limits out;
  out.longest = std::max(std::chrono::ceil<std::chrono::milliseconds>(out.shortest), sweep_interval);
  return out;
}

}  // namespace

doorbell::doorbell(const boost::asio::any_io_executor& on, const postgres_settings& settings,
                   std::chrono::milliseconds sweep_interval, claim_floors& floors, link_observer& observer,
                   std::function<void()> ring)
    : executor_(on),
      settings_(settings),
      interval_(sweep_interval),
      observer_(observer),
      ring_(std::move(ring)),
      policy_(limits_for(sweep_interval)),
      listener_(on, settings, observer),
      sweeper_(settings, sweep_interval, floors),
      pause_(on),
      mute_(on, settings, observer, [this](mute_news news) { on_mute(news); }),
      timer_(on),
      look_timer_(on) {}

boost::asio::awaitable<void> doorbell::run() {
  while (!stopping_) {
    pg::connection link(executor_);
    current_ = &link;
    const auto opened = co_await open(link);
    if (opened) {
      observer_.on_link_up(peer::database);
      serving_ = true;
      const error why = co_await serve(link);
      serving_ = false;
      listener_.end();
      observer_.on_link_down(peer::database, why);
    } else {
      observer_.on_link_refused(peer::database, opened.error());
    }
    current_ = nullptr;
    if (!stopping_) co_await pause_.wait();
  }
}

boost::asio::awaitable<void> doorbell::run_without_session() {
  while (!stopping_) {
    timer_.expires_after(interval_);
    co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    if (!stopping_ && !serving_) ring_();
  }
}

boost::asio::awaitable<void> doorbell::run_looks() {
  while (!quiet_) {
    look_timer_.expires_at(policy_.next_look());
    co_await look_timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    if (!quiet_) act(policy_.on_timer(clock::now()));
  }
}

void doorbell::on_looked(std::size_t events, bool others_hold) {
  act(policy_.on_looked(static_cast<int>(events), others_hold, clock::now()));
}

void doorbell::on_mute(mute_news news) {
  const auto now = clock::now();
  switch (news) {
    case mute_news::up:
      return policy_.on_mute_up();
    case mute_news::down:
      return act(policy_.on_mute_down(now));
    case mute_news::granted:
      return act(policy_.on_granted(now));
    case mute_news::refused:
      return act(policy_.on_refused(now));
    case mute_news::timed_out:
      return act(policy_.on_timed_out(now));
  }
}

void doorbell::act(const doorbell_actions& now) {
  if (quiet_) return;
  if (now.release_mute) mute_.release();
  if (now.ask_mute) mute_.ask();
  if (now.look) ring_();
  if (policy_.next_look() < look_timer_.expiry()) look_timer_.cancel();
  if (serving_ && policy_.sweep_by() < waits_until_) current_->interrupt();
}

boost::asio::awaitable<result<void>> doorbell::open(pg::connection& link) {
  const auto opened = co_await open_session(link, settings_);
  if (!opened) co_return tl::make_unexpected(opened.error());
  kind_ = moved_ ? session_kind::pooled : *opened;
  const auto begun = co_await sweeper_.begin(link, kind_);
  if (!begun) co_return begun;
  pg::pipeline ask;
  ask.text(pg::trigger_statement(settings_.schema));
  const auto trigger = co_await link.execute(std::move(ask), settings_.connect_timeout);
  if (!trigger) co_return tl::make_unexpected(trigger.error());
  policy_.set_trigger(trigger->front().at(0, 0) == "t");
  co_return co_await listener_.begin(link, kind_);
}

boost::asio::awaitable<error> doorbell::serve(pg::connection& link) {
  auto next_sweep = clock::now();
  act(policy_.on_listening(next_sweep));
  for (;;) {
    if (link.lost()) co_return *link.lost();
    if (stopping_) {
      co_await hand_over(link);
      co_return error{};
    }
    const auto rung = co_await listener_.attend(link, next_sweep);
    if (!rung) co_return rung.error();
    policy_.set_hears(!listener_.deaf());
    if (*rung > 0) act(policy_.on_notified(*rung, clock::now()));
    if (clock::now() >= std::min(next_sweep, policy_.sweep_by())) {
      const auto pause = co_await sweep(link);
      if (!pause) co_return pause.error();
      pause_.reset();
      next_sweep = clock::now() + *pause;
      continue;  // a probe that went with it has come back with it
    }
    waits_until_ = std::min({next_sweep, policy_.sweep_by(), listener_.next(next_sweep)});
    co_await link.wait_until(waits_until_);
    waits_until_ = {};
  }
}

// Returns how long to wait for the next one.
boost::asio::awaitable<result<std::chrono::milliseconds>> doorbell::sweep(pg::connection& link) {
  auto probe = listener_.take_probe();
  const bool checks = policy_.checks_silence();
  const auto cooling = policy_.coolings();
  const auto found = co_await sweeper_.sweep(link, std::move(probe), checks);
  if (!found) co_return tl::make_unexpected(found.error());
  act(policy_.on_swept({.work = found->work,
                        .unannounced = found->unannounced,
                        .silence_is_over = found->silence_is_over && policy_.coolings() == cooling,
                        .contended = found->contended},
                       clock::now()));
  if (!found->moved || kind_ == session_kind::pooled) co_return found->next;
  moved_ = true;
  co_return transient(
      "a connection pooler changes the session between transactions; going on without LISTEN and prepared "
      "statements");
}

boost::asio::awaitable<void> doorbell::hand_over(pg::connection& link) {
  const auto until = clock::now() + longest_hand_over;
  for (bool over = !policy_.owes(); !over && clock::now() < until;) {
    pg::pipeline ask;
    ask.text(pg::silence_statement(settings_.schema));
    const auto answer = co_await link.execute(std::move(ask), longest_hand_over);
    if (!answer) co_return;
    over = answer->front().at(0, 0) == "t";
    if (!over) co_await link.wait_until(clock::now() + hand_over_pause);
  }
  pg::pipeline ring;
  ring.text(pg::ring_statement(settings_.schema));
  co_await link.execute(std::move(ring), longest_hand_over);
}

void doorbell::quieten() {
  quiet_ = true;
  look_timer_.cancel();
  mute_.stop();
}

void doorbell::stop() {
  quieten();
  stopping_ = true;
  pause_.stop();
  timer_.cancel();
  listener_.stop();
  if (current_ == nullptr) return;
  if (serving_) {
    current_->interrupt();
  } else {
    current_->close();
  }
}

}  // namespace outboxd::relay
