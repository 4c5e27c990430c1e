// checks: everything that the command looks at, in the order of the report.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "app/check/context.hpp"
#include "app/check/finding.hpp"

namespace outboxd::app::check {

// database_checks.cpp: the table of the checks of PostgreSQL. If the login fails, the rest is not checked.
findings check_database(context& of);

// The warnings and failures that are the same for whoever can read the outbox, for the console: what is said
// of the relay's login is not among them. Each question may take so long.
tl::expected<findings, error> check_table(context& of, std::chrono::seconds longest);

// server_checks.cpp
finding refused_login(const context& of, const error& why);
finding check_tls(context& of);
finding check_pooler(context& of);
// Pure. host: as connection::server() has it.
finding judge_transport(const std::string& host, bool encrypted, const std::string& sslmode);

// outbox_checks.cpp
finding check_schema(context& of);
finding check_state(context& of);
finding check_privileges(context& of);
finding check_row_security(context& of);

// session_checks.cpp
finding check_relay_session(context& of);
finding check_settings(context& of);
finding check_clock(context& of);
// Pure. offset: the server's clock minus this machine's, known to within `error`.
finding judge_clock(std::chrono::duration<double> offset, std::chrono::duration<double> error);

// activity_checks.cpp
finding check_notification(context& of);
finding check_locks(context& of);

// broker_checks.cpp: each URL of amqp.url.
findings check_broker(const settings& from);

// policy_checks.cpp: what only RabbitMQ's management API tells about these exchanges.
findings check_policies(const settings& from, const std::vector<std::string>& exchanges);

}  // namespace outboxd::app::check
