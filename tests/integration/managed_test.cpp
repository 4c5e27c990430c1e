// Who runs `migrate` where nobody is a superuser, as on a managed PostgreSQL: each command works, or names
// the statement that an administrator has to run.
#include <doctest/doctest.h>

#include <algorithm>

#include "postgres_node.hpp"

namespace outboxd::test::managed_test {
namespace {

constexpr auto make_roles =
    "CREATE ROLE outbox_writer NOLOGIN; CREATE ROLE outbox_relay NOLOGIN; CREATE ROLE outbox_operator "
    "NOLOGIN;";

// A server of the test's own: the roles of the outbox belong to the whole of it, and it begins without them.
struct managed {
  postgres_node server;
  database admin = server.connect();

  std::string url(const std::string& user, const std::string& of) const {
    return fmt::format("postgresql://{}@127.0.0.1:{}/{}", user, server.port(), of);
  }
  program_result run(const std::string& user, const std::string& of, const arguments& words) const {
    return run_outboxd(words, {{"OUTBOXD_DATABASE_URL", url(user, of)}});
  }
  void succeeds(const std::string& user, const std::string& of, const arguments& words,
                const std::string& saying) const {
    const auto done = run(user, of, words);
    CHECK_MESSAGE(done.exited(0), done.text());
    CHECK_MESSAGE(done.says(saying), done.text());
  }
};

// Each command, and what an outbox is used for.
void works(const managed& at, const std::string& user, const std::string& of) {
  CAPTURE(user);
  at.succeeds(user, of, {"migrate"}, "now at version");
  at.succeeds(user, of, {"migrate"}, "is up to date");
  at.succeeds(user, of, {"migrate", "--check"}, "is up to date");
  at.succeeds(user, of, {"migrate", "--shards", "4"}, "4 shards instead of 1");
  at.succeeds(user, of, {"migrate", "--no-notify"}, "writers do not notify from now on");
  at.succeeds(user, of, {"migrate", "--notify"}, "writers notify an idle leader from now on");
  at.succeeds(user, of, {"migrate", "--partition", "daily"}, "partitioned daily");
  at.succeeds(user, of, {"migrate", "--check"}, "is up to date");
  // As after an upgrade whose record is lost.
  database owner{at.url(user, of)};
  owner.exec("DELETE FROM outbox.migration");
  at.succeeds(user, of, {"migrate"}, "mended: the record of migrations");
  owner.exec(
      "CREATE TABLE mine (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregatetype text NOT NULL,"
      " aggregateid text NOT NULL, type text NOT NULL, payload jsonb)");
  at.succeeds(
      user, of,
      {"adopt", "--table", "mine", "--preset", "debezium", "--null-payload", "skip", "--unfit", "skip"},
      "mine");
  owner.exec("INSERT INTO mine (aggregatetype, aggregateid, type, payload) VALUES ('order', '1', 'e', '{}')");
  // The place of an event is kept whoever owns the function that keeps it.
  const auto seq = owner.value("SELECT seq FROM outbox.event");
  owner.exec("UPDATE outbox.event SET seq = seq + 1000");
  CHECK(owner.value("SELECT seq FROM outbox.event") == seq);
  at.succeeds(user, of, {"migrate", "--schema", "second", "--payload", "text", "--partition", "hourly"},
              "partitioned hourly");
  at.succeeds(user, of, {"migrate", "--schema", "third", "--no-notify", "--shards", "2"}, "2 shards");
}

}  // namespace

TEST_CASE("migrate needs no superuser: an owner with CREATEROLE, alone or by a group, and roles of others") {
  managed at;
  at.admin.exec(
      "CREATE ROLE shop_owner LOGIN CREATEROLE CREATEDB;"
      // As Amazon RDS, Azure and Cloud SQL have them: the rights are the user's, and a group that is no
      // superuser has some more.
      "CREATE ROLE rds_superuser NOLOGIN; GRANT pg_monitor, pg_signal_backend TO rds_superuser;"
      "CREATE ROLE master LOGIN CREATEROLE CREATEDB IN ROLE rds_superuser;"
      "CREATE ROLE plain LOGIN");
  database{at.url("shop_owner", "postgres")}.exec("CREATE DATABASE shop");
  works(at, "shop_owner", "shop");
  // The roles are there, and belong to another one.
  database{at.url("master", "postgres")}.exec("CREATE DATABASE cloud");
  works(at, "master", "cloud");
  at.admin.exec("CREATE DATABASE plain OWNER plain");
  works(at, "plain", "plain");
  CHECK(at.admin.number(
            "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'outbox\\_%' AND NOT rolcanlogin") == 3);
  // Whoever made the roles grants them, and a relay needs no more than one of them.
  database{at.url("shop_owner", "postgres")}.exec(
      "CREATE ROLE shop_relay LOGIN; GRANT outbox_relay TO shop_relay");
  const auto looked = at.run("shop_relay", "shop", {"check"});
  for (const std::string name : {"database.state", "database.privileges", "database.triggers"})
    CHECK_MESSAGE(std::any_of(looked.lines.begin(), looked.lines.end(),
                              [&](const std::string& line) {
                                return line.starts_with("ok ") && line.find(name + ":") != std::string::npos;
                              }),
                  looked.text());
}

TEST_CASE("without CREATEROLE and without roles migrate names the statements for an administrator") {
  managed at;
  at.admin.exec("CREATE ROLE plain LOGIN");
  at.admin.exec("CREATE DATABASE plain OWNER plain");
  const auto refused = at.run("plain", "plain", {"migrate"});
  CHECK(refused.exited(1));
  CHECK(refused.lines.size() == 1);
  CHECK_MESSAGE(
      refused.says("CREATE ROLE outbox_operator NOLOGIN; CREATE ROLE outbox_relay NOLOGIN; CREATE ROLE "
                   "outbox_writer NOLOGIN;"),
      refused.text());
  database plain{at.url("plain", "plain")};
  CHECK(plain.number("SELECT count(*) FROM pg_namespace WHERE nspname = 'outbox'") == 0);
  // Word for word what it says.
  const auto text = refused.text();
  at.admin.exec(text.substr(text.find("CREATE ROLE")));
  works(at, "plain", "plain");
}

TEST_CASE("migrate names the rights on the database or the schema that it lacks, and whose outbox it is") {
  managed at;
  at.admin.exec(make_roles);
  at.admin.exec("CREATE ROLE guest LOGIN; CREATE ROLE keeper LOGIN");
  at.admin.exec("CREATE DATABASE shop OWNER keeper");
  database shop{at.url("keeper", "shop")};
  const auto refused = [&](const arguments& words, const std::string& remedy) {
    const auto done = at.run("guest", "shop", words);
    CHECK_MESSAGE(done.exited(1), done.text());
    CHECK_MESSAGE(done.says(remedy), done.text());
  };
  const std::string database_right = "GRANT CREATE ON DATABASE shop TO guest;";
  refused({"migrate"}, database_right);
  shop.exec(database_right);
  at.succeeds("guest", "shop", {"migrate", "--schema", "first"}, "now at version");

  shop.exec("REVOKE CREATE ON DATABASE shop FROM guest; CREATE SCHEMA outbox");
  const std::string schema_right = "GRANT USAGE, CREATE ON SCHEMA \"outbox\" TO guest WITH GRANT OPTION;";
  refused({"migrate"}, schema_right);
  // Without the option the roles get nothing from this user, which PostgreSQL only warns of.
  shop.exec("GRANT USAGE, CREATE ON SCHEMA outbox TO guest");
  refused({"migrate"}, "lacks USAGE on outbox, and PostgreSQL refuses the remedy: guest may not grant it");
  shop.exec(schema_right);
  at.succeeds("guest", "shop", {"migrate"}, "now at version");

  // Another user who may look: nothing to do is no error, and a difference is the owner's to mend.
  at.admin.exec("CREATE ROLE other LOGIN IN ROLE outbox_operator");
  at.succeeds("other", "shop", {"migrate"}, "is up to date");
  database{at.url("guest", "shop")}.exec("GRANT EXECUTE ON FUNCTION outbox.replay TO PUBLIC");
  const auto theirs = at.run("other", "shop", {"migrate"});
  CHECK_MESSAGE(theirs.exited(1), theirs.text());
  CHECK_MESSAGE(theirs.says("the outbox belongs to guest: let it run: REVOKE EXECUTE ON FUNCTION"),
                theirs.text());
  at.succeeds("guest", "shop", {"migrate"}, "mended: PUBLIC may EXECUTE outbox.replay(");
}

TEST_CASE("what --print prints needs no superuser either") {
  managed at;
  at.admin.exec("CREATE ROLE shop_owner LOGIN CREATEROLE CREATEDB");
  database{at.url("shop_owner", "postgres")}.exec("CREATE DATABASE shop");
  const auto script = run_outboxd({"migrate", "--print"});
  REQUIRE(script.exited(0));
  database{at.url("shop_owner", "shop")}.exec(script.text());
  at.succeeds("shop_owner", "shop", {"migrate", "--check"}, "is up to date");
}

}  // namespace outboxd::test::managed_test
