#include "pg/resolve.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>

#include "pg/as_result.hpp"

namespace outboxd::pg {
namespace asio = boost::asio;
namespace {

bool is_socket_path(const std::string& host) {
  return host.empty() || host.front() == '/' || host.front() == '@';
}

struct look_up {
  bool done = false;
  boost::system::error_code failed;
  asio::ip::tcp::resolver::results_type addresses;
};

}  // namespace

asio::awaitable<result<std::vector<endpoint>>> resolve_host(host_entry host,
                                                            std::chrono::steady_clock::time_point deadline,
                                                            std::shared_ptr<asio::steady_timer> timer) {
  if (!host.address.empty() || is_socket_path(host.host))
    co_return std::vector<endpoint>{{host.host, host.address, host.port}};
  const auto resolver = std::make_shared<asio::ip::tcp::resolver>(co_await asio::this_coro::executor);
  const auto found = std::make_shared<look_up>();
  timer->expires_at(deadline);
  resolver->async_resolve(host.host, "",
                          [found, timer, resolver](const boost::system::error_code& failed,
                                                   asio::ip::tcp::resolver::results_type addresses) {
                            *found = {true, failed, std::move(addresses)};
                            timer->cancel();
                          });
  co_await timer->async_wait(as_result);
  if (!found->done) co_return transient(fmt::format("the look-up of host '{}' took too long", host.host));
  if (found->failed)
    co_return transient(fmt::format("host '{}' cannot be found: {}", host.host, found->failed.message()));
  std::vector<endpoint> out;
  for (const auto& address : found->addresses)
    out.push_back({host.host, address.endpoint().address().to_string(), host.port});
  if (out.empty()) co_return transient(fmt::format("host '{}' has no address", host.host));
  co_return out;
}

}  // namespace outboxd::pg
