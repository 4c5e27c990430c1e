#include "relay/listener.hpp"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <random>

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// A probe waits this long for a sweep to go with, instead of costing a statement of its own.
constexpr auto ride_limit = 1s;

// For each of the two steps of an errand: less than the patience of the probe.
constexpr auto errand_limit = 1s;

// Between two sweeps: what arrives with the answer to a statement proves nothing through a pooler.
constexpr auto errand_delay = 300ms;

// Through a pooler that takes notifications nothing but a new session can help.
constexpr int most_deaf_in_a_row = 2;

// No other session listens to it, so it wakes nobody; random, for poolers hide the process number.
std::string new_channel() {
  std::random_device random;
  return fmt::format("outboxd_probe_{:08x}{:08x}", random(), random());
}

std::string notify(const std::string& channel) {
  return fmt::format("SELECT pg_notify('{}', '')", channel);
}

std::string_view words_for(session_kind kind) {
  switch (kind) {
    case session_kind::own:
      return "notifications do not arrive; events leave by the sweep, and LISTEN is tried again";
    case session_kind::pooled:
      return "notifications do not arrive through a connection pooler in transaction mode; events leave by "
             "the sweep "
             "alone. Give database.url the server itself, or a pool in session mode, and they leave at once";
  }
  return {};
}

}  // namespace

// A notification to oneself proves nothing through a pooler: it comes with the answer to the statement that sent it.
// So somebody else has to send it.
struct listener::errand {
  explicit errand(const boost::asio::any_io_executor& on) : link(on) {}
  pg::connection link;
  bool done = false;
};

listener::listener(const boost::asio::any_io_executor& on, const postgres_settings& settings,
                   link_observer& observer)
    : executor_(on), settings_(settings), observer_(observer) {}

listener::~listener() = default;

boost::asio::awaitable<result<void>> listener::begin(pg::connection& link, session_kind kind) {
  kind_ = kind;
  channel_ = new_channel();
  listens_ = kind == session_kind::own;
  deaf_in_a_row_ = 0;
  const auto listening = co_await listen(link);
  if (listening) probe_.begin(clock::now() + (kind == session_kind::pooled ? errand_delay : 0ms));
  co_return listening;
}

void listener::end() {
  probe_.end();
  stop();
}

void listener::stop() {
  if (errand_) errand_->link.close();
  errand_.reset();
}

// On its own: LISTEN takes effect with the end of its transaction, and the first sweep has to begin after that.
boost::asio::awaitable<result<void>> listener::listen(pg::connection& link) {
  pg::pipeline steps;
  steps.text("LISTEN " + channel_);
  if (listens_) steps.text("LISTEN " + settings_.schema.identifier());
  return execute(link, std::move(steps));
}

boost::asio::awaitable<result<void>> listener::execute(pg::connection& link, pg::pipeline steps) const {
  const auto done = co_await link.execute(std::move(steps), settings_.connect_timeout);
  if (!done) co_return tl::make_unexpected(done.error());
  co_return result<void>();
}

boost::asio::awaitable<result<int>> listener::attend(pg::connection& link, time_point next_sweep) {
  auto work = co_await take(link);
  if (work && probe_.late(clock::now())) {
    const auto found = co_await overdue(link);
    if (!found) co_return found;
    work = *work + *found;
  }
  if (work && probe_.due(clock::now()) && next(next_sweep) == probe_.next()) {
    const auto sent = co_await send_probe(link);
    if (!sent) co_return tl::make_unexpected(sent.error());
  }
  co_return work;
}

boost::asio::awaitable<result<int>> listener::take(pg::connection& link) {
  const auto arrived = link.take_notifications();
  const auto rung = arrived.find(settings_.schema.name());
  int work = rung == arrived.end() ? 0 : rung->second;
  if (!arrived.contains(channel_)) co_return work;
  deaf_in_a_row_ = 0;
  if (probe_.on_heard(clock::now())) observer_.on_hearing_again();
  if (!listens_) {
    listens_ = true;
    const auto listening = co_await listen(link);
    if (!listening) co_return tl::make_unexpected(listening.error());
    ++work;  // perhaps since before
  }
  co_return work;
}

// Listening again is also a round trip: when it is done, everything that was under way has arrived.
boost::asio::awaitable<result<int>> listener::overdue(pg::connection& link) {
  if (kind_ == session_kind::pooled && !(errand_ && errand_->done)) {
    stop();
    probe_.on_unsent(clock::now());
    co_return 0;
  }
  const auto listening = co_await listen(link);
  if (!listening) co_return tl::make_unexpected(listening.error());
  const auto work = co_await take(link);
  if (!work) co_return work;
  if (probe_.late(clock::now())) {
    if (probe_.on_deaf(clock::now())) observer_.on_deaf(std::string(words_for(kind_)));
    if (kind_ == session_kind::pooled && ++deaf_in_a_row_ == most_deaf_in_a_row) probe_.end();
  }
  co_return 1;  // who was deaf may have missed something
}

boost::asio::awaitable<result<void>> listener::send_probe(pg::connection& link) {
  probe_.on_sent(clock::now());
  if (kind_ == session_kind::own) {
    pg::pipeline steps;
    steps.text(notify(channel_));
    co_return co_await execute(link, std::move(steps));
  }
  const auto url = settings_.url();
  if (!url) co_return tl::make_unexpected(url.error());
  errand_ = std::make_shared<errand>(executor_);
  boost::asio::co_spawn(executor_, run(errand_, *url, channel_), boost::asio::detached);
  co_return result<void>();
}

boost::asio::awaitable<void> listener::run(std::shared_ptr<errand> what, std::string url,
                                           std::string channel) {
  const auto opened = co_await what->link.open(std::move(url), errand_limit);
  if (!opened) co_return;
  pg::pipeline steps;
  steps.text(notify(channel));
  const auto sent = co_await what->link.execute(std::move(steps), errand_limit);
  what->done = sent.has_value();
  what->link.close();
}

std::string listener::take_probe() {
  if (kind_ == session_kind::pooled || !probe_.due(clock::now())) return {};
  probe_.on_sent(clock::now());
  return channel_;
}

listener::time_point listener::next(time_point next_sweep) const {
  const auto at = probe_.next();
  const bool rides = kind_ == session_kind::own && probe_.rests() && next_sweep - ride_limit <= at;
  return rides ? time_point::max() : at;
}

}  // namespace outboxd::relay
