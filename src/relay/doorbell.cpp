#include "relay/doorbell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdlib>

#include "pg/outbox_statements.hpp"

namespace outboxd::relay {
namespace {

using std::chrono::milliseconds;

using clock = std::chrono::steady_clock;

constexpr int most_due_per_sweep = 10'000;

// The search for orphans takes at most one part in this many of the time.
constexpr int search_share = 20;

// "extract(epoch …)" in text format: seconds with a fraction, rounded up. Not above zero: due already.
milliseconds read_seconds(std::string_view text) {
  const double seconds = std::strtod(std::string(text).c_str(), nullptr);
  if (seconds <= 0) return milliseconds(0);
  return milliseconds(static_cast<milliseconds::rep>(std::min(seconds, 1e9) * 1000) + 1);
}

std::int64_t read_integer(std::string_view text) {
  return std::strtoll(std::string(text).c_str(), nullptr, 10);
}

}  // namespace

doorbell::doorbell(const boost::asio::any_io_executor& on, const postgres_settings& settings,
                   milliseconds sweep_interval, link_observer& observer, std::function<void()> ring)
    : executor_(on),
      settings_(settings),
      interval_(sweep_interval),
      observer_(observer),
      ring_(std::move(ring)),
      pause_(on),
      timer_(on) {}

boost::asio::awaitable<void> doorbell::run() {
  while (!stopping_) {
    pg::connection link(executor_);
    current_ = &link;
    const auto opened = co_await open(link);
    if (opened) {
      observer_.on_link_up(peer::database);
      listening_ = true;
      const error why = co_await serve(link);
      listening_ = false;
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
    if (!stopping_ && !listening_) ring_();
  }
}

boost::asio::awaitable<result<void>> doorbell::open(pg::connection& link) {
  const auto url = settings_.url();
  if (!url) co_return tl::make_unexpected(url.error());
  auto opened = co_await link.open(*url, settings_.connect_timeout);
  if (!opened) co_return opened;
  // On its own: LISTEN takes effect with the end of its transaction, and the first sweep has to begin after
  // that.
  pg::pipeline listen;
  listen.text(pg::session_settings(settings_.claim_timeout));
  listen.text(pg::sweep_statement(settings_.schema, 0));  // a trial: may this user call it?
  listen.text(fmt::format("LISTEN {}", settings_.schema.identifier()));
  const auto listening = co_await link.execute(std::move(listen), settings_.connect_timeout);
  if (!listening) co_return tl::make_unexpected(listening.error());
  co_return result<void>();
}

boost::asio::awaitable<error> doorbell::serve(pg::connection& link) {
  auto next_sweep = clock::now();
  auto next_search = clock::now();
  for (;;) {
    if (stopping_) co_return error{};
    if (link.lost()) co_return *link.lost();
    if (link.take_notification()) ring_();
    if (clock::now() >= next_sweep) {
      const auto found = co_await sweep(link);
      if (!found) co_return found.error();
      pause_.reset();
      next_sweep = clock::now() + found->next;
      if (found->queues && clock::now() >= next_search) {
        const auto pause = co_await release_orphans(link);
        if (!pause) co_return pause.error();
        next_search = clock::now() + *pause;
      }
    }
    co_await link.wait_until(next_sweep);
  }
}

boost::asio::awaitable<result<doorbell::sweep_result>> doorbell::sweep(pg::connection& link) {
  pg::pipeline steps;
  steps.text(pg::sweep_statement(settings_.schema, most_due_per_sweep));
  const auto answers = co_await link.execute(std::move(steps), settings_.claim_timeout);
  if (!answers) co_return tl::make_unexpected(answers.error());
  const pg::rows& found = answers->front();
  if (found.at(0, 0) == "t") ring_();
  sweep_result out{.next = interval_, .queues = found.at(0, 2) == "t"};
  const auto next_due = found.find(0, 3);
  const auto wait = next_due ? read_seconds(*next_due) : interval_;
  if (read_integer(found.at(0, 1)) == most_due_per_sweep) {
    out.next = milliseconds(0);         // there may be more
  } else if (wait > milliseconds(0)) {  // else it is due, was not woken, and so is locked by somebody
    out.next = std::min(interval_, wait);
  }
  co_return out;
}

// Rarely needed and dearer the more queues there are: its cost sets its interval.
boost::asio::awaitable<result<milliseconds>> doorbell::release_orphans(pg::connection& link) {
  const auto began = clock::now();
  pg::pipeline steps;
  steps.text(pg::release_orphans_statement(settings_.schema));
  const auto answers = co_await link.execute(std::move(steps), settings_.claim_timeout);
  if (!answers) co_return tl::make_unexpected(answers.error());
  const auto released = read_integer(answers->front().at(0, 0));
  if (released > 0) ring_();
  if (released == pg::most_released) co_return milliseconds(0);  // there may be more
  const auto cost = std::chrono::duration_cast<milliseconds>(clock::now() - began);
  co_return std::max(interval_, cost * search_share);
}

void doorbell::stop() {
  stopping_ = true;
  pause_.stop();
  timer_.cancel();
  if (current_ != nullptr) current_->close();
}

}  // namespace outboxd::relay
