// connection: one libpq session on an Asio reactor; nothing in it blocks.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "pg/pipeline.hpp"
#include "pg/rows.hpp"

namespace outboxd::pg {

namespace asio = boost::asio;

// For one thread. A coroutine that waits in here has to be done before the connection is destroyed.
class connection {
 public:
  explicit connection(const asio::any_io_executor& on);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // Connects and enters pipeline mode. Names are resolved without blocking and every address is tried in
  // turn.
  asio::awaitable<result<void>> open(std::string connection_string, std::chrono::milliseconds within);

  // Sends the steps in one go and waits for all answers: one rows per step, or the first error. An error of
  // the connection itself, or no answer in time, also ends the connection: see lost().
  asio::awaitable<result<std::vector<rows>>> execute(pipeline steps, std::chrono::milliseconds within);

  // Waits until something happens: a notification, the end of the connection, interrupt(), or the deadline.
  asio::awaitable<void> wait_until(std::chrono::steady_clock::time_point deadline);
  asio::awaitable<void> wait();

  // Ends a wait(), now or the next one.
  void interrupt();

  // Has a notification arrived since the last call?
  bool take_notification();

  // Why the connection ended; none while it is open.
  const std::optional<error>& lost() const;

  void close();

 private:
  struct session;
  std::shared_ptr<session> session_;
};

}  // namespace outboxd::pg
