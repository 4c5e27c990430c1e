// connection: an AMQP connection with one channel in confirm mode, on Asio: sends messages and reports
// outcomes.
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
  std::chrono::seconds heartbeat{10};                 // the proposed interval; 0: use the broker's
  std::chrono::milliseconds connect_timeout{10'000};  // for name look-up, TCP and handshake together
  std::vector<std::string> declare_exchanges;         // durable, of type topic
  std::size_t max_message_size = 134'217'728;         // bytes of a body
  std::size_t max_unconfirmed = 4096;                 // maximum messages without an outcome
  // Maximum bytes accepted but not passed to a write; a write under way may hold as many again.
  std::size_t max_buffered = std::size_t{1024} * 1024;
  login_by login = login_by::plain;
  tls_settings tls;  // for an amqps:// URL
};

// Callbacks of a running connection, called on its executor, and never during publish().
class handler {
 public:
  virtual ~handler() = default;
  // Receives all outcomes of one socket read.
  virtual void on_outcomes(std::span<const outcome> outcomes) = 0;
  // The broker closed the channel because of one of these messages, listed oldest first
  // (is_about_a_message(), refusal.hpp); their outcomes are unknown. The channel is opened again; until then,
  // publish() returns full.
  virtual void on_channel_closed(std::span<const token> unknown, const refusal& why) = 0;
  // There is room again after publish() returned full.
  virtual void on_writable() = 0;
  // The broker accepts no messages until on_unblocked, because of a memory or disk alarm. publish() still
  // accepts messages while there is room.
  virtual void on_blocked(std::string_view reason) = 0;
  virtual void on_unblocked() = 0;
  // The broker has accepted the password of update_secret().
  virtual void on_secret_updated() {}
};

using outboxd::accepted;

class link;

// An object is used for one connection: open() and run(). Not thread-safe: use it only on the executor's
// thread. An object may be destroyed at any time; a run() that is still active then ends as after abort(),
// and its handler must exist until run() has returned.
class connection {
 public:
  connection(boost::asio::any_io_executor executor, connection_settings settings);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // Connects, and puts the channel into confirm mode. Permanent errors need an operator (handshake.hpp).
  boost::asio::awaitable<result<void>> open();

  // Valid after open(): the exchanges that it has created. No queue is bound to them yet.
  const std::vector<std::string>& created() const;

  // Valid after open(): the expiry of the client certificate that was presented to the broker.
  std::optional<std::chrono::system_clock::time_point> certificate_expires() const;

  // Reads, writes and sends heartbeats until the connection ends, and returns why it ended (transient). The
  // outcome of all unconfirmed messages is then unknown. Call it once, after open().
  boost::asio::awaitable<error> run(handler& owner);

  // Never blocks and never calls back; all messages of one turn of the reactor are sent in one write. An
  // error is this event's own fault (permanent): the message cannot be encoded, and nothing was sent. A
  // message larger than max_buffered is accepted if the buffer is empty.
  result<accepted> publish(token id, const message& message);

  // Sends the user's next password to the broker before a token expires (connection.update-secret). If the
  // broker rejects the password, it closes the connection.
  result<void> update_secret(std::string_view secret);

  std::size_t unconfirmed() const;

  // Valid after run(): the tokens of all messages without an outcome, oldest first.
  std::vector<token> abandon();

  // Valid after run(): what the end of the connection means for these messages.
  const interruption& interrupted() const;

  // Sends what is buffered and closes the connection in an orderly way, or abruptly after `limit`. From now
  // on nothing is published; outcomes still arrive. When the connection is closed, run() returns. Call this
  // once.
  boost::asio::awaitable<void> close(std::chrono::milliseconds limit);

  // Closes the socket immediately: open() or run() returns in the next turn.
  void abort();

 private:
  std::shared_ptr<link> link_;
};

}  // namespace outboxd::amqp
