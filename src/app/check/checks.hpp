// checks: all checks of the command, in the order of the report.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "app/check/context.hpp"
#include "app/check/finding.hpp"

namespace outboxd::app::check {

// database_checks.cpp: the table of the checks of PostgreSQL. If the login fails, the rest is not checked.
findings check_database(context& of);

// The warnings and failures that do not depend on the login, for the console; findings about the relay's
// login are not included. Each query may take up to the given time.
tl::expected<findings, error> check_table(context& of, std::chrono::seconds longest);

// server_checks.cpp
finding refused_login(const context& of, const error& why);
finding check_tls(context& of);
finding check_pooler(context& of);
// Pure. host: as returned by connection::server().
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

// broker_checks.cpp: checks each URL of amqp.url.
findings check_broker(const settings& from);

// policy_checks.cpp: facts about these exchanges that only RabbitMQ's management API reports.
findings check_policies(const settings& from, const std::vector<std::string>& exchanges);

}  // namespace outboxd::app::check
