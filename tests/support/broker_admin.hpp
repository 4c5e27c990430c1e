// broker_admin: users, vhosts, permissions, policies and connections of the tests' broker.
#pragma once

#include <string>
#include <vector>

namespace outboxd::test {

/// Erlang expressions, separated by commas, with a full stop at the end, which the broker itself evaluates:
/// the functions that rabbitmqctl calls, without its start, which costs a second of CPU. Throws
/// std::runtime_error with the broker's answer if an expression fails.
std::string broker_eval(const std::string& expressions);

/// A binary with these bytes, as Erlang writes it.
std::string erlang_binary(const std::string& bytes);

/// 3, 4: of the tests' RabbitMQ.
int rabbitmq_major();

/// The broker's application in its node, which runs on.
void start_broker_app();
void stop_broker_app();

void add_vhost(const std::string& name);
void delete_vhost(const std::string& name);

void add_user(const std::string& name, const std::string& password);
void delete_user(const std::string& name);
void change_password(const std::string& user, const std::string& password);
/// From now on no password is right.
void clear_password(const std::string& user);
/// `tags`: Erlang's atoms, such as policymaker.
void set_user_tags(const std::string& user, const std::vector<std::string>& tags);

/// `limit`: max-connections or max-channels.
void set_user_limit(const std::string& user, const std::string& limit, int value);

struct permissions {
  std::string configure = ".*";
  std::string write = ".*";
  std::string read = ".*";
};
void set_permissions(const std::string& user, const permissions& what = {}, const std::string& vhost = "/");

struct policy {
  std::string name;
  std::string pattern;
  std::string definition;  // as Erlang: [{<<"max-length">>, 1}]
  std::string apply_to = "queues";
  std::string vhost = "/";
};
void set_policy(const policy& what);
void clear_policy(const std::string& name, const std::string& vhost = "/");

/// Ends the connections of a user; their clients are told `why`.
void close_connections_of(const std::string& user, const std::string& why);
/// What the broker tells of all its connections, as Erlang prints it. `item`: user, state, client_properties.
std::string told_of_connections(const std::string& item);

}  // namespace outboxd::test
