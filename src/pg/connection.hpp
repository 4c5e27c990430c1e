// connection: one libpq session on an Asio reactor; nothing in it blocks.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "pg/pipeline.hpp"
#include "pg/rows.hpp"

namespace outboxd::pg {

namespace asio = boost::asio;

// For one thread. A coroutine that waits here must end before the connection is destroyed.
class connection {
 public:
  explicit connection(const asio::any_io_executor& on);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // Connects and enters pipeline mode. Names are resolved without blocking. Every address of every host is
  // tried in turn, each with its share of the time. With several hosts, only one that accepts writes is
  // suitable, unless the string has a target_session_attrs of its own.
  asio::awaitable<result<void>> open(std::string connection_string, std::chrono::milliseconds within);

  // Sends the steps in one go and waits for all answers: one rows per step, or the first error. An error of
  // the connection itself, or no answer in time, also ends the connection: see lost().
  asio::awaitable<result<std::vector<rows>>> execute(pipeline steps, std::chrono::milliseconds within);

  // The same for a pipeline of several segments: returns the result of each. An error of the connection
  // itself is returned.
  struct segment {
    std::vector<rows> answers;
    std::optional<error> refusal;  // of its first failed step
    std::string sqlstate;          // of that
    bool is_denied = false;        // its user lacks a right
  };
  asio::awaitable<result<std::vector<segment>>> execute_segments(pipeline steps,
                                                                 std::chrono::milliseconds within);

  // From now on, when this user lacks a right, the server is asked how to grant it: `query` makes the
  // question from the server's message, and the answer is appended to it.
  void explain_denials(std::function<std::string(std::string_view words)> query);

  // Waits until something happens: a notification, the end of the connection, interrupt(), or the deadline.
  asio::awaitable<void> wait_until(std::chrono::steady_clock::time_point deadline);
  asio::awaitable<void> wait();

  // Ends a wait(), now or the next one.
  void interrupt();

  // The payloads of the notifications that have arrived since the last call, and how many there were of each.
  using payloads = std::map<std::string, int, std::less<>>;
  payloads take_notifications();

  // From now on, payloads other than `words` are only counted: any user can send any payload, and a flood of
  // them would fill the memory while an answer is awaited.
  void heed_only(std::vector<std::string> words);

  // How many have arrived since the last call, by the server process that sent them; -1: further processes.
  using senders = std::map<int, int>;
  senders take_senders();

  asio::any_io_executor executor() const;

  // Why the connection ended; none while it is open.
  const std::optional<error>& lost() const;

  // The code of the error that the last execute() returned, empty if it was none of the server's.
  const std::string& last_sqlstate() const;

  // The server process that keeps the notification queue from being emptied, from the server's latest warning
  // to this session's NOTIFY: when the queue is half full, it warns one session every five seconds. 0: no
  // warning since the last call.
  int take_queue_holder();

  // Since the login, the server has become read-only (default_transaction_read_only, which PostgreSQL reports
  // with each answer). The greeting does not count, because a pooler may have an old one.
  bool turned_read_only() const;

  // While it is open: the host and port that it reached, and the process there, as the greeting had it.
  std::string server() const;
  int backend_pid() const;
  // Whether TLS protects it, and the sslmode that it was opened with, wherever that came from.
  bool encrypted() const;
  std::string sslmode() const;

  void close();

 private:
  asio::awaitable<result<std::vector<segment>>> run(pipeline steps, std::chrono::milliseconds within);

  struct session;
  std::shared_ptr<session> session_;
};

}  // namespace outboxd::pg
