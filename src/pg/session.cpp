#include "pg/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/failpoint.hpp"
#include "pg/connection_string.hpp"
#include "pg/error_fields_of.hpp"
#include "pg/refusal_site.hpp"
#include "pg/sqlstate.hpp"

namespace outboxd::pg {
namespace {

constexpr int binary_format = 1;
constexpr int text_format = 0;

// Maximum server processes whose notifications are counted separately.
constexpr std::size_t most_senders = 256;

// A server process sends all available notifications before it reads a command (ProcessNotifyInterrupt in
// PostgreSQL's async.c). If they arrive as fast as it sends them, it never reads a command. After this many
// without an answer, the session is closed.
constexpr std::size_t most_unanswered = 500'000;

bool has(const std::vector<std::string>& words, std::string_view one) {
  return std::find(words.begin(), words.end(), one) != words.end();
}

}  // namespace

void connection::session::watch_socket() {
  const int fd = PQsocket(conn_);
  if (fd >= 0 && !socket_) socket_.emplace(executor, fd);
}

// libpq owns the descriptor, which is only lent to the reactor.
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
  outstanding = 0;
  end();
  changed.cancel();
}

// A wait for reading is always pending; a wait for writing is added only while libpq could not send
// everything (manual, PQflush).
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
  read_notifications();
  read_results();
  if (busy() && notified_unanswered_ >= most_unanswered)
    fail({fault::transient,
          fmt::format("PostgreSQL has sent {} notifications and no answer", notified_unanswered_)});
  if (busy()) failpoint("half_received");  // a small answer arrives as a whole
  if (conn_ != nullptr && (!alive || PQstatus(conn_) != CONNECTION_OK))
    fail({fault::transient,
          fmt::format("the connection to PostgreSQL ended: {}", one_line(PQerrorMessage(conn_)))});
  if (greeted_read_only_ && !says_read_only()) greeted_read_only_ = false;
  if (!notified.empty()) changed.cancel();
  if (conn_ != nullptr && writing_) flush();
}

// Parses what has arrived, including the last message of a dead connection.
void connection::session::read_notifications() {
  while (PGnotify* one = conn_ != nullptr ? PQnotifies(conn_) : nullptr) {
    const std::string_view payload = one->extra;
    if (busy()) ++notified_unanswered_;
    const bool is_known = notified_by.size() < most_senders || notified_by.contains(one->be_pid);
    ++notified_by[is_known ? one->be_pid : -1];
    if (heeded.empty() || has(heeded, payload)) ++notified[std::string(payload)];
    PQfreemem(one);
  }
}

// A dying server may never send the sync message, and PQgetResult then returns null for ever, so two nulls in
// a row end the loop.
void connection::session::read_results() {
  int nulls = 0;
  while (busy() && nulls < 2 && PQisBusy(conn_) == 0) {
    PGresult* one = PQgetResult(conn_);
    nulls = one == nullptr ? nulls + 1 : 0;
    if (one != nullptr) take(one);
  }
  read_notifications();
}

void connection::session::take(PGresult* one) {
  rows owned(one);
  notified_unanswered_ = 0;
  switch (PQresultStatus(one)) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
      segments[segments.size() - outstanding].answers.push_back(std::move(owned));
      return;
    case PGRES_PIPELINE_SYNC:
      if (--outstanding == 0) changed.cancel();
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
#ifdef LIBPQ_HAS_CHUNK_MODE  // libpq 17
    case PGRES_TUPLES_CHUNK:
#endif
      segment& in = segments[segments.size() - outstanding];
      if (in.refusal) return;
      const error_fields said = fields_of(one);
      in.sqlstate = said.sqlstate;
      in.is_denied = is_denial(said);
      in.refusal = refused_statement(
          in.sqlstate, one_line(said.message.empty() ? PQresultErrorMessage(one) : said.message),
          speaker(said.source_file, said.inner_query), site_of(said, PQuser(conn_)));
      return;
  }
}

void connection::session::begin(const pipeline& steps) {
  const auto ends =
      static_cast<std::size_t>(std::count_if(steps.steps().begin(), steps.steps().end(),
                                             [](const step& one) { return one.what == step::kind::end; }));
  const bool ended = !steps.steps().empty() && steps.steps().back().what == step::kind::end;
  outstanding = ended ? ends : ends + 1;
  notified_unanswered_ = 0;
  segments.clear();
  segments.resize(outstanding);
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
        if (has_failpoints && one.failpoint != nullptr) {
          flush();
          failpoint(one.failpoint);
        }
        break;
      case step::kind::unnamed:
        sent = sent && PQsendQueryParams(conn_, one.sql.c_str(), count, nullptr, values.data(),
                                         lengths.data(), formats.data(), binary_format) == 1;
        break;
      case step::kind::text:
        sent = sent && PQsendQueryParams(conn_, one.sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr,
                                         text_format) == 1;
        break;
      case step::kind::end:
        sent = sent && PQpipelineSync(conn_) == 1;
        break;
    }
  }
  if (!sent || (!ended && PQpipelineSync(conn_) != 1)) {
    fail(
        {fault::transient, fmt::format("sending to PostgreSQL failed: {}", one_line(PQerrorMessage(conn_)))});
    return;
  }
  flush();
}

void connection::session::on_notice(void* self, const PGresult* notice) {
  const auto severity = field(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  // In every language, the only number in the detail is the process number.
  if (field(notice, PG_DIAG_SOURCE_FUNCTION) == "asyncQueueFillWarning") {
    const auto detail = field(notice, PG_DIAG_MESSAGE_DETAIL);
    const auto* const digit =
        std::find_if(detail.begin(), detail.end(), [](char c) { return c >= '0' && c <= '9'; });
    std::from_chars(digit, detail.data() + detail.size(), static_cast<session*>(self)->queue_holder);
  }
  if (severity != "FATAL" && severity != "PANIC") return;
  static_cast<session*>(self)->last_fatal_ = one_line(field(notice, PG_DIAG_MESSAGE_PRIMARY));
}

}  // namespace outboxd::pg
