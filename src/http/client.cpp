#include "http/client.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/http/field.hpp>
#include <memory>
#include <optional>

#include "http/question.hpp"

namespace outboxd::http {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t longest_answer = 1024 * 1024;

question::endpoint endpoint_of(const address& where) {
  if (const auto* path = std::get_if<unix_address>(&where))
    return asio::local::stream_protocol::endpoint(path->path);
  const auto& [host, port] = std::get<tcp_address>(where);
  auto ip = asio::ip::make_address(host.empty() ? "127.0.0.1" : host);
  if (ip.is_unspecified())
    ip = ip.is_v6() ? asio::ip::address(asio::ip::address_v6::loopback())
                    : asio::ip::address(asio::ip::address_v4::loopback());
  return asio::ip::tcp::endpoint(ip, port);
}

// `ask`: asks the question, with what takes note of its end.
template <class Ask>
result<answer> answer_to(question& one, asio::io_context& io, const std::string& whom,
                         std::chrono::milliseconds limit, Ask&& ask) {
  std::optional<error_code> ended;
  ask([&ended](const error_code& with) { ended = with; });
  io.run_for(limit);
  if (!ended) return transient(fmt::format("{} does not answer within {} ms", whom, limit.count()));
  if (*ended) return transient(fmt::format("{}: {}", whom, one.words_of(*ended)));
  return one.take();
}

}  // namespace

result<answer> get(const address& from, std::string_view target, std::chrono::milliseconds limit) {
  asio::io_context io(1);
  const auto one = std::make_shared<question>(io.get_executor(), io.get_executor(), target, "localhost",
                                              nullptr, longest_answer, nullptr);
  return answer_to(*one, io, url_of(from), limit,
                   [&](question::heard then) { one->ask({endpoint_of(from)}, std::move(then)); });
}

result<answer> get(const url& from, std::string_view target, const std::string& authorization,
                   std::chrono::milliseconds limit, tls_client* tls) {
  asio::io_context io(1);
  // Not owned: the caller's.
  const std::shared_ptr<tls_client> secured(std::shared_ptr<void>(), tls);
  const auto one =
      std::make_shared<question>(io.get_executor(), io.get_executor(), from.path + std::string(target),
                                 from.authority(), nullptr, longest_answer, secured);
  if (!authorization.empty()) one->set(boost::beast::http::field::authorization, authorization);
  return answer_to(*one, io, from.display(), limit,
                   [&](question::heard then) { one->ask(from.host, from.port, std::move(then)); });
}

}  // namespace outboxd::http
