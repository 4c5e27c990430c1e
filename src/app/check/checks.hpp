// checks: everything that the command looks at, in the order of the report.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/check/context.hpp"
#include "app/check/finding.hpp"

namespace outboxd::app::check {

// configuration_checks.cpp
findings check_configuration(const settings& from);

// database_checks.cpp: all of PostgreSQL; when the login fails, the rest is not checked.
findings check_database(context& of);

// The warnings and failures among those that say the same to whoever can read the outbox, for the console:
// what is said of the relay's login is not among them. Each question may take so long.
tl::expected<findings, error> check_table(context& of, std::chrono::seconds longest);

// server_checks.cpp
finding refused_login(const context& of, const error& why);
finding check_version(context& of);
finding check_tls(context& of);
finding check_writable(context& of);
finding check_pooler(context& of);
// Pure. host: as connection::server() has it.
finding judge_transport(const std::string& host, bool encrypted, const std::string& sslmode);

// outbox_checks.cpp
finding check_schema(context& of);
finding check_triggers(context& of);
finding check_rules(context& of);
finding check_indexes(context& of);
finding check_sequence(context& of);
finding check_autovacuum(context& of);

// additions_checks.cpp: what users have put onto the table
finding check_references(context& of);
finding check_user_triggers(context& of);
finding check_user_indexes(context& of);

// commit_checks.cpp
finding check_commits(context& of);

// partition_checks.cpp
finding check_partitions(context& of);

// privilege_checks.cpp: what the user lacks of what a relay does, or of what an operator does
finding check_privileges(context& of);
finding check_row_security(context& of);
// What hinders the user from looking at the outbox at all; nothing: nothing that is known of.
std::optional<finding> check_access(context& of);

// state_checks.cpp
finding check_state(context& of);

// session_checks.cpp
finding check_relay_session(context& of);
finding check_settings(context& of);
finding check_notification(context& of);
finding check_clock(context& of);
// Pure. offset: the server's clock minus this machine's, known to within `error`.
finding judge_clock(std::chrono::duration<double> offset, std::chrono::duration<double> error);

// activity_checks.cpp
finding check_connections(context& of);
finding check_locks(context& of);
finding check_snapshots(context& of);
// The oldest of each kind that holds back vacuum; texts as PostgreSQL gives them.
struct snapshot_holders {
  struct session {
    std::chrono::seconds age;
    std::string pid, user, application;
  };
  struct prepared_transaction {
    std::chrono::seconds age;
    std::string id;  // a literal
  };
  struct unused_slot {
    std::string transactions;
    std::string name;  // a literal
  };
  std::optional<session> open;
  std::optional<prepared_transaction> prepared;
  std::optional<unused_slot> slot;
};
// Pure. Nothing: none that is old enough to hurt.
std::optional<finding> judge_snapshots(const snapshot_holders& held);

// broker_checks.cpp: each URL of amqp.url.
findings check_broker(const settings& from);

// policy_checks.cpp: what only RabbitMQ's management API tells about these exchanges.
findings check_policies(const settings& from, const std::vector<std::string>& exchanges);

}  // namespace outboxd::app::check
