// server_checks: the login to PostgreSQL, and the connection to it (TLS, poolers).
#include <fmt/format.h>

#include "app/check/checks.hpp"
#include "app/check/remedy.hpp"
#include "pg/connection_string.hpp"
#include "pg/transport_risk.hpp"
#include "relay/database_session.hpp"

namespace outboxd::app::check {
namespace {

constexpr auto set_password = "ALTER ROLE {user} PASSWORD '...';  -- or give the right one in database.url";
constexpr auto writable_host = "name the writable host in database.url, or several of them";

constexpr std::array login_refusals{
    known_refusal{{"SQLSTATE 3D000"},
                  "CREATE DATABASE {database};  -- or name the right one in database.url"},
    known_refusal{{"SQLSTATE 28P01"}, set_password},
    known_refusal{{"no password supplied"}, set_password},
    known_refusal{{"pg_hba.conf"},
                  "a line in pg_hba.conf: host {database} {user} ADDRESS scram-sha-256; then SELECT "
                  "pg_reload_conf();"},
    known_refusal{{"SQLSTATE 28000"},
                  "CREATE ROLE {user} LOGIN PASSWORD '...'; GRANT outbox_relay TO {user};"},
    known_refusal{{"SQLSTATE 42501"}, "GRANT CONNECT ON DATABASE {database} TO {user};"},
    known_refusal{
        {"SQLSTATE 53300"},
        "ALTER SYSTEM SET max_connections = ...;  -- and restart PostgreSQL; or end other sessions"},
    known_refusal{{"does not support SSL"},
                  "ALTER SYSTEM SET ssl = on;  -- or sslmode=prefer in database.url"},
    known_refusal{{"read-only"}, writable_host},
    known_refusal{{"standby"}, writable_host},
    known_refusal{{}, "pg_isready {flags}"},
};

std::string psql_flags(const pg::login_target& to) {
  return fmt::format("{}{}", to.host.empty() ? "" : fmt::format("-h {} ", to.host),
                     to.port.empty() ? "" : fmt::format("-p {}", to.port));
}

}  // namespace

finding refused_login(const context& of, const error& why) {
  const auto url = of.database().url.address();
  if (!url) return failure(why.message, "database.url_file");
  const auto to = pg::target_of(*url);
  return failure(why.message,
                 remedy_of(why.message, login_refusals, fmt::arg("user", sql_name(to.user)),
                           fmt::arg("database", sql_name(to.database)), fmt::arg("flags", psql_flags(to))));
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

finding check_pooler(context& of) {
  const auto pid = of.ask("SELECT pg_backend_pid()");
  if (!pid) return not_checked(pid.error().message);
  const std::string own(pid->at(0, 0));
  const auto proved = wait_for(of.io(), relay::prove_own_session(of.raw(), of.database(), own));
  if (!proved)
    return failure(proved.error().message,
                   "database.url: the server itself, or a pool with pool_mode = session");
  return ok(own == std::to_string(of.raw().backend_pid()) ? "none, the sessions are PostgreSQL's own"
                                                          : "a pool in session mode");
}

}  // namespace outboxd::app::check
