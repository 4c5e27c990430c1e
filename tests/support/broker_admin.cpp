// broker_admin: what rabbitmqctl asks of the broker, asked with OTP's erl_call.
#include "support/broker_admin.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <stdexcept>

#include "support/database.hpp"
#include "support/program.hpp"

namespace outboxd::test {
namespace {

// The one who is named as having done it in the broker's log and events.
constexpr auto actor = "<<\"outboxd-tests\">>";

// A broker that has just been started may take seconds, on a machine with other work many of them.
constexpr auto limit = std::chrono::seconds{300};

// RabbitMQ's own functions answer with ok, or with why not.
void tell(const std::string& call) {
  broker_eval(fmt::format("ok = {}.", call));
}

}  // namespace

std::string broker_eval(const std::string& expressions) {
  const auto done = run_program({.program = required_environment("OUTBOXD_TEST_RABBITMQ_EVAL"),
                                 .arguments = {expressions},
                                 .environment = {},
                                 .log_file = {}},
                                limit);
  if (!done.exited(0))
    throw std::runtime_error{fmt::format("the broker could not evaluate {}: {}", expressions, done.text())};
  return done.text();
}

std::string erlang_binary(const std::string& bytes) {
  std::string text = "<<\"";
  for (const char one : bytes) {
    if (one == '"' || one == '\\') text += '\\';
    text += one;
  }
  return text + "\">>";
}

int rabbitmq_major() {
  static const int major = [] {
    const auto told = broker_eval("rabbit_misc:version().");
    return std::stoi(told.substr(told.find_first_of("0123456789")));
  }();
  return major;
}

void start_broker_app() {
  tell("rabbit:start()");
}

void stop_broker_app() {
  tell("rabbit:stop()");
}

void add_vhost(const std::string& name) {
  tell(fmt::format("rabbit_vhost:add({}, {})", erlang_binary(name), actor));
}

void delete_vhost(const std::string& name) {
  broker_eval(fmt::format("rabbit_vhost:delete({}, {}).", erlang_binary(name), actor));
}

void add_user(const std::string& name, const std::string& password) {
  tell(fmt::format("rabbit_auth_backend_internal:add_user({}, {}, {})", erlang_binary(name),
                   erlang_binary(password), actor));
}

void delete_user(const std::string& name) {
  tell(fmt::format("rabbit_auth_backend_internal:delete_user({}, {})", erlang_binary(name), actor));
}

void change_password(const std::string& user, const std::string& password) {
  tell(fmt::format("rabbit_auth_backend_internal:change_password({}, {}, {})", erlang_binary(user),
                   erlang_binary(password), actor));
}

void clear_password(const std::string& user) {
  tell(fmt::format("rabbit_auth_backend_internal:clear_password({}, {})", erlang_binary(user), actor));
}

void set_user_tags(const std::string& user, const std::vector<std::string>& tags) {
  tell(fmt::format("rabbit_auth_backend_internal:set_tags({}, [{}], {})", erlang_binary(user),
                   fmt::join(tags, ", "), actor));
}

void set_user_limit(const std::string& user, const std::string& limit, int value) {
  tell(fmt::format("rabbit_auth_backend_internal:set_user_limits({}, #{{{} => {}}}, {})", erlang_binary(user),
                   erlang_binary(limit), value, actor));
}

void set_permissions(const std::string& user, const permissions& what, const std::string& vhost) {
  tell(fmt::format("rabbit_auth_backend_internal:set_permissions({}, {}, {}, {}, {}, {})",
                   erlang_binary(user), erlang_binary(vhost), erlang_binary(what.configure),
                   erlang_binary(what.write), erlang_binary(what.read), actor));
}

void set_policy(const policy& what) {
  tell(fmt::format("rabbit_policy:set({}, {}, {}, {}, 0, {}, {})", erlang_binary(what.vhost),
                   erlang_binary(what.name), erlang_binary(what.pattern), what.definition,
                   erlang_binary(what.apply_to), actor));
}

void clear_policy(const std::string& name, const std::string& vhost) {
  tell(fmt::format("rabbit_policy:delete({}, {}, {})", erlang_binary(vhost), erlang_binary(name), actor));
}

// A connection that ends by itself meanwhile tells no user, or cannot be closed.
void close_connections_of(const std::string& user, const std::string& why) {
  broker_eval(
      fmt::format("[catch rabbit_networking:close_connection(C, \"{}\")"
                  " || C <- rabbit_networking:connections(),"
                  " [{{user, U}}] <- [catch rabbit_networking:connection_info(C, [user])], U =:= {}].",
                  why, erlang_binary(user)));
}

std::string told_of_connections(const std::string& item) {
  // erl_call shows no bytes of a binary.
  return broker_eval(fmt::format(
      "lists:flatten(io_lib:format(\"~0tp\", [rabbit_networking:connection_info_all([{}])])).", item));
}

}  // namespace outboxd::test
