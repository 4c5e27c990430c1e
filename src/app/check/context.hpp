// context: the database that check looks at: its sessions, asked one question at a time, and what is
// known so far.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/settings.hpp"
#include "pg/connection.hpp"
#include "store/rights.hpp"

namespace outboxd::app::check {

template <class T>
boost::asio::awaitable<void> keep(boost::asio::awaitable<T> what, std::optional<T>& in) {
  in.emplace(co_await std::move(what));
}

// Runs the reactor until this one thing is done.
template <class T>
T wait_for(boost::asio::io_context& io, boost::asio::awaitable<T> what) {
  std::optional<T> out;
  std::exception_ptr thrown;
  bool done = false;
  boost::asio::co_spawn(io, keep(std::move(what), out), [&](std::exception_ptr error) {
    thrown = std::move(error);
    done = true;
  });
  io.restart();
  while (!done && io.run_one() > 0) {
  }
  if (thrown) std::rethrow_exception(thrown);
  return std::move(out.value());
}

// A name as it is written in SQL: quoted where it has to be.
std::string sql_name(std::string_view name);

// A setting of PostgreSQL that is not PostgreSQL's default.
struct server_setting {
  std::string name;
  std::string value;     // as SHOW has it: 500ms
  std::string base;      // in the base unit: 500
  std::string source;    // pg_settings: user, database, database user, client, configuration file, ...
  std::string fallback;  // PostgreSQL's default
};

class context {
 public:
  explicit context(const settings& from) : from_(from), raw_(io_.get_executor()), own_(io_.get_executor()) {}

  const settings& configured() const { return from_; }
  const relay::postgres_settings& database() const { return from_.relay.leader.database; }
  std::string schema() const { return sql_name(database().schema.name()); }
  std::string schema_literal() const { return database().schema.literal(); }
  boost::asio::io_context& io() { return io_; }

  // A session with the settings that the server, the role and the connection string give it, but for
  // search_path: a name that is not qualified is PostgreSQL's own; and row_security: a policy that hides rows
  // is an error instead of silence.
  result<void> open();
  pg::connection& raw() { return raw_; }
  result<pg::rows> ask(std::string sql) { return ask(raw_, std::move(sql)); }

  // A session as `outboxd run` opens it.
  result<void> open_as_relay();
  pg::connection& as_relay() { return own_; }
  result<pg::rows> ask(pg::connection& on, std::string sql);

  // What checks have found out for later ones.
  struct knowledge {
    std::vector<server_setting> settings;
    std::string_view role = store::relay_role;  // whose rights the user needs
    std::string user;                           // as which the session works, not only logged in
    std::string database;                       // its name
    bool writable = false;                      // neither a standby nor read-only
    bool own_session = false;
    bool has_outbox = false;
    bool opened_as_relay = false;  // whether or not all its statements could be prepared
    bool failed = false;           // any check so far
  };
  knowledge known;

 private:
  const settings& from_;
  boost::asio::io_context io_{1};
  pg::connection raw_;
  pg::connection own_;
};

}  // namespace outboxd::app::check
