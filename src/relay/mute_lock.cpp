#include "relay/mute_lock.hpp"

#include "pg/outbox_statements.hpp"
#include "pg/sqlstate.hpp"

namespace outboxd::relay {
namespace {

using clock = std::chrono::steady_clock;

// To wait holds a snapshot, and with it all vacuuming.
constexpr std::chrono::milliseconds longest_wait{1'000};

// The server ends the session of a relay that hangs after claim_timeout; it is touched so many times in that.
constexpr int touches = 4;

pg::pipeline one_step(std::string sql) {
  pg::pipeline out;
  out.text(std::move(sql));
  return out;
}

}  // namespace

mute_lock::mute_lock(const boost::asio::any_io_executor& on, const postgres_settings& settings,
                     link_observer& observer, std::function<void(mute_news)> tell)
    : executor_(on), settings_(settings), observer_(observer), tell_(std::move(tell)), pause_(on) {}

boost::asio::awaitable<void> mute_lock::run() {
  while (!stopping_) {
    pg::connection link(executor_);
    current_ = &link;
    const auto opened = co_await open(link);
    if (opened) {
      observer_.on_link_up(peer::database);
      tell_(mute_news::up);
      serving_ = true;
      const error why = co_await serve(link);
      serving_ = false;
      asked_ = false;
      tell_(mute_news::down);
      observer_.on_link_down(peer::database, why);
    } else {
      observer_.on_link_refused(peer::database, opened.error());
    }
    current_ = nullptr;
    if (!stopping_) co_await pause_.wait();
  }
}

boost::asio::awaitable<result<void>> mute_lock::open(pg::connection& link) {
  const auto opened = co_await open_session(link, settings_);
  if (!opened) co_return tl::make_unexpected(opened.error());
  if (*opened == session_kind::pooled) co_return result<void>();
  auto steps = one_step(pg::session_settings(settings_.claim_timeout));
  const auto set = co_await link.execute(std::move(steps), settings_.connect_timeout);
  if (!set) co_return tl::make_unexpected(set.error());
  co_return result<void>();
}

boost::asio::awaitable<error> mute_lock::serve(pg::connection& link) {
  for (;;) {
    while (!asked_ && !stopping_ && !link.lost()) {
      co_await link.wait();
      link.take_notifications();  // see postgres_outbox
    }
    if (link.lost()) co_return *link.lost();
    if (stopping_) co_return error{};
    asked_ = false;
    const auto answer = co_await acquire(link);
    if (!answer) co_return answer.error();
    pause_.reset();
    release_ = *answer != mute_news::granted;
    if (!release_) tell_(*answer);
    const auto ended = co_await hold(link);
    if (!ended) co_return ended.error();
    if (*answer != mute_news::granted) tell_(*answer);
  }
}

boost::asio::awaitable<result<mute_news>> mute_lock::acquire(pg::connection& link) {
  pg::pipeline steps;
  for (auto& one : pg::mute_statements(settings_.schema, longest_wait, settings_.claim_timeout))
    steps.text(std::move(one));
  const auto answers = co_await link.execute(std::move(steps), longest_wait + settings_.claim_timeout);
  if (answers)
    co_return answers->at(pg::mute_answer).at(0, 0) == "t" ? mute_news::granted : mute_news::refused;
  if (pg::is_lock_timeout(link.last_sqlstate())) co_return mute_news::timed_out;
  co_return tl::make_unexpected(answers.error());
}

// Until release(); then, or if there is nothing to hold, ends the transaction.
boost::asio::awaitable<result<void>> mute_lock::hold(pg::connection& link) {
  auto touch = clock::now() + settings_.claim_timeout / touches;
  while (!release_ && !stopping_ && !link.lost()) {
    co_await link.wait_until(touch);
    link.take_notifications();
    if (release_ || link.lost() || clock::now() < touch) continue;
    auto steps = one_step(pg::mute_guard(settings_.claim_timeout));
    const auto touched = co_await link.execute(std::move(steps), settings_.claim_timeout);
    if (!touched) co_return tl::make_unexpected(touched.error());
    touch = clock::now() + settings_.claim_timeout / touches;
  }
  auto steps = one_step("ROLLBACK");
  const auto ended = co_await link.execute(std::move(steps), settings_.claim_timeout);
  if (!ended) co_return tl::make_unexpected(ended.error());
  co_return result<void>();
}

void mute_lock::ask() {
  asked_ = true;
  if (current_ != nullptr) current_->interrupt();
}

void mute_lock::release() {
  release_ = true;
  if (current_ != nullptr) current_->interrupt();
}

// In order, for the server may notice the end of a session later than others look for its locks.
void mute_lock::stop() {
  stopping_ = true;
  pause_.stop();
  if (current_ == nullptr) return;
  if (serving_) {
    current_->interrupt();
  } else {
    current_->close();
  }
}

}  // namespace outboxd::relay
