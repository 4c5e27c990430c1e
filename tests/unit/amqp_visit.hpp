// amqp_visit: the real connection driver visits a fake broker, publishes, and tells how it ended.
#pragma once

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "amqp/connection.hpp"
#include "support/fake_broker.hpp"

namespace outboxd::test {

using namespace std::chrono_literals;

struct visit_options {
  int publishes = 0;
  std::size_t body = 5;  // bytes of each message
  std::chrono::milliseconds connect_timeout = 10s;
  std::chrono::seconds heartbeat = 10s;
  std::size_t max_unconfirmed = 4096;
};

// One connection from the first byte to the end.
class visit : private amqp::handler {
 public:
  visit(const fake_broker& at, const visit_options& options = {}) : options_{options} {
    boost::asio::io_context io;
    amqp::connection line(io.get_executor(), settings(at));
    boost::asio::co_spawn(io, go(&line, this), boost::asio::detached);
    constexpr auto time_limit = 30s;
    io.run_for(time_limit);
  }

  bool ended() const { return why_.has_value(); }  // within the time_limit of this class
  bool opened() const { return opened_; }
  bool permanent() const { return why_ && why_->kind == fault::permanent; }
  std::string words() const { return why_ ? why_->message : "(it did not end)"; }
  bool says(std::string_view part) const { return words().find(part) != std::string::npos; }
  // What became of the publishes: "1+ 2- 3(312 NO_ROUTE) " and "4? " for those that nobody knows of;
  // "5! 6! (404 …) " for those over one of which the channel was closed.
  const std::string& fates() const { return fates_; }
  int published() const { return published_; }

 private:
  amqp::connection_settings settings(const fake_broker& at) const {
    amqp::connection_settings out;
    out.target.host = "127.0.0.1";
    out.target.port = at.port();
    out.heartbeat = options_.heartbeat;
    out.connect_timeout = options_.connect_timeout;
    out.max_unconfirmed = options_.max_unconfirmed;
    out.declare_exchanges = {"outbox"};
    return out;
  }

  static boost::asio::awaitable<void> go(amqp::connection* line, visit* self) {
    const auto open = co_await line->open();
    if (!open) {
      self->why_ = open.error();
      co_return;
    }
    self->opened_ = true;
    self->line_ = line;
    self->publish();
    self->why_ = co_await line->run(*self);
    for (const token one : line->abandon()) self->fates_ += std::to_string(one) + "? ";
  }

  void publish() {
    const std::string body(options_.body, 'x');
    while (published_ < options_.publishes) {
      message m{};
      m.exchange = "outbox";
      m.routing_key = "k";
      m.message_id = "m" + std::to_string(published_ + 1);
      m.headers = "{}";
      m.body = body;
      const auto ok = line_->publish(static_cast<token>(published_ + 1), m);
      if (!ok || *ok == accepted::full) return;
      ++published_;
    }
  }

  void on_outcomes(std::span<const outcome> outcomes) override {
    for (const outcome& one : outcomes)
      fates_ += std::to_string(one.id) + (one.what == verdict::acked    ? "+ "
                                          : one.what == verdict::nacked ? "- "
                                                                        : "(" + one.reason + ") ");
  }
  void on_channel_closed(std::span<const token> unknown, const refusal& why) override {
    for (const token one : unknown) fates_ += std::to_string(one) + "! ";
    fates_ += fmt::format("({}) ", why.reason);
  }
  void on_writable() override { publish(); }
  void on_blocked(std::string_view) override {}
  void on_unblocked() override {}

  visit_options options_;
  amqp::connection* line_ = nullptr;
  bool opened_ = false;
  int published_ = 0;
  std::string fates_;
  std::optional<error> why_;
};

}  // namespace outboxd::test
