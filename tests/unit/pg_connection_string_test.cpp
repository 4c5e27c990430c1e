// pg_connection_string_test: what is said of a connection string, and that it is never the password.
#include <doctest/doctest.h>

#include <cstdlib>

#include "pg/connection_string.hpp"

namespace pg_connection_string_test {

using namespace outboxd;
using namespace outboxd::pg;

namespace {

// libpq reads PG* variables: the tests are to mean the same on every machine.
struct no_pg_variables {
  no_pg_variables() {
    for (const char* name : {"PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE",
                             "PGSERVICE", "PGTARGETSESSIONATTRS"})
      unsetenv(name);
  }
};

std::string refusal(std::string_view text) {
  const auto checked = check_connection_string(text);
  return checked ? "" : checked.error().message;
}
bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string hosts(const std::string& text) {
  std::string out;
  for (const host_entry& one : hosts_of(text))
    out += one.host + (one.address.empty() ? "" : "=" + one.address) + "/" + one.port + " ";
  return out;
}

}  // namespace

TEST_CASE_FIXTURE(no_pg_variables, "good strings of every kind are accepted") {
  for (const char* good :
       {"", "postgresql://", "postgres://u@h/d", "postgresql://u:p@h:5432/d?sslmode=require",
        "postgresql:///d?host=/tmp&port=6000", "host=h dbname=d", "host=a,b port=1,2", "host=a,b port=,2",
        "postgresql://a:1,b:2/d", "postgresql://u:%40%3A%2F@h/d", "postgresql://u@[::1]:5432/d",
        "host=h password='a b'", "postgresql://h/d?user=me@corp", "postgresql://u:a:b@h/d",
        "postgresql://u:a?b@h/d", "service=x"}) {
    CAPTURE(good);
    CHECK(refusal(good) == "");
  }
}

TEST_CASE_FIXTURE(no_pg_variables, "bad strings are refused with what is allowed") {
  for (const char* bad :
       {"nonsense", "postgresql://h:x/d", "postgresql://h/d?unknown", "host=h port=0", "host=h port=65536",
        "host=h port=-1", "host=h port=1,x", "postgresql://[::1/d", "host=h password=a b", "mysql://h/d"}) {
    CAPTURE(bad);
    const std::string words = refusal(bad);
    CHECK_UNARY(has(words, "postgresql://user@host:5432/database") || has(words, "1 to 65535"));
    CHECK(has(words, "percent-encode"));
  }
}

TEST_CASE_FIXTURE(no_pg_variables, "a parameter that only another driver knows is named, without its value") {
  for (const auto& [text, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"postgresql://u:p@h:5432/d?schema=canary", "schema"},
           {"postgresql://u:p@h/d?sslmode=require&pgbouncer=canary", "pgbouncer"},
           {"postgres://h?connection_limit=canary&schema=canary", "connection_limit"},
           {"postgresql://h/d?ssl=true&currentSchema=canary&sslmode=canary", "currentSchema"}}) {
    CAPTURE(text);
    CHECK(
        has(refusal(text), "has the parameter '" + std::string(name) + "', which PostgreSQL does not know"));
    CHECK_FALSE(has(refusal(text), "canary"));
    CHECK_FALSE(has(refusal(text), "percent-encode"));
  }
  CHECK(has(refusal("postgresql://h/d?schema=public"), "outbox.schema"));
  // Any other name could be a part of a password.
  for (const char* text : {"postgresql://u:p@h/d?canary=1", "postgresql://u:a?canary=1@h:x/d",
                           "postgresql://h/d?canary", "host=h?schema=1"}) {
    CHECK_FALSE(has(refusal(text), "canary"));
    CHECK_FALSE(has(refusal(text), "schema"));
  }
}

TEST_CASE_FIXTURE(no_pg_variables,
                  "an sslmode that there is not is refused with those that there are, and not shown") {
  for (const char* bad : {"host=h sslmode=canary", "postgresql://h/d?sslmode=canary", "sslmode='verify full'",
                          "sslmode=Require"}) {
    CAPTURE(bad);
    CHECK(
        refusal(bad).ends_with("sslmode that PostgreSQL does not know; use disable, allow, prefer, require, "
                               "verify-ca, verify-full"));
    CHECK_FALSE(has(display(bad), "canary"));
  }
  for (const char* good : {"sslmode=verify-full", "sslmode=", "host=h sslmode=disable"})
    CHECK_MESSAGE(refusal(good) == "", good);
}

TEST_CASE_FIXTURE(no_pg_variables,
                  "whatever characters a password has, it is shown neither in an error nor in the display") {
  for (const std::string_view between :
       {"@", ":", "/", "?", "#", " ", "%", "%zz", "=", "&", ",", "'", "\\", "@@", "/@", "@:", "/1"}) {
    for (const std::string_view before : {"canary", "12"}) {
      const std::string password = std::string(before) + std::string(between) + "canary";
      for (const std::string& text :
           {"postgresql://user:" + password + "@host:5432/db", "postgresql://user:" + password + "@host/db",
            "postgresql://user:" + password + "@host",
            "user=user password=" + password + " host=host dbname=db"}) {
        CAPTURE(text);
        CHECK_FALSE(has(refusal(text), "canary"));
        CHECK_FALSE(has(display(text), "canary"));
        CHECK_FALSE(has(hosts(text), "canary"));
      }
    }
  }
}

TEST_CASE_FIXTURE(no_pg_variables, "the display names database, host, port and user") {
  CHECK(display("postgresql://u:canary@h:5433/d") == "database 'd' at h:5433 as user 'u'");
  CHECK(display("host=h user=u password=canary") == "database 'u' at h:5432 as user 'u'");
  CHECK(display("hostaddr=10.0.0.1 host=h dbname=d user=u") == "database 'd' at 10.0.0.1:5432 as user 'u'");
  CHECK(has(display("dbname=d user=u"), "local socket"));
  CHECK(has(display("postgresql://u:canary/d"), "not valid"));
  CHECK(display("postgresql://u:canary@a:1,b:2/d") == "database 'd' at a,b:1,2 as user 'u'");
}

TEST_CASE_FIXTURE(no_pg_variables, "the hosts come in their order, each with its port") {
  CHECK(hosts("host=h") == "h/5432 ");
  CHECK(hosts("postgresql://a:1,b:2/d") == "a/1 b/2 ");
  CHECK(hosts("host=a,b port=7") == "a/7 b/7 ");
  CHECK(hosts("host=a,b port=1,") == "a/1 b/ ");
  CHECK(hosts("host=/tmp,h") == "/tmp/5432 h/5432 ");
  CHECK(hosts("postgresql://[::1]:6000/d") == "::1/6000 ");
}

TEST_CASE_FIXTURE(no_pg_variables, "addresses that are given are not looked up") {
  CHECK(hosts("hostaddr=10.0.0.1 host=h") == "h=10.0.0.1/5432 ");
  CHECK(hosts("hostaddr=10.0.0.1,10.0.0.2 port=1,2") == "=10.0.0.1/1 =10.0.0.2/2 ");
  CHECK(hosts("hostaddr=10.0.0.1, host=a,b") == "a=10.0.0.1/5432 b/5432 ");
}

TEST_CASE_FIXTURE(no_pg_variables, "who says which kind of server will do is heard") {
  CHECK_FALSE(says_session_attrs("postgresql://a,b/d"));
  CHECK(says_session_attrs("postgresql://a,b/d?target_session_attrs=any"));
  CHECK(says_session_attrs("host=a,b target_session_attrs=primary"));
  setenv("PGTARGETSESSIONATTRS", "any", 1);
  CHECK(says_session_attrs("postgresql://a,b/d"));
  unsetenv("PGTARGETSESSIONATTRS");
}

TEST_CASE_FIXTURE(no_pg_variables, "what libpq had better resolve itself, or refuse, has no hosts") {
  for (const char* text : {"hostaddr=10.0.0.1 host=a,b", "service=x host=h", "dbname=d", "not a string ="}) {
    CAPTURE(text);
    CHECK(hosts(text) == "");
  }
}

TEST_CASE_FIXTURE(no_pg_variables, "the PG* variables fill in what the string leaves out") {
  setenv("PGHOST", "fallback", 1);
  setenv("PGPORT", "6543", 1);
  CHECK(hosts("dbname=d") == "fallback/6543 ");
  CHECK(hosts("host=own") == "own/6543 ");
  CHECK(display("dbname=d user=u") == "database 'd' at fallback:6543 as user 'u'");
  unsetenv("PGHOST");
  unsetenv("PGPORT");
}

TEST_CASE("libpq's words are put on one line") {
  CHECK(one_line("connection to server failed:\n\tIs it running? \n") ==
        "connection to server failed: Is it running?");
  CHECK(one_line("\r\n  ") == "");
  CHECK(one_line("a") == "a");
}

TEST_CASE("a refused login gives its SQLSTATE and the words behind it, in whatever language") {
  const auto refused = parse_refusal(
      "connection to server at \"h\" (10.0.0.1), port 5432 failed: FATAL:  28P01: password authentication "
      "failed for user "
      "\"u\"\nLOCATION:  auth_failed, auth.c:326\n");
  CHECK(refused.sqlstate == "28P01");
  CHECK(refused.words == "password authentication failed for user \"u\"");
  CHECK(parse_refusal("FATALE:  3D000: die Datenbank »d« existiert nicht").sqlstate == "3D000");
}

TEST_CASE("a message without an SQLSTATE is given whole") {
  for (const char* words : {"connection to server at \"h\" failed: Connection refused",
                            "FATAL:  sorry: too many", "FATAL:  28P0", ""}) {
    CHECK(parse_refusal(words).sqlstate == "");
    CHECK(parse_refusal(words).words == one_line(words));
  }
}

}  // namespace pg_connection_string_test
