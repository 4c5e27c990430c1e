// A server that refuses the relay: exit 1, one line that names what is wrong and the remedy, and no secret.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "login.hpp"
#include "reply_filter.hpp"
#include "stage.hpp"
#include "support/broker_admin.hpp"
#include "support/broker_url.hpp"

namespace outboxd::test::refusal_test {
namespace {

constexpr auto canary = "canary-s3cret";

bool is_complaint(const std::string& line) {
  return line.find(" warning ") != std::string::npos || line.find(" error ") != std::string::npos;
}

// `outboxd run` gives up with one complaint, or with one for each server that it could have used.
void gives_up(const stage& on, const environment& variables, const std::vector<std::string>& said,
              int complaints = 1, int code = 1) {
  relay refused{on, {"--log-level", "trace"}, variables};
  const auto status = refused.wait(time_limit);
  const auto lines = refused.all_lines();
  const auto text = fmt::format("{}", fmt::join(lines, "\n"));
  CAPTURE(text);
  CHECK(status.code == code);
  CHECK(std::count_if(lines.begin(), lines.end(), is_complaint) == complaints);
  for (const auto& part : said)
    CHECK_MESSAGE(text.find(part) != std::string::npos, "it does not say: ", part);
  CHECK(text.find(canary) == std::string::npos);
}

void migrate_fails(const environment& variables, const std::vector<std::string>& said) {
  const auto result = run_outboxd({"migrate"}, variables);
  CAPTURE(result.text());
  CHECK(result.exited(1));
  CHECK(result.lines.size() == 1);
  for (const auto& part : said) CHECK_MESSAGE(result.says(part), "it does not say: ", part);
  CHECK_FALSE(result.says(canary));
}

environment with_database_url(const std::string& url) {
  return {{"OUTBOXD_DATABASE_URL", url}};
}

// A vhost that goes with the object.
class vhost {
 public:
  explicit vhost(std::string name) : name_{std::move(name)} {
    add_vhost(name_);
    set_permissions("outboxd", {}, name_);
  }
  ~vhost() {
    try {
      delete_vhost(name_);
    } catch (const std::exception&) {
    }
  }
  vhost(const vhost&) = delete;
  vhost& operator=(const vhost&) = delete;

 private:
  std::string name_;
};

}  // namespace

TEST_CASE("a wrong password for PostgreSQL is named and ends the relay") {
  const stage on;
  const login user{"outbox_relay"};
  gives_up(on, with_database_url(user.url(on, canary)),
           {"password authentication failed", user.name(), "check the user, the password"});
  migrate_fails(with_database_url(user.url(on, canary)), {"password authentication failed", user.name()});
}

TEST_CASE("a database that does not exist is named and ends the relay") {
  const stage on;
  const auto nowhere = with_database(on.database_url(), "no_such_database");
  gives_up(on, with_database_url(nowhere), {"no_such_database", "does not exist"});
  migrate_fails(with_database_url(nowhere), {"no_such_database", "does not exist"});
}

TEST_CASE("a server older than PostgreSQL 14 is named and ends the relay") {
  const stage on;
  reply_filter older;
  older.replace(on.connect().value("SHOW server_version_num"), "130022");
  const std::string words = "is PostgreSQL 13; outboxd needs 14 or newer";
  gives_up(on, with_database_url(older.url(on)), {words});
  migrate_fails(with_database_url(older.url(on)), {words});
  auto variables = on.variables();
  variables["OUTBOXD_DATABASE_URL"] = older.url(on);
  const auto checked = run_outboxd({"check"}, variables);
  CHECK(checked.exited(1));
  CHECK_MESSAGE(checked.says("outboxd needs 14 or newer"), checked.text());
}

TEST_CASE("an sslmode that there is not ends the relay, and a migration, at once") {
  const stage on;
  const auto url = fmt::format("postgresql://user:{}@h/d?sslmode=nonsense", canary);
  for (const auto* command : {"run", "migrate"}) {
    const auto result = run_outboxd({command}, with_database_url(url));
    CHECK(result.exited(2));
    CHECK_MESSAGE(result.says("OUTBOXD_DATABASE_URL"), result.text());
    CHECK_MESSAGE(result.says("verify-full"), result.text());
    CHECK_FALSE(result.says(canary));
  }
  gives_up(on, {{"PGSSLMODE", "nonsense"}}, {"sslmode", "nonsense", "PGSSL"});
}

TEST_CASE("TLS that the server does not speak is named and ends the relay") {
  const stage on;
  gives_up(on, with_database_url(on.database_url() + "?sslmode=require"),
           {"does not support SSL", "check sslmode"});
}

TEST_CASE("a password that is missing is named and ends the relay") {
  const stage on;
  const login user{"outbox_relay"};
  auto url = user.url(on);
  const auto password = url.find(':', url.find("://") + 3);
  url.erase(password, url.find('@') - password);
  const environment without{{"OUTBOXD_DATABASE_URL", url}, {"PGPASSFILE", "/no/such/passfile"}};
  gives_up(on, without, {"no password supplied", "PGPASSWORD"});
  migrate_fails(without, {"no password supplied"});
}

TEST_CASE("a relay works on the schema of the next version, says so, and exits 2 on any other") {
  const stage on;
  auto session = on.connect();
  const auto own = session.number("SELECT max(version) FROM outbox.migration");
  const auto migrate_to = [&](std::int64_t version) {
    session.exec("INSERT INTO outbox.migration VALUES ($1, 'of the future')", {std::to_string(version)});
  };
  migrate_to(own + 1);
  on.add_events(10);
  relay running{on};
  const auto line = running.wait_line("the schema has version", time_limit);
  CHECK_MESSAGE(line.find(fmt::format("has version {}, and this outboxd was built for {}; it works with both",
                                      own + 1, own)) != std::string::npos,
                line);
  on.await_drained();
  CHECK(on.count("published") == 10);
  migrate_to(own + 2);  // what is connected goes on
  on.add_events(10);
  on.await_published(20);
  running.stop();
  const auto lines = running.all_lines();
  CHECK(std::count_if(lines.begin(), lines.end(), is_complaint) == 1);

  const auto works_with = fmt::format("this outboxd works with {} and {}", own, own + 1);
  gives_up(on, {}, {fmt::format("version {}", own + 2), works_with, "run a newer outboxd"}, 1, 2);
  session.exec("DELETE FROM outbox.migration WHERE version >= $1", {std::to_string(own)});
  session.exec("INSERT INTO outbox.migration VALUES ($1, 'of the past')", {std::to_string(own - 1)});
  gives_up(on, {}, {fmt::format("has version {}", own - 1), works_with, "run `outboxd migrate`"}, 1, 2);
}

TEST_CASE("a missing outbox is named with outboxd migrate as the remedy") {
  const stage on{{.migrated = false}};
  gives_up(on, {}, {"outboxd migrate"});
  gives_up(on, {{"OUTBOXD_OUTBOX_SCHEMA", "elsewhere"}}, {"outboxd migrate"});
}

TEST_CASE("a missing privilege is named with the role that has it") {
  const stage on;
  const login user{""};
  gives_up(on, with_database_url(user.url(on)), {"permission denied", "outbox_relay"});
  const login writer{"outbox_writer"};
  gives_up(on, with_database_url(writer.url(on)), {"permission denied", "outbox_relay"});
}

TEST_CASE("a migration without the privilege says so and leaves nothing") {
  const stage on{{.migrated = false}};
  const login user{""};
  migrate_fails(with_database_url(user.url(on)), {"permission denied", "GRANT CREATE ON DATABASE"});
  CHECK(on.connect().number("SELECT count(*) FROM pg_namespace WHERE nspname = 'outbox'") == 0);
}

TEST_CASE("a server that cannot be reached fails a migration and is tried again by a relay") {
  const stage on;
  const auto nowhere = fmt::format("postgresql://user:{}@127.0.0.1:1/d", canary);
  migrate_fails(with_database_url(nowhere), {"127.0.0.1", "refused"});
  migrate_fails(with_database_url(fmt::format("postgresql://user:{}@no-such-host.invalid/d", canary)),
                {"no-such-host.invalid"});
  relay waiting{on,
                {"--log-level", "trace"},
                {{"OUTBOXD_DATABASE_URL", nowhere},
                 {"OUTBOXD_AMQP_URL", fmt::format("amqp://user:{}@127.0.0.1:1", canary)}}};
  waiting.wait_line("PostgreSQL: ", time_limit);
  waiting.wait_line("RabbitMQ: ", time_limit);
  waiting.stop();
  const auto lines = waiting.all_lines();
  CHECK(std::count_if(lines.begin(), lines.end(), is_complaint) ==
        2);  // one for each, however many sessions failed
  CHECK(fmt::format("{}", fmt::join(lines, "\n")).find(canary) == std::string::npos);
}

TEST_CASE("a wrong password for RabbitMQ is named and ends the relay") {
  const stage on;
  gives_up(on, {{"OUTBOXD_AMQP_URL", amqp_url("outboxd", canary)}}, {"403", "check the user, its password"});
  gives_up(on, {{"OUTBOXD_AMQP_URL", amqp_url("nobody", canary)}},
           {"nobody", "check the user, its password"});
}

TEST_CASE("with a list of brokers a wrong password ends the relay only when every one refuses it") {
  const stage on;
  on.add_events(3);
  const auto bad = amqp_url("outboxd", canary);
  relay running{on,
                {"--log-level", "trace"},
                {{"OUTBOXD_AMQP_URL", bad + "," + amqp_url("outboxd", admin_password())}}};
  running.await_connected();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
  CHECK(fmt::format("{}", fmt::join(running.all_lines(), "\n")).find(canary) == std::string::npos);
  gives_up(on, {{"OUTBOXD_AMQP_URL", bad + "," + amqp_url("nobody", canary)}},
           {"outboxd@", "nobody@", "check the user, its password"}, 2);
}

TEST_CASE("a vhost that does not exist is named and ends the relay") {
  const stage on;
  gives_up(on, {{"OUTBOXD_AMQP_URL", amqp_url("outboxd", admin_password(), "no-such-vhost")}},
           {"no-such-vhost", "check that the vhost exists"});
}

TEST_CASE("an exchange of another type is named and ends the relay") {
  const stage on;
  const vhost own{on.queue()};
  const auto url = amqp_url("outboxd", admin_password(), on.queue());
  broker{url}.declare_exchange("outbox", "fanout");
  gives_up(on, {{"OUTBOXD_AMQP_URL", url}}, {"406", "outbox", "amqp.declare"});
  // And with amqp.declare off it is used as it is.
  relay running{on, {"--amqp-declare", "false"}, {{"OUTBOXD_AMQP_URL", url}}};
  running.await_connected();
  running.stop();
}

}  // namespace outboxd::test::refusal_test
