// password_command: a program of the user's prints the password, anew for every connection.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "login.hpp"
#include "rotation.hpp"
#include "stage.hpp"

namespace outboxd::test::password_command_test {
namespace {

/// Logins that a stage's relay has by commands alone; each command prints a file.
struct by_command {
  explicit by_command(const std::string& role = "outbox_relay") : user{role, "canary-old"} {
    database_file.write("canary-old");
    amqp_file.write("canary-old");
  }

  /// The password that PGPASSWORD, or the URL's default, would give is wrong.
  environment variables() const {
    auto url = user.url(on, "");
    url.erase(url.find(":@"), 1);
    auto broker_url = broker.url("");
    broker_url.erase(broker_url.find(":@"), 1);
    return {{"OUTBOXD_DATABASE_URL", url},
            {"PGPASSWORD", "canary-wrong"},
            {"OUTBOXD_DATABASE_PASSWORD_COMMAND", "/bin/cat '" + database_file.path() + "'"},
            {"OUTBOXD_AMQP_URL", broker_url},
            {"OUTBOXD_AMQP_PASSWORD_COMMAND", "/bin/cat '" + amqp_file.path() + "'"}};
  }
  void end_sessions() const {
    on.connect().exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1",
                      {user.name()});
  }

  stage on;
  login user;
  broker_user broker{on.queue(), "canary-old"};
  secret_file database_file{on.queue() + ".database"};
  secret_file amqp_file{on.queue() + ".amqp"};
};

void check_quiet(relay& of) {
  const auto text = fmt::format("{}", fmt::join(of.all_lines(), "\n"));
  CHECK_MESSAGE(text.find("canary") == std::string::npos, text);
}

}  // namespace

TEST_CASE("passwords that commands print are used, and the next connection gets the new ones") {
  const by_command at;
  relay running{at.on, {"--log-level", "trace"}, at.variables()};
  running.await_connected();
  at.on.add_events(1, 10);
  at.on.await_published(10);

  at.user.change_password("canary-new");
  at.broker.change_password("canary-new");
  const auto from = running.lines().size();
  at.end_sessions();
  running.wait_line("password authentication failed", time_limit, from);
  at.broker.close_connections();
  running.wait_line("check the user, its password", time_limit, from);
  CHECK(running.running());
  at.database_file.write("canary-new");
  at.amqp_file.write("canary-new");
  running.wait_line("connected to PostgreSQL", time_limit, from);
  running.wait_line("connected to RabbitMQ", time_limit, from);
  at.on.add_events(1, 10);
  at.on.await_published(20);
  const auto report = at.on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  running.stop();
  check_quiet(running);
}

TEST_CASE("a relay waits for a password command that fails, says why, and stops while it hangs") {
  const by_command at;
  const secret_file script{at.on.queue() + ".sh"};
  script.write("echo canary; exit 7");
  auto variables = at.variables();
  variables["OUTBOXD_DATABASE_PASSWORD_COMMAND"] = "/bin/sh " + script.path();
  relay running{at.on, {}, variables};
  running.wait_line("database.password_command: /bin/sh ended with status 7", time_limit);
  script.write("printf ''");
  running.wait_line("database.password_command: /bin/sh printed nothing", time_limit);
  script.write("cat " + at.database_file.path());
  running.await_connected();
  at.on.add_events(1, 10);
  at.on.await_published(10);

  // The file that it makes says that it runs.
  const secret_file sign{at.on.queue() + ".sign"};
  script.write("echo x > " + sign.path() + "; sleep 1000");
  at.end_sessions();
  eventually(
      "the command runs", [&] { return std::filesystem::exists(sign.path()); }, time_limit);
  running.stop();
  check_quiet(running);
}

TEST_CASE("commands of operators get the password from the command, too") {
  const by_command at{"outbox_operator"};
  const auto variables = at.variables();
  for (const arguments& words : {arguments{"status"}, {"dead", "list"}, {"prune", "--older-than", "7d"}}) {
    const auto done = run_outboxd(words, variables);
    CHECK_MESSAGE(done.exited(0), done.text());
  }
  at.database_file.write("canary-wrong");
  const auto refused = run_outboxd({"status"}, variables);
  CHECK_MESSAGE(refused.exited(1), refused.text());
  CHECK_MESSAGE(refused.says("password authentication failed"), refused.text());
  auto failing = variables;
  failing["OUTBOXD_DATABASE_PASSWORD_COMMAND"] = "/bin/false";
  for (const arguments& words :
       {arguments{"status"}, {"migrate"}, {"adopt", "--table", "t", "--preset", "debezium"}}) {
    const auto done = run_outboxd(words, failing);
    CHECK_MESSAGE(done.exited(1), done.text());
    CHECK_MESSAGE(done.says("database.password_command: /bin/false ended with status 1"), done.text());
  }
}

TEST_CASE("check logs in with commands, and names the one that does not work") {
  const by_command at;
  auto variables = at.variables();
  const auto sound = run_outboxd({"check"}, variables);
  CHECK_MESSAGE(sound.exited(0), sound.text());
  variables["OUTBOXD_DATABASE_PASSWORD_COMMAND"] = "/bin/false";
  variables["OUTBOXD_AMQP_PASSWORD_COMMAND"] = "/bin/true";
  const auto done = run_outboxd({"check"}, variables);
  CHECK_MESSAGE(done.exited(1), done.text());
  CHECK_MESSAGE(done.says("database.password_command: /bin/false ended with status 1"), done.text());
  CHECK_MESSAGE(done.says("amqp.password_command: /bin/true printed nothing"), done.text());
  CHECK_MESSAGE(!done.says("canary"), done.text());
}

}  // namespace outboxd::test::password_command_test
