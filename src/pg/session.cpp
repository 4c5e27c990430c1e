#include "pg/session.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "pg/connection_string.hpp"
#include "pg/sqlstate.hpp"

namespace outboxd::pg {
namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr int binary_format = 1;
constexpr int text_format = 0;

std::string_view field(const PGresult* of, int code) {
  const char* text = PQresultErrorField(of, code);
  return text != nullptr ? text : "";
}

}  // namespace

bool connection::session::start(const std::string& text, const resolved_hosts& hosts) {
  // Ours first, so that the string may say otherwise; then the resolved addresses, which stand for the
  // string's hosts.
  std::vector<const char*> keywords{
      "fallback_application_name", "keepalives_idle", "keepalives_interval", "keepalives_count",
      "tcp_user_timeout",          "dbname",          "client_encoding"};
  std::vector<const char*> values{"outboxd", "10", "5", "3", "25000", text.c_str(), "UTF8"};
  if (!hosts.host.empty() || !hosts.hostaddr.empty()) {
    keywords.insert(keywords.end(), {"host", "hostaddr", "port"});
    values.insert(values.end(), {hosts.host.c_str(), hosts.hostaddr.c_str(), hosts.port.c_str()});
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  conn_ = PQconnectStartParams(keywords.data(), values.data(), 1);
  if (conn_ == nullptr) return false;
  PQsetErrorVerbosity(conn_, PQERRORS_VERBOSE);  // puts the SQLSTATE into a refused login's message
  PQsetNoticeReceiver(conn_, &session::on_notice, this);
  return PQstatus(conn_) != CONNECTION_BAD;
}

asio::awaitable<result<void>> connection::session::connect(const std::string& text,
                                                           const resolved_hosts& hosts,
                                                           std::chrono::steady_clock::time_point deadline) {
  const auto what = fmt::format("cannot connect to {}", display(text));
  connecting_ = true;
  asio::steady_timer timer(executor, deadline);
  timer.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
    if (cancelled || !self->connecting_) return;  // may be queued already when connecting succeeds
    self->late_ = true;
    if (self->socket_) self->socket_->cancel();
  });
  if (lost) co_return tl::make_unexpected(*lost);  // closed meanwhile
  PostgresPollingStatusType next = start(text, hosts) ? PGRES_POLLING_WRITING : PGRES_POLLING_FAILED;
  while (!late_ && (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING)) {
    watch_socket();
    co_await socket_->async_wait(next == PGRES_POLLING_READING ? asio::posix::descriptor_base::wait_read
                                                               : asio::posix::descriptor_base::wait_write,
                                 as_result);
    if (lost) co_return tl::make_unexpected(*lost);
    // libpq may close its socket in here and open another with the same number: the reactor has to forget it
    // before.
    release_socket();
    if (!late_) next = PQconnectPoll(conn_);
  }
  connecting_ = false;
  timer.cancel();
  if (late_ && next != PGRES_POLLING_OK) {
    end();
    co_return transient(what + ": no answer in time");
  }
  if (next != PGRES_POLLING_OK) {
    const auto login = parse_refusal(conn_ != nullptr ? PQerrorMessage(conn_) : "out of memory");
    end();
    co_return tl::make_unexpected(refused(what, login.sqlstate, login.words));
  }
  PQsetErrorVerbosity(conn_, PQERRORS_DEFAULT);
  if (PQsetnonblocking(conn_, 1) != 0 || PQenterPipelineMode(conn_) != 1) {
    end();
    co_return transient(what + ": libpq refused the pipeline mode");
  }
  watch_socket();
  await_readable();
  co_return result<void>();
}

void connection::session::watch_socket() {
  const int fd = PQsocket(conn_);
  if (fd >= 0 && !socket_) socket_.emplace(executor, fd);
}

// libpq owns the descriptor: the reactor only borrows it.
void connection::session::release_socket() {
  if (socket_) socket_->release();
  socket_.reset();
}

void connection::session::end() {
  release_socket();
  if (conn_ != nullptr) PQfinish(conn_);
  conn_ = nullptr;
}

void connection::session::fail(error why) {
  if (lost) return;
  if (!last_fatal_.empty()) why.message += fmt::format(" (the server said: {})", last_fatal_);
  lost = std::move(why);
  busy = false;
  end();
  changed.cancel();
}

// One wait for read is always out; a second one for write only while libpq could not send everything (manual,
// PQflush).
void connection::session::await_readable() {
  socket_->async_wait(asio::posix::descriptor_base::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& failed) {
                        if (failed || self->conn_ == nullptr) return;
                        self->on_readable();
                        if (self->conn_ != nullptr) self->await_readable();
                      });
}

void connection::session::await_writable() {
  if (writing_) return;
  writing_ = true;
  socket_->async_wait(asio::posix::descriptor_base::wait_write,
                      [self = shared_from_this()](const boost::system::error_code& failed) {
                        self->writing_ = false;
                        if (!failed && self->conn_ != nullptr) self->flush();
                      });
}

void connection::session::flush() {
  const int left = PQflush(conn_);
  if (left < 0)
    fail(
        {fault::transient, fmt::format("sending to PostgreSQL failed: {}", one_line(PQerrorMessage(conn_)))});
  if (left > 0) await_writable();
}

void connection::session::on_readable() {
  const bool alive = PQconsumeInput(conn_) == 1;
  while (PGnotify* one =
             PQnotifies(conn_)) {  // parses what has come, also the parting words of a dead connection
    PQfreemem(one);
    notified = true;
  }
  read_results();
  if (conn_ != nullptr && (!alive || PQstatus(conn_) != CONNECTION_OK))
    fail({fault::transient,
          fmt::format("the connection to PostgreSQL ended: {}", one_line(PQerrorMessage(conn_)))});
  if (notified) changed.cancel();
  if (conn_ != nullptr && writing_) flush();
}

// A dying server may never send the sync, and PQgetResult then returns null for ever: two in a row without a
// result between them end the loop.
void connection::session::read_results() {
  int nulls = 0;
  while (busy && nulls < 2 && PQisBusy(conn_) == 0) {
    PGresult* one = PQgetResult(conn_);
    nulls = one == nullptr ? nulls + 1 : 0;
    if (one != nullptr) take(one);
  }
  while (PGnotify* note = conn_ != nullptr ? PQnotifies(conn_) : nullptr) {
    PQfreemem(note);
    notified = true;
  }
}

void connection::session::take(PGresult* one) {
  rows owned(one);
  switch (PQresultStatus(one)) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
      answers.push_back(std::move(owned));
      return;
    case PGRES_PIPELINE_SYNC:
      busy = false;
      changed.cancel();
      return;
    case PGRES_PIPELINE_ABORTED:
      return;
    case PGRES_BAD_RESPONSE:
    case PGRES_NONFATAL_ERROR:
    case PGRES_FATAL_ERROR:
    case PGRES_COPY_OUT:
    case PGRES_COPY_IN:
    case PGRES_COPY_BOTH:
    case PGRES_SINGLE_TUPLE:
      if (refusal) return;
      const auto words = field(one, PG_DIAG_MESSAGE_PRIMARY);
      refusal = refused_statement(field(one, PG_DIAG_SQLSTATE),
                                  one_line(words.empty() ? PQresultErrorMessage(one) : words));
      return;
  }
}

void connection::session::begin(const pipeline& steps) {
  answers.clear();
  refusal.reset();
  busy = true;
  answers.reserve(steps.steps().size());
  bool sent = true;
  for (const step& one : steps.steps()) {
    std::vector<const char*> values;
    std::vector<int> lengths;
    const std::vector<int> formats(one.parameters.size(), binary_format);
    for (const auto& parameter : one.parameters) {
      values.push_back(parameter.data());
      lengths.push_back(static_cast<int>(parameter.size()));
    }
    const int count = static_cast<int>(one.parameters.size());
    switch (one.what) {
      case step::kind::prepare:
        sent = sent && PQsendPrepare(conn_, one.name.c_str(), one.sql.c_str(), 0, nullptr) == 1;
        break;
      case step::kind::prepared:
        sent = sent && PQsendQueryPrepared(conn_, one.name.c_str(), count, values.data(), lengths.data(),
                                           formats.data(), binary_format) == 1;
        break;
      case step::kind::text:
        sent = sent && PQsendQueryParams(conn_, one.sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr,
                                         text_format) == 1;
        break;
    }
  }
  if (!sent || PQpipelineSync(conn_) != 1) {
    fail(
        {fault::transient, fmt::format("sending to PostgreSQL failed: {}", one_line(PQerrorMessage(conn_)))});
    return;
  }
  flush();
}

void connection::session::on_notice(void* self, const PGresult* notice) {
  const auto severity = field(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity != "FATAL" && severity != "PANIC") return;
  static_cast<session*>(self)->last_fatal_ = one_line(field(notice, PG_DIAG_MESSAGE_PRIMARY));
}

}  // namespace outboxd::pg
