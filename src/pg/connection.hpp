// connection: one libpq session on an Asio reactor; none of its functions blocks.
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

// Not thread-safe. A coroutine that waits for a connection must end before that connection is destroyed.
class connection {
 public:
  explicit connection(const asio::any_io_executor& on);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // Connects and enters pipeline mode. Names are resolved without blocking. Every address of every host is
  // tried in turn, each with its share of the time. If there are several hosts, only one that accepts writes
  // is suitable, unless the string sets target_session_attrs.
  asio::awaitable<result<void>> open(std::string connection_string, std::chrono::milliseconds within);

  // Sends all steps at once and waits for their answers: returns one `rows` per step, or the first error. An
  // error of the connection itself, or a timeout, also ends the connection: see lost().
  asio::awaitable<result<std::vector<rows>>> execute(pipeline steps, std::chrono::milliseconds within);

  // The same for a pipeline of several segments: returns the result of each segment. Only an error of the
  // connection itself makes the call fail.
  struct segment {
    std::vector<rows> answers;
    std::optional<error> refusal;  // the error of the first failed step
    std::string sqlstate;          // of that error
    bool is_denied = false;        // the session's user lacks a privilege
  };
  asio::awaitable<result<std::vector<segment>>> execute_segments(pipeline steps,
                                                                 std::chrono::milliseconds within);

  // From now on, if the user lacks a privilege, the server is asked how to grant it: `query` creates a query
  // from the server's message, and its answer is appended to the message.
  void explain_denials(std::function<std::string(std::string_view words)> query);

  // Waits for an event: a notification, the end of the connection, interrupt(), or the deadline.
  asio::awaitable<void> wait_until(std::chrono::steady_clock::time_point deadline);
  asio::awaitable<void> wait();

  // Ends the current wait(), or the next one.
  void interrupt();

  // The payloads of the notifications that have arrived since the last call, and the number of each.
  using payloads = std::map<std::string, int, std::less<>>;
  payloads take_notifications();

  // From now on, payloads other than `words` are only counted: any user can send any payload, and a flood of
  // them would fill the memory while an answer is awaited.
  void heed_only(std::vector<std::string> words);

  // The number of notifications since the last call, by the server process that sent them; -1 collects
  // further processes.
  using senders = std::map<int, int>;
  senders take_senders();

  asio::any_io_executor executor() const;

  // Why the connection ended; nullopt while it is open.
  const std::optional<error>& lost() const;

  // The SQLSTATE of the error that the last execute() returned; empty if the error was not the server's.
  const std::string& last_sqlstate() const;

  // The server process that prevents the notification queue from being emptied, from the server's last
  // warning to a NOTIFY of this session: if the queue is more than half full, the server warns one session
  // every five seconds. 0: no warning since the last call.
  int take_queue_holder();

  // True if the server has become read-only since login (default_transaction_read_only, which PostgreSQL
  // reports with each answer). The value at connection start does not count, because a pooler may send an
  // outdated one.
  bool turned_read_only() const;

  // While the connection is open: its server's host and port, and the server process reported at connection
  // start.
  std::string server() const;
  int backend_pid() const;
  // Whether TLS protects the connection, and the sslmode with which it was opened, whatever set it.
  bool encrypted() const;
  std::string sslmode() const;

  void close();

 private:
  asio::awaitable<result<std::vector<segment>>> run(pipeline steps, std::chrono::milliseconds within);

  struct session;
  std::shared_ptr<session> session_;
};

}  // namespace outboxd::pg
