#include "relay/rabbitmq_broker.hpp"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "relay/read_secret.hpp"

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;
constexpr auto close_limit = 1s;

boost::asio::awaitable<void> close(std::shared_ptr<amqp::connection> link) {
  co_await link->close(close_limit);
}

}  // namespace

rabbitmq_broker::rabbitmq_broker(const boost::asio::any_io_executor& on, const rabbitmq_settings& settings,
                                 size_limit& largest, link_observer& observer)
    : executor_(on), settings_(settings), largest_(largest), observer_(observer), pause_(on) {}

boost::asio::awaitable<void> rabbitmq_broker::run(flow::broker_listener& listener) {
  listener_ = &listener;
  while (!stopping_) {
    const auto opened = co_await open();
    if (opened) {
      co_await serve();
    } else {
      refused(opened.error());
    }
    link_.reset();
    if (!stopping_) co_await pause_.wait();
  }
}

// A broker may accept connections and close them at once, so connecting alone does not make the pause short
// again.
boost::asio::awaitable<void> rabbitmq_broker::serve() {
  up_ = true;
  largest_.forget();
  refused_for_good_ = 0;
  const auto since = std::chrono::steady_clock::now();
  for (const std::string& one : link_->created()) observer_.on_exchange_created(one);
  if (const auto expires = link_->certificate_expires()) observer_.on_certificate_shown(*expires);
  observer_.on_link_up(peer::broker);
  listener_->on_broker_up();
  error why = co_await link_->run(*this);
  if (renewal_) std::exchange(renewal_, nullptr)->stop();
  up_ = false;
  say_unblocked();
  if (std::chrono::steady_clock::now() - since > reconnect_pause::longest) pause_.reset();
  if (!drop_reason_.empty()) why.message = std::exchange(drop_reason_, {});
  listener_->on_broker_down(link_->interrupted());
  observer_.on_link_down(peer::broker, why);
}

// The error is permanent only if no URL of the list works.
void rabbitmq_broker::refused(error why) {
  ++next_url_;
  refused_for_good_ = why.kind == fault::permanent ? refused_for_good_ + 1 : 0;
  if (refused_for_good_ < settings_.urls.size()) why.kind = fault::transient;
  observer_.on_link_refused(peer::broker, why);
}

boost::asio::awaitable<result<void>> rabbitmq_broker::open() {
  const secret& from = settings_.urls[next_url_ % settings_.urls.size()];
  OUTBOXD_CO_TRY(const auto text, co_await read_secret(from));
  if (stopping_) co_return transient("stopped");
  OUTBOXD_CO_TRY(auto target, amqp::parse_url(text));
  const auto token_ends = end_of_token(target.password);
  amqp::connection_settings how{
      .target = std::move(target),
      .connection_name = settings_.connection_name,
      .heartbeat = settings_.heartbeat,
      .connect_timeout = settings_.connect_timeout,
      .declare_exchanges = settings_.declare_exchanges,
      .max_message_size = settings_.max_message_size,
      .max_unconfirmed = settings_.max_unconfirmed,
      .max_buffered = settings_.max_buffered,
      .login = settings_.login,
      .tls = settings_.tls,
  };
  link_ = std::make_shared<amqp::connection>(executor_, std::move(how));
  OUTBOXD_CO_TRY_VOID(co_await link_->open());
  if (token_ends) {
    renewal_ = std::make_shared<token_renewal>(executor_, from, link_, observer_);
    boost::asio::co_spawn(executor_, token_renewal::run(renewal_, *token_ends), boost::asio::detached);
  }
  co_return result<void>();
}

void rabbitmq_broker::stop() {
  stopping_ = true;
  pause_.stop();
  if (up_) {
    boost::asio::co_spawn(executor_, close(link_), boost::asio::detached);
  } else if (link_) {
    link_->abort();
  }
}

result<accepted> rabbitmq_broker::publish(token name, const message& what) {
  if (!up_) return accepted::full;
  if (auto fits = largest_.check(what.body.size()); !fits) return tl::make_unexpected(fits.error());
  return link_->publish(name, what);
}

// An unhealthy node may still accept connections, so the next attempt uses another node, if there is one.
void rabbitmq_broker::drop(std::string_view why) {
  if (!up_) return;
  ++next_url_;
  drop_reason_ = fmt::format("connection to RabbitMQ dropped: {}", why);
  link_->abort();
}

void rabbitmq_broker::on_outcomes(std::span<const outcome> outcomes) {
  pause_.reset();
  listener_->on_outcomes(outcomes);
}
void rabbitmq_broker::on_channel_closed(std::span<const token> unknown, const refusal& why) {
  if (why.size_limit) largest_.set(*why.size_limit);
  listener_->on_channel_closed(unknown, why);
}
void rabbitmq_broker::on_blocked(std::string_view reason) {
  if (!std::exchange(blocked_, true)) observer_.on_link_blocked(reason);
  listener_->on_blocked(true);
}
void rabbitmq_broker::on_unblocked() {
  say_unblocked();
  listener_->on_blocked(false);
}
void rabbitmq_broker::say_unblocked() {
  if (std::exchange(blocked_, false)) observer_.on_link_unblocked();
}

}  // namespace outboxd::relay
