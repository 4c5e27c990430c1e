#include "relay/kept_session.hpp"

#include "pg/sqlstate.hpp"

namespace outboxd::relay {

bool is_of_the_statement(const std::string& sqlstate) {
  if (sqlstate == "25006") return false;
  return pg::write_failure(sqlstate) != pg::statement_failure::of_session;
}

kept_session::kept_session(const boost::asio::any_io_executor& on, const postgres_settings& settings,
                           link_observer* tell)
    : executor_(on), settings_(settings), tell_(tell), pause_(on) {}

boost::asio::awaitable<void> kept_session::run(service serve) {
  while (!stopping_) {
    pg::connection link(executor_);
    current_ = &link;
    const auto opened = co_await open_session(link, settings_, session_use::lock);
    result<void> served;
    if (opened) served = co_await serve(link);
    current_ = nullptr;
    if (stopping_) co_return;
    const error why = !opened ? opened.error() : !served ? served.error() : error{};
    if (tell_ != nullptr) tell_->on_link_refused(peer::database, why);
    co_await pause_.wait(why.kind);
  }
}

boost::asio::awaitable<void> kept_session::rest(pg::connection& link, clock::time_point until) {
  while (!stopping_ && !link.lost() && clock::now() < until) co_await link.wait_until(until);
}

void kept_session::interrupt() {
  if (current_ != nullptr) current_->interrupt();
}

void kept_session::stop() {
  stopping_ = true;
  pause_.stop();
  if (current_ != nullptr) current_->close();
}

}  // namespace outboxd::relay
