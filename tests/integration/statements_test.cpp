// What single statements of the relay bring and write where no run of the whole program would tell.
#include <doctest/doctest.h>

#include <regex>

#include "stage.hpp"
#include "store/event_columns.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::test::statements_test {
namespace {

const auto schema = *pg::schema_name::parse("outbox");

/// An outbox that no relay reads, and a session with the statements of one.
class table {
 public:
  table() {
    for (const auto& one : store::relay_statements(schema, payload_type::jsonb, store::after_publish::keep))
      session.exec(fmt::format("PREPARE {} AS {}", one.name, one.sql));
  }

  /// Inserts an event of aggregate 1 and makes it what `columns` says; returns its seq.
  std::string add(const std::string& columns = {}, const std::string& type = "t") {
    auto seq = session.value(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
        " VALUES ('order', '1', $1, '{}') RETURNING seq",
        {type});
    if (!columns.empty())
      session.exec(fmt::format("UPDATE outbox.event SET {} WHERE seq = {}", columns, seq));
    return seq;
  }

  /// The seqs of the events that a statement brings, and before them what it tells beside them.
  std::vector<std::string> bring(std::string_view statement, const std::string& parameters) {
    std::vector<std::string> out;
    for (const auto& row : session.exec(fmt::format("EXECUTE {}({})", statement, parameters)))
      if (row.at(static_cast<std::size_t>(store::event_column::id)))
        out.push_back(*row.at(static_cast<std::size_t>(store::event_column::seq)));
    return out;
  }

  std::string of(const std::string& column, const std::string& seq) {
    return session.value(fmt::format("SELECT {} FROM outbox.event AS e WHERE seq = {}", column, seq));
  }

  /// An array of a column of all events, in seq order, as a literal.
  std::string all(const std::string& column) {
    return "'" +
           session.value(fmt::format("SELECT array_agg({} ORDER BY seq)::text FROM outbox.event", column)) +
           "'";
  }

  const stage on;
  database session = on.connect();
};

constexpr const char* parked = "status = 'waiting', exception = 'parked'";
constexpr const char* backs_off =
    "status = 'waiting', exception = 'backing_off', available_at = now() + interval '1 hour'";
constexpr const char* published = "status = 'published', exception = NULL, published_at = now()";
constexpr const char* dead = "status = 'dead', exception = 'dead'";

using seqs = std::vector<std::string>;

}  // namespace

TEST_CASE("a read brings what is pending, and nothing that is finished or waits") {
  table it;
  const auto pending = it.add();
  for (const char* other : {parked, backs_off, published, dead}) it.add(other);
  const auto tx = it.of("tx", pending);
  // Above the position, and below it: in progress then, and begun later.
  CHECK(it.bring(store::statement::read,
                 "1000, 0, 0, 0, '{}', '9000000000', '9000000000', 20000, 1500, false, '{}'") ==
        seqs{pending});
  CHECK(it.bring(store::statement::read,
                 fmt::format("1000, 0, 0, 20000, {}, '9000000000', '9000000000', 40000, 1500, false, '{{}}'",
                             it.all("tx"))) == seqs{pending});
  CHECK(it.bring(store::statement::read,
                 fmt::format("1000, 0, 0, 20000, '{{}}', '{}', '9000000000', 40000, 1500, false, '{{}}'",
                             tx)) == seqs{pending});
}

TEST_CASE("a mark by key says of what somebody has given up meanwhile that it is out") {
  table it;
  const auto pending = it.add();
  const auto writers = it.all("xmin");
  const auto given_up = it.add(dead);
  const auto both =
      "'{" + writers.substr(2, writers.size() - 4) + ",3}'";  // the second one was written since
  it.session.exec(fmt::format("EXECUTE mark_by_key({}, {}, {}, {}, '{{\"\",\"\"}}')", it.all("id"),
                              it.all("seq"), it.all("tx"), both));
  CHECK(it.of("status || coalesce(last_error_code, '')", pending) == "published");
  CHECK(it.of("status || coalesce(last_error_code, '')", given_up) == "publishedchanged_after_send");
}

TEST_CASE(
    "a read and a walk pass over who was left behind, and what came late of it is brought all the same") {
  table it;
  const auto first = it.add();
  const auto second = it.add();
  const auto hash = it.of(std::string(store::aggregate_hash), first);
  const auto tx = it.of("tx", second);
  CHECK(it.bring(store::statement::read,
                 fmt::format(
                     "1000, 0, 0, 0, '{{}}', '9000000000', '9000000000', 20000, 1500, false, '{{{}}}'", hash))
            .empty());
  CHECK(it.bring(store::statement::read,
                 fmt::format("1000, 0, 0, {}, '{{}}', '{}', '9000000000', 20000, 1500, false, '{{{}}}'",
                             second, tx, hash)) == seqs{second});
  const auto walked = it.session.exec(fmt::format("EXECUTE walk(0, 0, 0, 0, '{{{}}}')", hash));
  CHECK(walked.at(0).at(0).value() == second);
}

TEST_CASE("of who was left behind the first events come, and how far that is") {
  table it;
  const auto first = it.add();
  const auto second = it.add();
  it.add(published);
  const auto fourth = it.add();
  const auto hash = it.of(std::string(store::aggregate_hash), first);
  const auto looked_to = [&](const std::string& after, const char* seqs, const char* events) {
    return it.session
        .exec(fmt::format("EXECUTE laggards(1000, 0, 0, '{{{}}}', '{{{}}}', {}, {})", hash, after, seqs,
                          events))
        .at(0)
        .at(static_cast<std::size_t>(store::event_column::head))
        .value();
  };
  const auto asked = [&](const char* events) {
    return fmt::format("1000, 0, 0, '{{{}}}', '{{{}}}', 1000, {}", hash, first, events);
  };
  CHECK(it.bring(store::statement::laggards, asked("1")) == seqs{second});
  CHECK(it.bring(store::statement::laggards, asked("9")) == seqs{second, fourth});
  CHECK(looked_to(first, "1000", "1").find("\"looked_to\" : " + second) != std::string::npos);
  CHECK(looked_to(first, "1000", "9").find("\"looked_to\" : null") != std::string::npos);
  // The next row is far away: what is between is passed at once.
  it.session.exec("UPDATE outbox.event SET status = 'published', published_at = now()");
  CHECK(looked_to("-1000000", "10", "9").find(fmt::format("\"looked_to\" : {}", std::stoll(first) - 1)) !=
        std::string::npos);
}

TEST_CASE("parked events are released when none of their aggregate backs off any more") {
  table it;
  const auto head = it.add(backs_off);
  const auto second = it.add(parked);
  const auto third = it.add(parked);
  const auto asked = fmt::format(
      "1000, 0, 0, '{{{}}}', 500",
      it.of(R"(hashtextextended(aggregate_id COLLATE "C", hashtextextended(aggregate_type COLLATE "C", 0)))",
            head));
  CHECK(it.bring(store::statement::released, asked).empty());
  it.session.exec(fmt::format("UPDATE outbox.event SET {} WHERE seq = {}", published, head));
  CHECK(it.bring(store::statement::released, asked) == seqs{second, third});
}

TEST_CASE("what a pause has held back comes when neither its event type nor its aggregate type is paused") {
  table it;
  const std::string held =
      "status = 'waiting', exception = 'backing_off', available_at = 'infinity', last_error_code = 'paused'";
  const auto mail = it.add(held, "mail");
  const auto bill = it.add(held, "bill");
  it.add(
      "status = 'waiting', exception = 'backing_off', available_at = 'infinity', last_error_code = 'nacked'");
  const auto resumed = [&](const char* event_types, const char* aggregate_types) {
    return it.bring(store::statement::resumed,
                    fmt::format("1000, 0, 0, -1, 100, '{}', '{}'", event_types, aggregate_types));
  };
  CHECK(resumed("{}", "{}") == seqs{mail, bill});
  CHECK(resumed("{mail}", "{}") == seqs{bill});
  CHECK(resumed("{}", "{order}").empty());
  CHECK(resumed("{}", "{invoice}") == seqs{mail, bill});
}

TEST_CASE("another default than the one that rings for this shard is no bell") {
  table it;
  constexpr std::size_t rings = 5;
  const auto rung = [&] { return it.session.exec("EXECUTE load(0)").at(0).at(rings); };
  CHECK(rung() == "t");
  const auto bell = it.session.value(
      "SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef AS d JOIN pg_attribute AS a"
      " ON a.attrelid = d.adrelid AND a.attnum = d.adnum"
      " WHERE d.adrelid = 'outbox.event'::regclass AND a.attname = 'tx'");
  for (const auto& how : {std::string("SET DEFAULT pg_current_xact_id()"), std::string("DROP DEFAULT"),
                          "SET DEFAULT " + std::regex_replace(bell, std::regex(", 64"), ", 65")}) {
    CAPTURE(how);
    it.session.exec("ALTER TABLE outbox.event ALTER tx " + how);
    CHECK(rung() == "f");
  }
  it.session.exec("ALTER TABLE outbox.event ALTER tx SET DEFAULT " + bell);
  CHECK(rung() == "t");
}

TEST_CASE("a partition is looked through for what is unfinished, and for what is too young to go") {
  table it;
  it.add(published);
  it.add("status = 'published', exception = NULL, published_at = now() - interval '2 hours'");
  constexpr std::size_t to_stay = 2;
  const auto staying = [&](const char* age) {
    return it.session.exec(fmt::format("EXECUTE scan(0, 1000, {}, 100)", age)).at(0).at(to_stay);
  };
  CHECK(staying("3600000") == "1");
  CHECK(staying("10000000") == "2");
  CHECK(staying("-1") == "2");
  it.add();
  it.add(dead);
  CHECK(staying("3600000") == "3");
}

}  // namespace outboxd::test::statements_test
