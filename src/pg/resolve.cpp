#include "pg/resolve.hpp"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
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

struct look_up {
  bool done = false;
  boost::system::error_code failed;
  asio::ip::tcp::resolver::results_type addresses;
};

}  // namespace

asio::awaitable<result<resolved_hosts>> resolve_hosts(std::string connection_string,
                                                      std::chrono::steady_clock::time_point deadline,
                                                      std::shared_ptr<asio::steady_timer> timer) {
  const auto resolver = std::make_shared<asio::ip::tcp::resolver>(co_await asio::this_coro::executor);
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
    const auto found = std::make_shared<look_up>();
    timer->expires_at(deadline);
    resolver->async_resolve(host, "",
                            [found, timer, resolver](const boost::system::error_code& failed,
                                                     asio::ip::tcp::resolver::results_type addresses) {
                              *found = {true, failed, std::move(addresses)};
                              timer->cancel();
                            });
    co_await timer->async_wait(as_result);
    if (!found->done) co_return transient(fmt::format("the look-up of host '{}' took too long", host));
    if (found->failed) {
      failures += fmt::format("{}host '{}' cannot be found: {}", failures.empty() ? "" : "; ", host,
                              found->failed.message());
      continue;
    }
    for (const auto& address : found->addresses) {
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
