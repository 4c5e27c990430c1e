// OAuth 2: the password is a token that ends while the connection lives.
#include <doctest/doctest.h>

#include <chrono>

#include "rotation.hpp"
#include "stage.hpp"
#include "token_issuer.hpp"

namespace outboxd::test::token_test {
namespace {

using std::chrono::system_clock;

/// A relay's login by a script, which prints a token.
struct by_token {
  by_token() {
    script.write("cat " + token.path());
    broker{}.declare_exchange(another);
    broker{}.bind(on.queue(), another, on.queue() + ".#");
  }
  ~by_token() { broker{}.delete_exchange(another); }
  by_token(const by_token&) = delete;
  by_token& operator=(const by_token&) = delete;

  /// From now on the script prints a token with this life. Returns its end.
  std::chrono::sys_seconds issue(std::chrono::seconds life) const {
    const auto end = std::chrono::floor<std::chrono::seconds>(system_clock::now()) + life;
    token.write(token_issuer::token(user, end));
    return end;
  }
  environment variables() const {
    const auto admin = required_environment("OUTBOXD_AMQP_URL");
    return {{"OUTBOXD_AMQP_URL", fmt::format("amqp://{}{}", user, admin.substr(admin.find('@')))},
            {"OUTBOXD_AMQP_PASSWORD_COMMAND", "/bin/sh " + script.path()}};
  }
  /// RabbitMQ remembers for each channel to which exchanges its user may publish: it looks at the token again
  /// for an exchange that is new to the channel.
  void add_event_to_another_exchange() const {
    on.connect().exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, exchange)"
        " VALUES ('bill', '1', $1, '{}', $2)",
        {on.key(), another});
  }
  std::string connections() const {
    return broker_eval(
        fmt::format("[P || [{{pid, P}}, {{user, U}}] <- rabbit_networking:connection_info_all([pid, user]), "
                    "U == {}].",
                    erlang_binary(user)));
  }
  void check_sound(relay& running) const {
    const auto report = on.check_all();
    CHECK_MESSAGE(report.sound(), report.words());
    CHECK(report.duplicates == 0);
    CHECK(on.connect().number(
              "SELECT count(*) FROM outbox.event WHERE attempts > 0 OR first_failed_at IS NOT NULL") == 0);
    running.stop();
    for (const auto& line : running.all_lines()) {
      CHECK_MESSAGE(line.find("does not accept events") == std::string::npos, line);
      CHECK_MESSAGE(line.find("eyJ") == std::string::npos, line);  // how each token begins
    }
  }

  stage on;
  token_issuer issuer;
  std::string user = on.queue() + "-relay";
  std::string another = on.queue() + "-another";
  secret_file token{on.queue() + ".token"};
  secret_file script{on.queue() + ".sh"};
};

void await(std::chrono::sys_seconds end) {
  eventually("the token has ended", [&] { return system_clock::now() > end; });
}

// Long enough for a slow machine to log in with it.
constexpr auto short_life = 15s;

}  // namespace

TEST_SUITE_BEGIN("alone");

TEST_CASE("a connection outlives the token that it has logged in with") {
  const by_token at;
  const auto end = at.issue(short_life);
  relay running{at.on, {"--log-level", "debug", "--relay-lanes", "1"}, at.variables()};
  running.await_connected();
  at.on.add_events(10);
  at.on.await_published(10);
  const auto before = at.connections();
  at.issue(1h);
  running.wait_line("the token of the login is renewed");
  await(end);
  at.add_event_to_another_exchange();
  at.on.await_published(11);
  CHECK(before.find('<') != std::string::npos);
  CHECK(at.connections() == before);
  at.check_sound(running);
  for (const auto& line : running.all_lines())
    CHECK_MESSAGE(line.find("trying again") == std::string::npos, line);
}

TEST_CASE("a token that is not renewed is told, and the relay logs in again when it can") {
  const by_token at;
  const auto end = at.issue(short_life);
  relay running{at.on, {"--relay-lanes", "1"}, at.variables()};
  running.await_connected();
  at.on.add_events(10);
  at.on.await_published(10);
  const auto refused = running.wait_line("is not renewed: ");
  CHECK_MESSAGE(refused.find("the new token ends no later; let amqp.password_command ask for a new token") !=
                    std::string::npos,
                refused);
  at.script.write("exit 7");
  running.wait_line("is not renewed: amqp.password_command: /bin/sh ended with status 7");
  await(end);
  at.add_event_to_another_exchange();
  // RabbitMQ 4 closes the connection at the token's end, 3.10 the channel over the event.
  running.wait_line("RabbitMQ: amqp.password_command: /bin/sh ended with status 7");
  const auto from = running.lines().size();
  at.issue(1h);
  at.script.write("cat " + at.token.path());
  running.wait_line("connected to RabbitMQ", time_limit, from);
  at.on.await_published(11);
  at.check_sound(running);
}

TEST_SUITE_END();

}  // namespace outboxd::test::token_test
