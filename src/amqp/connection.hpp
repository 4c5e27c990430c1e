// connection: one AMQP connection with one confirm channel, on Asio; publishes in, outcomes out.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/confirm_ledger.hpp"
#include "amqp/greeting.hpp"
#include "amqp/tls_context.hpp"
#include "amqp/url.hpp"
#include "core/error.hpp"
#include "core/message.hpp"

namespace outboxd::amqp {

struct connection_settings {
  url target;
  std::string connection_name = "outboxd";            // shown by the broker's tools
  std::chrono::seconds heartbeat{10};                 // proposed; 0 takes the broker's
  std::chrono::milliseconds connect_timeout{10'000};  // name look-up, TCP and handshake together
  std::vector<std::string> declare_exchanges;         // durable, of type topic
  std::size_t max_message_size = 134'217'728;         // bytes of a body
  std::size_t max_unconfirmed = 4096;                 // publishes without an answer
  // Bytes accepted and not yet handed to a write; a write under way holds as much again.
  std::size_t max_buffered = std::size_t{1024} * 1024;
  login_by login = login_by::plain;
  tls_settings tls;  // for a target with amqps://
};

// What a running connection tells its owner, on the connection's executor, never from inside publish().
class handler {
 public:
  virtual ~handler() = default;
  // All outcomes of one read.
  virtual void on_outcomes(std::span<const outcome> outcomes) = 0;
  // The broker closed the channel over one of these publishes, oldest first (is_about_a_message(),
  // refusal.hpp); the fate of each is unknown. It is opened again; until then publish() says full.
  virtual void on_channel_closed(std::span<const token> unknown, const refusal& why) = 0;
  // There is room again after publish() said full.
  virtual void on_writable() = 0;
  // The broker accepts nothing until on_unblocked (memory or disk alarm). Publishes are still accepted while
  // room is left.
  virtual void on_blocked(std::string_view reason) = 0;
  virtual void on_unblocked() = 0;
  // The broker has taken the password of update_secret().
  virtual void on_secret_updated() {}
};

using outboxd::accepted;

class link;

// Used once: open, run, and a new object for the next connection. One thread: the executor's.
// Destroy it at any time; a run() that still goes on then ends as after abort(), and its handler must live
// until it has returned.
class connection {
 public:
  connection(boost::asio::any_io_executor executor, connection_settings settings);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // Connects and brings the channel into confirm mode. Permanent errors need an operator (handshake.hpp).
  boost::asio::awaitable<result<void>> open();

  // After open(): exchanges that it has newly declared. Nothing is bound to them yet.
  const std::vector<std::string>& created() const;

  // After open(): when the client certificate that was shown to the broker expires.
  std::optional<std::chrono::system_clock::time_point> certificate_expires() const;

  // Reads, writes and keeps the heartbeat until the connection ends, and returns why (transient). The fate of
  // every publish without an outcome is then unknown. After open(), once.
  boost::asio::awaitable<error> run(handler& owner);

  // Never blocks and never calls back; the bytes leave in one write with all others of this turn of the
  // reactor. An error is this event's own fault (permanent): it cannot be encoded, and nothing was sent. A
  // message larger than max_buffered is accepted when the buffer is empty.
  result<accepted> publish(token id, const message& message);

  // Gives the broker the user's next password, before a token ends (connection.update-secret).
  // A broker that refuses it closes the connection.
  result<void> update_secret(std::string_view secret);

  std::size_t unconfirmed() const;

  // After run(): the tokens of all publishes without an outcome, oldest first.
  std::vector<token> abandon();

  // After run(): what the end of the connection says about these publishes.
  const interruption& interrupted() const;

  // Sends what is buffered and ends the connection orderly, or after `limit` at once. Publishes nothing from
  // now on; outcomes still come. When it is done, run() returns. Call it once.
  boost::asio::awaitable<void> close(std::chrono::milliseconds limit);

  // Drops the socket now: open() or run() returns in the next turn.
  void abort();

 private:
  std::shared_ptr<link> link_;
};

}  // namespace outboxd::amqp
