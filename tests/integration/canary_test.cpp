// canary: secrets, a payload and a header value that must turn up nowhere but where they belong.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "login.hpp"
#include "rotation.hpp"
#include "stage.hpp"
#include "support/broker_admin.hpp"
#include "support/http_client.hpp"

namespace outboxd::test::canary_test {
namespace {

void check_quiet(std::string_view where, const std::string& text) {
  CHECK_MESSAGE(text.find("canary") == std::string::npos, where, ": ", text);
}

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

enum class source { url, file, command };
constexpr auto all_sources = {source::url, source::file, source::command};

/// A relay's two logins, with passwords to look out for.
struct watched {
  static constexpr auto password = "canary-password";

  /// Passwords, these or others, from there.
  struct given {
    arguments flags;
    environment variables;
  };
  given give(source from, const std::string& what = password) const {
    const auto database = user.url(on, what);
    const auto amqp = broker.url(what);
    const auto without = [&](std::string url) {
      return url.erase(url.find(':' + what + '@'), what.size() + 1);
    };
    switch (from) {
      case source::url:
        break;
      case source::file:
        database_file.write(database);
        amqp_file.write(amqp);
        return {{"--database-url-file", database_file.path(), "--amqp-url-file", amqp_file.path()}, {}};
      case source::command:
        database_file.write(what);
        return {{},
                {{"OUTBOXD_DATABASE_URL", without(database)},
                 {"OUTBOXD_DATABASE_PASSWORD_COMMAND", "/bin/cat " + database_file.path()},
                 {"OUTBOXD_AMQP_URL", without(amqp)},
                 {"OUTBOXD_AMQP_PASSWORD_COMMAND", "/bin/cat " + database_file.path()}}};
    }
    return {{}, {{"OUTBOXD_DATABASE_URL", database}, {"OUTBOXD_AMQP_URL", amqp}}};
  }

  /// Events that go out, wait, come back and die, with things to look out for.
  void add_events() const {
    auto session = on.connect();
    for (const auto& type : {on.key(), std::string(256, 'x'), "unbound-" + on.queue()})
      session.exec(
          "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
          " VALUES ('card', '1', $1, '{\"card\": \"canary-payload\"}', '{\"token\": \"canary-header\"}')",
          {type});
  }

  stage on;
  login user{"outbox_relay", password};
  broker_user broker{on.queue(), password};
  secret_file database_file{on.queue() + ".database"};
  secret_file amqp_file{on.queue() + ".amqp"};
};

arguments joined(arguments words, const arguments& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// `run` as a process, whatever becomes of it.
struct bare_relay : process {
  bare_relay(const arguments& flags, const watched::given& with)
      : process{{.program = outboxd_binary(),
                 .arguments = joined(joined({"run", "--http-listen", "127.0.0.1:0"}, flags), with.flags),
                 .environment = with.variables,
                 .log_file = {}}} {}
  std::uint16_t port() {
    const std::string said = "listening on http://127.0.0.1:";
    const auto line = wait_line(said, time_limit);
    return static_cast<std::uint16_t>(std::stoi(line.substr(line.find(said) + said.size())));
  }
  void check_all_quiet() { check_quiet("its log", fmt::format("{}", fmt::join(all_lines(), "\n"))); }
};

}  // namespace

TEST_CASE("canary: a relay shows no secret, payload or header value in logs, HTTP, /proc or the servers") {
  struct way {
    std::string format, level;
    source from;
  };
  const watched at;
  auto session = at.on.connect();
  // What is said at a level is said at trace as well; others may say it in other words.
  for (const auto& [format, level, from] : std::initializer_list<way>{{"text", "trace", source::url},
                                                                      {"json", "trace", source::file},
                                                                      {"text", "trace", source::command},
                                                                      {"json", "debug", source::url},
                                                                      {"text", "info", source::command}}) {
    CAPTURE(format);
    CAPTURE(level);
    CAPTURE(static_cast<int>(from));
    session.exec("DELETE FROM outbox.event");
    bare_relay running{{"--log-level", level, "--log-format", format}, at.give(from)};
    const auto proc = fmt::format("/proc/{}/", running.pid());
    at.add_events();
    eventually("one is out, one dead, one waits", [&] {
      return at.on.count("published") == 1 && at.on.count("dead") == 1 && at.on.count("waiting") == 1;
    });
    for (const char* path : {"/metrics", "/status", "/readyz", "/healthz"}) {
      const auto answer = http_client{running.port()}.get(path);
      check_quiet(path, answer.header + answer.body);
    }
    check_quiet("its command line", content(proc + "cmdline"));
    check_quiet("its status", content(proc + "status"));
    const auto limits = content(proc + "limits");
    CHECK_MESSAGE(limits.find("Max core file size        1 ") != std::string::npos, limits);
    std::string told;
    for (const auto& row :
         session.exec("SELECT to_jsonb(a) FROM pg_stat_activity AS a WHERE usename = $1", {at.user.name()}))
      told += row.at(0).value();
    CHECK(told.find("outboxd") != std::string::npos);
    check_quiet("pg_stat_activity", told);
    check_quiet("RabbitMQ's connections", told_of_connections("user, client_properties"));
    // The sessions go in the midst of it all: the servers' words come into the log.
    session.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1",
                 {at.user.name()});
    if (from == source::command) at.broker.close_connections();
    at.on.add_events(1, 5);
    at.on.await_published(6);
    CHECK(session.number("SELECT count(*) FROM outbox.event WHERE last_error LIKE '%canary%'") == 0);
    running.send(SIGTERM);
    CHECK(running.wait().code == 0);
    running.check_all_quiet();
  }
}

TEST_CASE("canary: a refused login, or a URL that is no URL, shows no secret") {
  const watched at;
  for (const source from : all_sources) {
    CAPTURE(static_cast<int>(from));
    const auto wrong = at.give(from, "canary-wrong");
    bare_relay running{{"--log-level", "trace"}, wrong};
    CHECK(running.wait().code == 1);
    running.check_all_quiet();
    for (const arguments& words : {arguments{"check"},
                                   {"check", "--json"},
                                   {"status"},
                                   {"migrate"},
                                   {"dead", "list"},
                                   {"run", "--print-config"}}) {
      const auto done = run_outboxd(joined(words, wrong.flags), wrong.variables);
      CHECK_MESSAGE(done.text() != "", words.front());
      check_quiet(words.front(), done.text());
    }
  }
  for (const char* bad :
       {"postgresql://u:canary@x:y@h/d", "postgresql://u:canary/x@h:1/d", "host=h password='canary", "canary",
        "postgresql://u:canary@h/d?sslmode=canary", "postgresql://u:p@h/d?canary=1"}) {
    const auto done = run_outboxd({"status"}, {{"OUTBOXD_DATABASE_URL", bad}});
    CHECK_MESSAGE(done.exited(2), bad);
    check_quiet(bad, done.text());
  }
  for (const char* bad : {"amqp://u:canary@x:y@h/", "amqp://u:canary/x@h:1/", "canary", "http://u:canary@h",
                          "amqp://u:canary%@h"}) {
    const auto done = run_outboxd({"run"}, {{"OUTBOXD_DATABASE_URL", "host=h"}, {"OUTBOXD_AMQP_URL", bad}});
    CHECK_MESSAGE(done.exited(2), bad);
    check_quiet(bad, done.text());
  }
}

TEST_CASE("canary: no command shows a payload or a header value unasked") {
  const watched at;
  auto variables = at.on.variables();
  at.add_events();
  auto session = at.on.connect();
  session.exec("UPDATE outbox.event SET status = 'dead', last_error = 'by hand' WHERE event_type = $1",
               {at.on.key()});
  const auto id = session.value("SELECT id FROM outbox.event WHERE status = 'dead'");
  for (const arguments& words : {arguments{"status"},
                                 {"status", "--json"},
                                 {"trace", "--id", id},
                                 {"trace", "--id", id, "--json"},
                                 {"dead", "list"},
                                 {"dead", "list", "--json"},
                                 {"events", "list"},
                                 {"events", "list", "--json"},
                                 {"events", "list", "--by", "reason"},
                                 {"events", "show", "--id", id},
                                 {"events", "show", "--id", id, "--json"},
                                 {"dead", "show", "--id", id},
                                 {"dead", "show", "--id", id, "--json"},
                                 {"check"},
                                 {"dead", "retry", "--all", "--dry-run"},
                                 {"dead", "discard", "--all"}}) {
    const auto done = run_outboxd(words, variables);
    CHECK_MESSAGE(done.exited(0), done.text());
    check_quiet(words.front(), done.text());
  }
  CHECK(session.number("SELECT count(*) FROM outbox.discarded") == 1);
  CHECK(session.number("SELECT count(*) FROM outbox.discarded AS d WHERE d::text LIKE '%canary%'") == 0);
  CHECK(session.number("SELECT count(*) FROM outbox.audit AS a WHERE a::text LIKE '%canary%'") == 0);
}

}  // namespace outboxd::test::canary_test
