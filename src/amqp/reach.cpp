#include "amqp/reach.hpp"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <string>

namespace outboxd::amqp {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

asio::awaitable<result<void>> reach(tcp::socket& socket, std::vector<tcp::endpoint> addresses,
                                    std::chrono::milliseconds share) {
  std::string problem = "the host has no address";
  for (const tcp::endpoint& address : addresses) {
    error_code ignored;
    socket.close(ignored);
    asio::steady_timer limit(socket.get_executor());
    const auto waits = std::make_shared<bool>(&address != &addresses.back());
    if (*waits) {
      limit.expires_after(share);
      limit.async_wait([&socket, waits](error_code cancelled) {
        error_code why_not;
        if (!cancelled && *waits) socket.cancel(why_not);
      });
    }
    const auto [ec] = co_await socket.async_connect(address, asio::as_tuple(asio::use_awaitable));
    *waits = false;
    if (!ec) co_return result<void>();
    if (!socket.is_open()) co_return transient("cancelled");
    const auto why = ec == asio::error::operation_aborted
                         ? fmt::format("no answer within {} ms", share.count())
                         : ec.message();
    problem = fmt::format("{} port {}: {}", address.address().to_string(), address.port(), why);
  }
  co_return transient(problem);
}

}  // namespace outboxd::amqp
