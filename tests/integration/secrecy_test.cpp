// Guarantee 12: payloads, header values and credentials appear in no line of output at any level.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <map>
#include <string>

#include "login.hpp"
#include "stage.hpp"

namespace outboxd::test::secrecy_test {

TEST_CASE("no payload, header value or password appears in the output at trace level") {
  const stage on;
  const login user{"outbox_relay", "canary-password"};
  auto session = on.connect();
  const auto insert = [&](const std::string& event_type, const std::string& headers) {
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
        " SELECT 'order', n, $1, '{\"card\": \"canary-payload\"}', $2::jsonb FROM generate_series(1, 3) AS n",
        {event_type, headers});
  };
  const std::string secret = R"("token": "canary-header")";
  for (const std::string format : {"text", "json"}) {
    session.exec("DELETE FROM outbox.event");
    insert(on.key(), "{" + secret + "}");
    insert(std::string(256, 'x'), "{" + secret + "}");      // dead
    insert(on.key(), "{" + secret + R"(, "bad": 1e400})");  // dead, in the headers themselves
    insert(on.key(), R"({"bad": ["canary-header", 1e400], "worse": "canary-header"})");
    insert("unbound-" + on.queue(), "{" + secret + "}");  // returned
    insert(on.key(), "{" + secret + "}");                 // behind
    relay running{on,
                  {"--log-level", "trace", "--log-format", format},
                  {{"OUTBOXD_DATABASE_URL", user.url(on, "canary-password")}}};
    eventually("all of it has happened", [&] { return on.count("pending") == 0 && on.count("dead") == 9; });
    // The sessions go while events are under way: the server's words come into the log.
    session.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", {user.name()});
    running.wait_line("PostgreSQL: ", time_limit);
    running.stop();
    const auto text = fmt::format("{}", fmt::join(running.all_lines(), "\n"));
    CHECK_MESSAGE(text.find("canary") == std::string::npos, text);
    CHECK_MESSAGE(text.find("is dead: ") != std::string::npos, text);
  }
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE last_error LIKE '%canary%'") == 0);
}

TEST_CASE("what a trigger of the user's own says about a row does not appear in the output") {
  const stage on;
  auto session = on.connect();
  on.add_events(1);
  const auto boom = [&](const std::string& body) {
    session.exec("CREATE OR REPLACE FUNCTION public.boom() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN " +
                 body + "; END$$");
  };
  boom("RETURN NEW");
  session.exec(
      "CREATE TRIGGER boom BEFORE UPDATE ON outbox.event FOR EACH ROW EXECUTE FUNCTION public.boom()");
  const auto raise = [](const std::string& code) {
    return "RAISE EXCEPTION 'boom canary %', NEW.payload USING ERRCODE = '" + code + "'";
  };
  const std::map<std::string, std::string> bodies{
      {"P0001", raise("P0001")},  // the default
      {"45000", raise("45000")},  // the user's own
      {"42501", raise("42501")},  // one of PostgreSQL's
      {"55000", raise("55000")},  // waits, as for a lock
      {"42601", "EXECUTE 'canary ' || NEW.payload::text"},
  };
  for (const auto& [code, body] : bodies) {
    CAPTURE(code);
    boom(body);
    relay running{on, {"--log-level", "trace"}};
    running.wait_line("SQLSTATE " + code, time_limit);
    running.stop(SIGTERM);
    const auto text = fmt::format("{}", fmt::join(running.all_lines(), "\n"));
    CHECK_MESSAGE(text.find("canary") == std::string::npos, text);
  }
  CHECK(on.count("pending") == 1);
}

}  // namespace outboxd::test::secrecy_test
