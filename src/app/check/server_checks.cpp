// server_checks: the login to PostgreSQL, and whether this is a server that a relay can use.
#include <fmt/format.h>

#include <cstdlib>

#include "app/check/checks.hpp"
#include "pg/connection_string.hpp"
#include "pg/transport_risk.hpp"
#include "relay/database_session.hpp"

namespace outboxd::app::check {
namespace {

std::string psql_flags(const pg::login_target& to) {
  return fmt::format("{}{}", to.host.empty() ? "" : fmt::format("-h {} ", to.host),
                     to.port.empty() ? "" : fmt::format("-p {}", to.port));
}

bool says(const std::string& words, std::string_view part) {
  return words.find(part) != std::string::npos;
}

std::string remedy_of(const std::string& words, const pg::login_target& to) {
  const auto user = sql_name(to.user);
  const auto database = sql_name(to.database);
  if (says(words, "SQLSTATE 3D000"))
    return fmt::format("CREATE DATABASE {};  -- or name the right one in database.url", database);
  if (says(words, "SQLSTATE 28P01") || says(words, "no password supplied"))
    return fmt::format("ALTER ROLE {} PASSWORD '...';  -- or give the right one in database.url", user);
  if (says(words, "pg_hba.conf"))
    return fmt::format(
        "a line in pg_hba.conf: host {} {} ADDRESS scram-sha-256; then SELECT pg_reload_conf();", database,
        user);
  if (says(words, "SQLSTATE 28000"))
    return fmt::format("CREATE ROLE {0} LOGIN PASSWORD '...'; GRANT outbox_relay TO {0};", user);
  if (says(words, "SQLSTATE 42501"))
    return fmt::format("GRANT CONNECT ON DATABASE {} TO {};", database, user);
  if (says(words, "SQLSTATE 53300"))
    return "ALTER SYSTEM SET max_connections = ...;  -- and restart PostgreSQL; or end other sessions";
  if (says(words, "does not support SSL"))
    return "ALTER SYSTEM SET ssl = on;  -- or sslmode=prefer in database.url";
  if (says(words, "read-only") || says(words, "standby"))
    return "name the writable host in database.url, or several of them";
  return fmt::format("pg_isready {}", psql_flags(to));
}

}  // namespace

finding refused_login(const context& of, const error& why) {
  const auto url = of.database().url.address();
  return failure(why.message, url ? remedy_of(why.message, pg::target_of(*url)) : "database.url_file");
}

finding check_version(context& of) {
  const auto facts =
      of.ask("SELECT current_setting('server_version_num'), current_setting('server_version')");
  if (!facts) return not_checked(facts.error().message);
  const auto words = fmt::format("PostgreSQL {}", facts->at(0, 1));
  if (std::atoi(std::string(facts->at(0, 0)).c_str()) < store::oldest_server)
    return failure(words + "; outboxd needs 14 or newer", "pg_upgrade to a newer PostgreSQL");
  return ok(words);
}

finding check_tls(context& of) {
  return judge_transport(of.raw().server(), of.raw().encrypted(), of.raw().sslmode());
}

finding judge_transport(const std::string& host, bool encrypted, const std::string& sslmode) {
  if (const auto risk = pg::transport_risk(host, encrypted, sslmode))
    return warning(*risk, pg::transport_remedy);
  if (!pg::on_this_machine(host)) return ok("TLS, and the server's certificate is verified");
  return ok(encrypted ? "TLS, to this machine" : "no TLS, and none needed: the server is on this machine");
}

finding check_writable(context& of) {
  const auto facts = of.ask("SELECT pg_is_in_recovery(), current_setting('transaction_read_only')");
  if (!facts) return not_checked(facts.error().message);
  if (facts->at(0, 0) == "t")
    return failure("the server is a standby, which takes no writes",
                   "database.url: name the primary, or all hosts (postgresql://user@a,b,c/database)");
  if (facts->at(0, 1) == "on") {
    for (const server_setting& one : of.known.settings)
      if (one.name == "default_transaction_read_only") {
        if (one.source == "user")
          return failure(
              "the user is read-only (default_transaction_read_only)",
              fmt::format("ALTER ROLE {} RESET default_transaction_read_only;", sql_name(of.known.user)));
        if (one.source == "database")
          return failure("the database is read-only (default_transaction_read_only)",
                         fmt::format("ALTER DATABASE {} RESET default_transaction_read_only;",
                                     sql_name(of.known.database)));
      }
    return failure("the server is read-only (default_transaction_read_only)",
                   "ALTER SYSTEM RESET default_transaction_read_only; SELECT pg_reload_conf();");
  }
  of.known.writable = true;
  return ok("a primary that takes writes");
}

finding check_pooler(context& of) {
  const auto pid = of.ask("SELECT pg_backend_pid()");
  if (!pid) return not_checked(pid.error().message);
  const std::string own(pid->at(0, 0));
  const auto proved = wait_for(of.io(), relay::prove_own_session(of.raw(), of.database(), own));
  if (!proved)
    return failure(proved.error().message,
                   "database.url: the server itself, or a pool with pool_mode = session");
  of.known.own_session = true;
  return ok(own == std::to_string(of.raw().backend_pid()) ? "none, the sessions are PostgreSQL's own"
                                                          : "a pool in session mode");
}

}  // namespace outboxd::app::check
