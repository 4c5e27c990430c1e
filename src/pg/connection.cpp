#include "pg/connection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pg/as_result.hpp"
#include "pg/connection_string.hpp"
#include "pg/session.hpp"

namespace outboxd::pg {
namespace {

using time_point = std::chrono::steady_clock::time_point;

// Leaves time for the other hosts if one never answers.
time_point share_of(time_point deadline, std::size_t among) {
  const auto now = std::chrono::steady_clock::now();
  return now + (deadline - now) / static_cast<int>(among);
}

// A dead machine does not answer at all: if other addresses are left, it may take at most this long.
constexpr auto reach_limit = std::chrono::milliseconds(1500);

// Collects why no host was suitable.
class refusals {
 public:
  void add(const error& why) {
    for_good_ = for_good_ && why.kind == fault::permanent;
    if (cause_ == cause::other) cause_ = why.why;
    if (words_.find(why.message) != std::string::npos) return;  // two addresses of one server
    words_ += (words_.empty() ? "" : "; ") + why.message;
  }
  error summary(const std::string& connection_string) const {
    return {for_good_ ? fault::permanent : fault::transient,
            fmt::format("cannot connect to {}: {}", display(connection_string), words_), cause_};
  }

 private:
  bool for_good_ = true;
  cause cause_ = cause::other;  // of the first host that reported one, because an unreachable host says less
  std::string words_;
};

}  // namespace

connection::connection(const asio::any_io_executor& on) : session_(std::make_shared<session>(on)) {}

connection::~connection() {
  session_->end();
}

asio::awaitable<result<void>> connection::open(std::string connection_string,
                                               std::chrono::milliseconds within) {
  const auto self = session_;
  const auto deadline = std::chrono::steady_clock::now() + within;
  // The secret may have changed since startup. The message of libpq for an invalid string would quote it.
  if (const auto good = check_connection_string(connection_string); !good)
    co_return permanent("cannot connect to PostgreSQL: database.url " + good.error().message);
  const auto hosts = hosts_of(connection_string);
  const bool writable = hosts.size() > 1 && !says_session_attrs(connection_string);
  refusals all;
  for (std::size_t i = 0; i < std::max<std::size_t>(hosts.size(), 1); ++i) {
    const auto until = share_of(deadline, std::max<std::size_t>(hosts.size(), 1) - i);
    std::vector<endpoint> endpoints{{}};
    if (!hosts.empty()) {
      auto found = co_await resolve_host(hosts[i], until, {self, &self->changed});
      if (self->lost) co_return tl::make_unexpected(*self->lost);  // closed in the meantime
      if (!found) all.add(found.error());
      endpoints = found ? std::move(*found) : std::vector<endpoint>();
    }
    for (std::size_t at = 0; at < endpoints.size(); ++at) {
      const auto share = share_of(until, endpoints.size() - at);
      const bool last = i + 1 >= hosts.size() && at + 1 == endpoints.size();
      const auto reached_by = last ? share : std::min(share, std::chrono::steady_clock::now() + reach_limit);
      const auto opened =
          co_await self->connect(connection_string, endpoints[at], writable, reached_by, share);
      if (opened) co_return opened;
      if (self->lost) co_return tl::make_unexpected(*self->lost);
      all.add(opened.error());
      if (opened.error().kind == fault::permanent)
        break;  // other addresses of that host would answer the same
    }
  }
  co_return tl::make_unexpected(all.summary(connection_string));
}

void connection::explain_denials(std::function<std::string(std::string_view words)> query) {
  session_->denial_query = std::move(query);
}

asio::awaitable<result<std::vector<connection::segment>>> connection::execute_segments(
    pipeline steps, std::chrono::milliseconds within) {
  const auto self = session_;
  OUTBOXD_CO_TRY(auto all, co_await run(std::move(steps), within));
  for (segment& one : all) {
    if (!one.is_denied || !self->denial_query || self->lost) continue;
    pipeline question;
    question.text(self->denial_query(one.refusal->message));
    const auto told = co_await run(std::move(question), within);
    if (!told || told->front().refusal || told->front().answers.front().size() == 0) continue;
    if (const auto words = told->front().answers.front().find(0, 0))
      one.refusal->message += fmt::format("; {}", *words);
  }
  co_return std::move(all);
}

asio::awaitable<result<std::vector<connection::segment>>> connection::run(pipeline steps,
                                                                          std::chrono::milliseconds within) {
  const auto self = session_;
  if (self->lost) co_return tl::make_unexpected(*self->lost);
  const auto deadline = std::chrono::steady_clock::now() + within;
  self->changed.expires_at(deadline);
  std::vector<std::size_t> wanted(1, 0);
  for (const step& one : steps.steps()) {
    if (one.what == step::kind::end)
      wanted.push_back(0);
    else
      ++wanted.back();
  }
  self->begin(steps);
  while (self->busy()) {
    co_await self->changed.async_wait(as_result);
    if (self->busy() && std::chrono::steady_clock::now() >= deadline)
      self->fail({fault::transient, fmt::format("PostgreSQL did not answer within {} ms", within.count())});
  }
  for (std::size_t i = 0; i < self->segments.size() && !self->lost; ++i)
    if (const auto& one = self->segments[i]; !one.refusal && one.answers.size() != wanted[i])
      self->fail({fault::transient, fmt::format("PostgreSQL has sent {} results where {} were asked for",
                                                one.answers.size(), wanted[i])});
  if (self->lost) co_return tl::make_unexpected(*self->lost);
  co_return std::move(self->segments);
}

asio::awaitable<result<std::vector<rows>>> connection::execute(pipeline steps,
                                                               std::chrono::milliseconds within) {
  const auto self = session_;
  auto all = co_await execute_segments(std::move(steps), within);
  self->last_sqlstate.clear();
  // A server that ends the session sends the reason as an answer, which says more than the socket's error.
  if (!all && !self->segments.empty() && self->segments.front().refusal) {
    self->last_sqlstate = self->segments.front().sqlstate;
    co_return tl::make_unexpected(*self->segments.front().refusal);
  }
  if (!all) co_return tl::make_unexpected(all.error());
  connection::segment& only = all->front();
  self->last_sqlstate = only.sqlstate;
  if (only.refusal) co_return tl::make_unexpected(*only.refusal);
  co_return std::move(only.answers);
}

asio::awaitable<void> connection::wait_until(std::chrono::steady_clock::time_point deadline) {
  const auto self = session_;
  self->changed.expires_at(deadline);
  while (!self->lost && self->notified.empty() && !self->interrupted &&
         std::chrono::steady_clock::now() < deadline)
    co_await self->changed.async_wait(as_result);
  self->interrupted = false;
}

asio::awaitable<void> connection::wait() {
  return wait_until(std::chrono::steady_clock::time_point::max());
}

void connection::interrupt() {
  session_->interrupted = true;
  session_->changed.cancel();
}

connection::payloads connection::take_notifications() {
  return std::exchange(session_->notified, {});
}

void connection::heed_only(std::vector<std::string> words) {
  session_->heeded = std::move(words);
}

connection::senders connection::take_senders() {
  return std::exchange(session_->notified_by, {});
}

const std::string& connection::last_sqlstate() const {
  return session_->last_sqlstate;
}

std::string connection::server() const {
  return session_->server();
}

int connection::backend_pid() const {
  return session_->lost ? 0 : session_->backend_pid();
}

bool connection::encrypted() const {
  return !session_->lost && session_->encrypted();
}

std::string connection::sslmode() const {
  return session_->lost ? std::string() : session_->sslmode();
}

int connection::take_queue_holder() {
  return std::exchange(session_->queue_holder, 0);
}

bool connection::turned_read_only() const {
  return !session_->lost && session_->turned_read_only();
}

const std::optional<error>& connection::lost() const {
  return session_->lost;
}

asio::any_io_executor connection::executor() const {
  return session_->executor;
}

void connection::close() {
  session_->fail({fault::transient, "closed"});
}

}  // namespace outboxd::pg
