#include "pg/resolve.hpp"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "pg/connection_string.hpp"

namespace outboxd::pg {
namespace asio = boost::asio;
namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

void append(std::string& list, std::string_view item, bool first) {
  if (!first) list.push_back(',');
  list += item;
}

bool is_socket_path(const std::string& host) {
  return host.empty() || host.front() == '/' || host.front() == '@';
}

}  // namespace

asio::awaitable<result<resolved_hosts>> resolve_hosts(std::string connection_string,
                                                      std::chrono::milliseconds within) {
  using asio::experimental::awaitable_operators::operator||;
  const auto executor = co_await asio::this_coro::executor;
  asio::ip::tcp::resolver resolver(executor);
  asio::steady_timer deadline(executor, within);

  resolved_hosts out;
  std::string failures;
  bool first = true;
  const auto entries = hosts_of(connection_string);
  for (const auto& [host, port] : entries) {
    if (is_socket_path(host)) {
      append(out.host, host, first);
      append(out.hostaddr, "", first);
      append(out.port, port, first);
      first = false;
      continue;
    }
    const auto found =
        co_await (resolver.async_resolve(host, "", as_result) || deadline.async_wait(as_result));
    if (found.index() == 1) co_return transient(fmt::format("looking up host '{}' took too long", host));
    const auto& [failed, addresses] = std::get<0>(found);
    if (failed) {
      failures += fmt::format("{}host '{}' cannot be found: {}", failures.empty() ? "" : "; ", host,
                              failed.message());
      continue;
    }
    for (const auto& address : addresses) {
      append(out.host, host, first);
      append(out.hostaddr, address.endpoint().address().to_string(), first);
      append(out.port, port, first);
      first = false;
    }
  }
  if (first && !entries.empty()) co_return transient(failures);
  co_return out;
}

}  // namespace outboxd::pg
