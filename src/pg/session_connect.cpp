// session_connect: one attempt to log in; part of session.hpp.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "pg/as_result.hpp"
#include "pg/connection_string.hpp"
#include "pg/refusal_site.hpp"
#include "pg/session.hpp"
#include "pg/sqlstate.hpp"

namespace outboxd::pg {
namespace {

// The application_name of this relay's sessions in pg_stat_activity. PostgreSQL truncates names to 63 bytes.
std::string own_name() {
  constexpr std::size_t longest = 63;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host.front() = '\0';
  const std::string name = fmt::format("outboxd {} on {}", OUTBOXD_VERSION, host.data());
  return name.substr(0, longest);
}

// libpq 17 has no message if creating the socket fails, so the system error is used.
error refused_login(const PGconn* to, int system_error) {
  const std::string_view words = to != nullptr ? PQerrorMessage(to) : "out of memory";
  if (words.empty() && system_error != 0) return failed_login(std::generic_category().message(system_error));
  const auto login = parse_refusal(words);
  if (login.sqlstate.empty()) return failed_login(login.words);
  auto why = refused(login.sqlstate, login.words);
  why.message += site_of_login(login.sqlstate, login.words, PQdb(to), PQuser(to));
  return why;
}

}  // namespace

bool connection::session::start(const std::string& text, const endpoint& to, bool writable) {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  const auto add = [&](const char* keyword, const char* value) {
    keywords.push_back(keyword);
    values.push_back(value);
  };
  // These come first, so that the string can override them.
  static const std::string name = own_name();
  add("fallback_application_name", name.c_str());
  add("keepalives_idle", "10");
  add("keepalives_interval", "5");
  add("keepalives_count", "3");
  add("tcp_user_timeout", "25000");
  if (writable) add("target_session_attrs", "read-write");
  add("dbname", text.c_str());
  add("client_encoding", "UTF8");
  // Replaces all hosts of the string with one of them.
  if (!to.host.empty() || !to.hostaddr.empty()) {
    add("host", to.host.c_str());
    add("hostaddr", to.hostaddr.c_str());
    add("port", to.port.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  conn_ = PQconnectStartParams(keywords.data(), values.data(), 1);
  if (conn_ == nullptr) return false;
  PQsetErrorVerbosity(conn_, PQERRORS_VERBOSE);  // includes the SQLSTATE in the message of a rejected login
  PQsetNoticeReceiver(conn_, &session::on_notice, this);
  return PQstatus(conn_) != CONNECTION_BAD;
}

asio::awaitable<result<void>> connection::session::connect(const std::string& text, const endpoint& to,
                                                           bool writable,
                                                           std::chrono::steady_clock::time_point reached_by,
                                                           std::chrono::steady_clock::time_point deadline) {
  const unsigned attempt = ++attempt_;
  late_ = false;
  asio::steady_timer timer(executor, deadline);
  timer.async_wait([self = shared_from_this(), attempt](const boost::system::error_code& cancelled) {
    if (!cancelled) self->give_up(attempt);
  });
  asio::steady_timer reach_timer(executor, reached_by);
  reach_timer.async_wait([self = shared_from_this(), attempt](const boost::system::error_code& cancelled) {
    if (!cancelled && PQstatus(self->conn_) == CONNECTION_STARTED) self->give_up(attempt);
  });
  if (lost) co_return tl::make_unexpected(*lost);  // closed in the meantime
  errno = 0;
  PostgresPollingStatusType next = start(text, to, writable) ? PGRES_POLLING_WRITING : PGRES_POLLING_FAILED;
  int system_error = errno;
  while (!late_ && (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING)) {
    watch_socket();
    co_await socket_->async_wait(next == PGRES_POLLING_READING ? asio::posix::descriptor_base::wait_read
                                                               : asio::posix::descriptor_base::wait_write,
                                 as_result);
    if (lost) co_return tl::make_unexpected(*lost);
    // libpq may now close its socket and open another one with the same number, so the reactor must release
    // it first.
    release_socket();
    if (late_) continue;
    errno = 0;
    next = PQconnectPoll(conn_);
    system_error = errno;
  }
  ++attempt_;
  timer.cancel();
  reach_timer.cancel();
  if (late_ && next != PGRES_POLLING_OK) {
    auto why = transient(fmt::format("no answer from {} in time", server()));
    end();
    co_return why;
  }
  if (next != PGRES_POLLING_OK) {
    auto why = refused_login(conn_, system_error);
    end();
    co_return tl::make_unexpected(std::move(why));
  }
  PQsetErrorVerbosity(conn_, PQERRORS_DEFAULT);
  if (PQsetnonblocking(conn_, 1) != 0 || PQenterPipelineMode(conn_) != 1) {
    end();
    co_return transient("libpq refused the pipeline mode");
  }
  greeted_read_only_ = says_read_only();
  watch_socket();
  await_readable();
  co_return result<void>();
}

bool connection::session::says_read_only() const {
  const char* const said = PQparameterStatus(conn_, "default_transaction_read_only");
  return said != nullptr && std::string_view(said) == "on";
}

std::string connection::session::server() const {
  const std::string host = conn_ != nullptr && PQhost(conn_) != nullptr ? PQhost(conn_) : "";
  const std::string port = conn_ != nullptr && PQport(conn_) != nullptr ? PQport(conn_) : "";
  return fmt::format("{}:{}", host.empty() ? "the local socket" : host, port);
}

std::string connection::session::sslmode() const {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> all(PQconninfo(conn_), &PQconninfoFree);
  for (const PQconninfoOption* one = all.get(); one != nullptr && one->keyword != nullptr; ++one)
    if (std::string_view(one->keyword) == "sslmode") return one->val != nullptr ? one->val : "";
  return {};
}

// The handler of a timer may already be queued when its attempt ends.
void connection::session::give_up(unsigned attempt) {
  if (attempt_ != attempt) return;
  late_ = true;
  if (socket_) socket_->cancel();
}

}  // namespace outboxd::pg
