// Other programs' transactions between two reads cost a read nothing: it goes by the rows that there are.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "stage.hpp"
#include "store/event_columns.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::test::burnt_xids_test {
namespace {

// The statement of a relay that reads, from a position whose seq is higher than that of any event.
class reader {
 public:
  explicit reader(const stage& on) : session_{on.connect()} {
    for (const auto& one : store::relay_statements(*pg::schema_name::parse("outbox"), payload_type::jsonb,
                                                   store::after_publish::keep))
      if (one.name == store::statement::read) session_.exec(fmt::format("PREPARE read AS {}", one.sql));
  }

  // As if everything before this transaction were read.
  struct seen {
    std::int64_t upto = 0;
    std::int64_t xmax = 0;
    std::int64_t late = 0;
  };
  seen read_from(std::int64_t xid) {
    const auto rows = session_.exec(fmt::format(
        "EXECUTE read(1000, 0, 0, 1000000000, '{{}}', '{}', '{}', 1000020000, 1500, false, '{{}}')", xid,
        xid + 20'000));
    const auto head =
        nlohmann::json::parse(*rows.at(0).at(static_cast<std::size_t>(store::event_column::head)));
    const std::string snapshot = head.at("snapshot");
    return {std::stoll(head.at("upto").get<std::string>()),
            std::stoll(snapshot.substr(snapshot.find(':') + 1)), head.at("late")};
  }

 private:
  database session_;
};

std::int64_t next_xid(database& session) {
  return session.number("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint");
}

void burn(database& session, int transactions) {
  session.exec(
      fmt::format("DO $$ BEGIN FOR i IN 1..{} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$",
                  transactions));
}

}  // namespace

TEST_CASE("transactions without an event are passed at once, however many they are") {
  const stage on;
  auto session = on.connect();
  const auto before = next_xid(session);
  burn(session, 70'000);
  reader one{on};
  const auto got = one.read_from(before);
  CHECK(got.xmax >= before + 70'000);
  CHECK(got.upto == got.xmax);
  on.add_events(1);
  const auto found = one.read_from(before);
  CHECK(found.upto == found.xmax);
  CHECK(found.late == 1);
}

TEST_CASE("of transactions with events as many are looked at as have twenty thousand rows, and each once") {
  const stage on;
  auto session = on.connect();
  const auto before = next_xid(session);
  burn(session, 70'000);
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, tx)"
      " SELECT 'order', n, $1, '{}', (3 * n + $2::bigint)::text::xid8 FROM generate_series(0, 20999) AS n",
      {on.key(), std::to_string(before)});
  reader one{on};
  const auto first = one.read_from(before);
  CHECK(first.upto == before + 3 * 19'999 + 1);
  CHECK(first.late == 20'000);
  const auto rest = one.read_from(first.upto);
  CHECK(rest.upto == rest.xmax);
  CHECK(rest.late == 1'000);
}

}  // namespace outboxd::test::burnt_xids_test
