#include "http/server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "http/as_result.hpp"
#include "http/listener.hpp"

namespace outboxd::http {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// The pause after a failure such as a lack of file descriptors, which is not resolved at once.
constexpr std::chrono::milliseconds pause_after_failure{100};

constexpr std::string_view too_many =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

}  // namespace

struct server::state : std::enable_shared_from_this<server::state> {
  state(asio::any_io_executor on, later_handler answer, allowed_hosts hosts, limits within)
      : executor(std::move(on)),
        shared(std::make_shared<service>(
            service{std::move(answer), std::move(hosts), within, pace(within.answers_per_second)})),
        pause(executor) {}

  static asio::awaitable<void> accept(std::shared_ptr<state> self, std::shared_ptr<listener> from);
  void admit(connection::socket_type socket, bool local);
  void stop();

  asio::any_io_executor executor;
  std::shared_ptr<service> shared;
  std::vector<std::shared_ptr<listener>> listeners;
  std::unordered_set<std::shared_ptr<connection>> open;
  asio::steady_timer pause;
  bool stopped = false;
};

asio::awaitable<void> server::state::accept(std::shared_ptr<state> self, std::shared_ptr<listener> from) {
  while (!self->stopped) {
    connection::socket_type socket(self->executor);
    const auto [failed] = co_await from->acceptor().async_accept(socket, as_result);
    if (self->stopped) co_return;
    if (!failed) {
      self->admit(std::move(socket), from->is_local());
    } else if (failed != asio::error::connection_aborted) {
      self->pause.expires_after(pause_after_failure);
      co_await self->pause.async_wait(as_result);
    }
  }
}

void server::state::admit(connection::socket_type socket, bool local) {
  error_code ignored;
  socket.non_blocking(true, ignored);
  if (open.size() >= shared->within.connections) {
    socket.write_some(asio::buffer(too_many), ignored);
    return;
  }
  const auto one = *open.insert(std::make_shared<connection>(std::move(socket), shared, local)).first;
  // An exception in the connection, such as bad_alloc, ends only this connection.
  asio::co_spawn(executor, connection::serve(one), [self = shared_from_this(), one](std::exception_ptr) {
    one->close();
    self->open.erase(one);
  });
}

void server::state::stop() {
  stopped = true;
  pause.cancel();
  for (const auto& one : listeners) one->close();
  for (const auto& one : open) one->close();
}

server::server(asio::any_io_executor executor, handler answer, allowed_hosts hosts, limits within)
    : server(std::move(executor), answers_at_once(std::move(answer)), std::move(hosts), within) {}

server::server(asio::any_io_executor executor, later_handler answer, allowed_hosts hosts, limits within)
    : state_(std::make_shared<state>(std::move(executor), std::move(answer), std::move(hosts), within)) {}

server::~server() {
  stop();
}

result<address> server::listen(const address& where) {
  auto one = std::make_shared<listener>(state_->executor);
  auto found = one->open(where);
  if (!found) return found;
  state_->listeners.push_back(one);
  asio::co_spawn(state_->executor, state::accept(state_, one), [](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(std::move(thrown));
  });
  return found;
}

void server::stop() {
  state_->stop();
}

}  // namespace outboxd::http
