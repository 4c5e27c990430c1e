#include "relay/database_session.hpp"

#include <fmt/format.h>

#include "pg/outbox_statements.hpp"

namespace outboxd::relay {
namespace {

constexpr std::string_view remedy =
    "name the writable host in database.url, or several with target_session_attrs=read-write";

}  // namespace

boost::asio::awaitable<result<session_kind>> open_session(pg::connection& link,
                                                          const postgres_settings& with) {
  const auto url = with.url();
  if (!url) co_return tl::make_unexpected(url.error());
  const auto opened = co_await link.open(*url, with.connect_timeout);
  if (!opened) co_return tl::make_unexpected(opened.error());
  pg::pipeline ask;
  ask.text(std::string(pg::server_facts));
  const auto answers = co_await link.execute(std::move(ask), with.connect_timeout);
  if (!answers) co_return tl::make_unexpected(answers.error());
  const pg::rows& facts = answers->front();
  if (facts.at(0, 0) == "t")
    co_return transient(fmt::format("the server at {} is a standby (read-only); {}", link.server(), remedy));
  if (facts.at(0, 1) == "on")
    co_return transient(fmt::format("the server at {} is read-only (default_transaction_read_only); {}",
                                    link.server(), remedy));
  // A pooler greets with a process number of its own, so that it can tell who wants to cancel.
  const bool direct = facts.at(0, 2) == std::to_string(link.backend_pid());
  co_return direct ? session_kind::own : session_kind::pooled;
}

error now_read_only(const pg::connection& link) {
  return {fault::transient, fmt::format("the server at {} has become read-only; {}", link.server(), remedy)};
}

}  // namespace outboxd::relay
