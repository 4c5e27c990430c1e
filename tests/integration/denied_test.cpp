// Whatever right is taken away: what is said of it names what is missing, and the statement that it tells
// gives it back. The rights are those of sql/state/rights.sql.
#include <doctest/doctest.h>

#include <algorithm>

#include "clinic.hpp"
#include "operator_desk.hpp"
#include "privilege_matrix.hpp"
#include "running_console.hpp"
#include "store/rights.hpp"

namespace outboxd::test::denied_test {
namespace {

/// A row of rights.sql. `on`: what stands behind ON in GRANT and REVOKE.
struct right {
  std::string kind, name, what, columns, on;
  std::string privilege() const { return columns.empty() ? what : fmt::format("{} ({})", what, columns); }
};

std::vector<right> rights_of(database& admin, std::string_view role) {
  const auto sql = fmt::format(
      "SELECT r.kind, r.name, r.what, coalesce(array_to_string(r.columns, ', '), ''), CASE r.kind"
      " WHEN 'FUNCTION' THEN (SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_proc AS p"
      " WHERE p.pronamespace = 'outbox'::regnamespace AND p.proname = r.name)"
      " WHEN 'TABLE' THEN 'outbox.' || r.name ELSE 'outbox' END"
      " FROM ({}) AS r (role, kind, name, what, columns) WHERE r.role = '{}'",
      store::state_text("rights"), role);
  std::vector<right> out;
  for (const auto& row : admin.exec(sql))
    out.push_back({row[0].value(), row[1].value(), row[2].value(), row[3].value(), row[4].value()});
  REQUIRE(out.size() > 5);
  return out;
}

void revoke(database& admin, const right& what, std::string_view role) {
  admin.exec(fmt::format("REVOKE {} ON {} {} FROM {}", what.privilege(), what.kind, what.on, role));
}

/// Statements that need this right and no other one of that kind.
std::vector<std::string> touches_of(const right& what) {
  if (what.kind == "SCHEMA") return {"SELECT count(*) FROM outbox.event"};
  if (what.kind == "FUNCTION") {
    std::vector<std::string> out;
    for (const action& one : functions)
      if (one.name == what.name)
        out.push_back(fmt::format(fmt::runtime(one.sql), fmt::arg("dead", "gen_random_uuid()"),
                                  fmt::arg("published", "gen_random_uuid()")));
    return out;
  }
  if (what.what == "DELETE") return {fmt::format("DELETE FROM {} WHERE false", what.on)};
  if (what.what == "UPDATE")
    return {fmt::format("UPDATE {} SET {} = DEFAULT WHERE false", what.on,
                        what.columns.empty() ? "seq" : what.columns.substr(0, what.columns.find(',')))};
  return {fmt::format("SELECT count({}) FROM {}", what.columns.empty() ? "*" : "seq", what.on)};
}

/// PostgreSQL's words if it refuses the statement for lack of a right, else empty. Nothing stays of it.
std::string denial(database& session, const std::string& sql) {
  std::string out;
  session.exec("BEGIN");
  try {
    session.exec(sql);
  } catch (const database_error& error) {
    if (error.sqlstate == "42501") out = error.what();
  }
  session.exec("ROLLBACK");
  return out;
}

/// What is told to be done: from its first word to the end, or to where something else is said.
std::string remedy_in(const std::string& text, std::string_view verb = "GRANT ") {
  const auto at = text.find(verb);
  if (at == std::string::npos) return {};
  return text.substr(at, std::min(text.find_first_of(";\n\"", at), text.size()) - at);
}

/// The remedy of the first thing that `check` finds wrong, but for the state, which only the owner can mend.
std::string remedy_of(const program_result& checked) {
  for (std::size_t i = 0; i + 1 < checked.lines.size(); ++i)
    for (const char* name : {" database.login: ", " database.schema: ", " database.privileges: "})
      if ((checked.lines[i].starts_with("failure") || checked.lines[i].starts_with("warning")) &&
          checked.lines[i].find(name) != std::string::npos)
        return checked.lines[i + 1];
  return {};
}

/// So that a relay does all that it can do.
const arguments with_retention{"--retention-processed", "1d", "--retention-published", "1d"};

void divide(const stage& on) {
  REQUIRE(run_outboxd({"migrate", "--partition", "daily"}, on.variables()).exited(0));
}

}  // namespace

TEST_CASE("denied: PostgreSQL's refusal of each right of a role is told with the grant that gives it") {
  const stage on;
  auto admin = on.connect();
  for (const std::string_view role : {store::relay_role, store::operator_role}) {
    const login user{std::string(role)};
    database session{user.url(on)};
    for (const right& one : rights_of(admin, role)) {
      const auto touches = touches_of(one);
      CAPTURE(role);
      CAPTURE(one.name);
      REQUIRE_FALSE(touches.empty());
      for (const auto& touch : touches) {
        CAPTURE(touch);
        revoke(admin, one, role);
        auto refusal = denial(session, touch);
        CHECK_FALSE(refusal.empty());
        // A function that takes texts calls the one that takes arrays, which was revoked, too.
        for (int overloads = 0; overloads < 2 && !refusal.empty(); ++overloads) {
          const auto told =
              session.value(store::denial_query(*pg::schema_name::parse("outbox"), role, refusal));
          CHECK_MESSAGE(told.starts_with(fmt::format("user {} lacks {}", user.name(), one.what)), told);
          admin.exec(remedy_in(told));
          refusal = denial(session, touch);
        }
        CHECK_MESSAGE(refusal.empty(), refusal);
      }
    }
  }
}

TEST_CASE("denied: check names each right that a relay lacks, which names it itself or does without") {
  clinic at;
  divide(at.on);
  auto admin = at.on.connect();
  for (const right& one : rights_of(admin, store::relay_role)) {
    CAPTURE(one.name);
    CAPTURE(one.what);
    revoke(admin, one, store::relay_role);
    const auto checked = at.check(with_retention);
    CAPTURE(checked.text());
    CHECK(checked.exited(1));
    const auto mends = remedy_of(checked);
    CHECK(std::count(mends.begin(), mends.end(), ';') == 1);
    at.on.add_events(1);
    {
      relay running{at.on, with_retention, at.variables};
      const auto named = [&] { return running.count_lines(remedy_in(mends)) > 0; };
      eventually("the relay names what it lacks, or publishes",
                 [&] { return named() || at.on.count("pending") == 0; });
    }
    admin.exec(mends);
  }
  CHECK_MESSAGE(at.check(with_retention).exited(0), at.check(with_retention).text());
  const relay running{at.on, with_retention, at.variables};
  at.on.await_drained();
}

TEST_CASE("denied: migrate --check names each right that a writer lacks, and migrate gives it back") {
  const stage on;
  auto admin = on.connect();
  const login user{"outbox_writer"};
  database writer{user.url(on)};
  for (const right& one : rights_of(admin, "outbox_writer")) {
    CAPTURE(one.name);
    CAPTURE(one.what);
    revoke(admin, one, "outbox_writer");
    const auto said = run_outboxd({"migrate", "--check"}, on.variables());
    CHECK(said.exited(1));
    CHECK_MESSAGE(said.says("outbox_writer lacks " + one.what), said.text());
    REQUIRE(run_outboxd({"migrate"}, on.variables()).exited(0));
    CHECK(run_outboxd({"migrate", "--check"}, on.variables()).exited(0));
  }
  CHECK(denial(writer, "SELECT outbox.emit('order', '1', 'created', '{}')").empty());
}

TEST_CASE("denied: commands and the console tell an operator what to grant") {
  const stage on;
  auto admin = on.connect();
  const operator_desk desk{on};
  const auto mended = [&](const std::string& right, const std::function<std::string()>& ask) {
    CAPTURE(right);
    admin.exec(fmt::format("REVOKE {} FROM outbox_operator", right));
    const auto text = ask();
    const auto mends = remedy_in(text);
    CHECK_MESSAGE(mends.starts_with("GRANT "), text);
    admin.exec(mends);
    const auto again = ask();
    CHECK_MESSAGE(remedy_in(again).empty(), again);
  };
  const auto command = [&](const arguments& words) {
    return [&, words] { return run_outboxd(words, desk.variables()).text(); };
  };
  mended("SELECT ON outbox.event", command({"status"}));
  mended("USAGE ON SCHEMA outbox", command({"status"}));
  mended("EXECUTE ON FUNCTION outbox.pause(text[], text[], boolean, timestamptz, text, text[], text[])",
         command({"pause", "--aggregate-type", "order"}));
  mended("EXECUTE ON FUNCTION outbox.resume(text[], text[], boolean, text, text[], text[])",
         command({"resume", "--aggregate-type", "order"}));
  mended("SELECT ON outbox.audit", command({"trace", "--id", "6f1c1f1e-2f0c-4b1e-9d55-0a1b2c3d4e5f"}));
  const running_console console{desk};
  mended("SELECT ON outbox.audit", [&] { return console.get("/api/audit").body; });
}

TEST_CASE("denied: a user who is not a member, or does not inherit, is told so") {
  clinic at;
  auto admin = at.on.connect();
  const auto& user = at.user.name();
  const auto mended = [&](const std::string& harm, std::string_view verb) {
    admin.exec(harm);
    const auto said = run_outboxd({"run"}, at.variables);
    CHECK(said.exited(1));
    const auto mends = remedy_in(said.text(), verb);
    CHECK_MESSAGE(!mends.empty(), said.text());
    const auto checked = at.check();
    CHECK_MESSAGE(remedy_of(checked).find(mends + ";") != std::string::npos, checked.text());
    admin.exec(mends);
    CHECK(at.check().exited(0));
  };
  mended("REVOKE outbox_relay FROM " + user, "GRANT outbox_relay ");
  const bool by_grant = admin.number("SELECT current_setting('server_version_num')") >= 160'000;
  if (by_grant)
    mended(fmt::format("GRANT outbox_relay TO {} WITH INHERIT FALSE", user), "GRANT outbox_relay ");
  else
    mended(fmt::format("ALTER ROLE {} NOINHERIT", user), "ALTER ROLE ");
  mended(fmt::format("REVOKE CONNECT ON DATABASE {} FROM PUBLIC", at.on.database_name()), "GRANT CONNECT ");
  admin.exec(fmt::format("REVOKE ALL ON DATABASE {} FROM {}", at.on.database_name(), user));
}

}  // namespace outboxd::test::denied_test
