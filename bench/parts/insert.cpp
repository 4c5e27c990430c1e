// insert: the cost of an INSERT into the outbox for its session, compared with a bare table.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <stdexcept>

#include "parts/part.hpp"
#include "stage/stage.hpp"

namespace outboxd::bench {
namespace {

// CPU time of a process in us, from the kernel's clock. Waiting time does not count, so the minimum of some
// rounds is reliable even on a busy machine.
double cpu_us_of(int process) {
  std::ifstream from(fmt::format("/proc/{}/schedstat", process));
  double nanoseconds = 0;
  if (!(from >> nanoseconds)) throw std::runtime_error("the server's processes are not to be seen in /proc");
  return nanoseconds / 1000;
}

class insert : public part {
 public:
  const char* name() const override { return "insert"; }
  const char* help() const override {
    return "CPU of a session that inserts events: outboxd's table, and the same one bare";
  }
  void be_quick() override {
    rounds_ = 2;
    rows_ = 500;
    many_ = 5'000;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--rounds", rounds_, "in turns")->check(CLI::PositiveNumber);
    at.add_option("--rows", rows_, "each in a transaction or a statement")->check(CLI::PositiveNumber);
    at.add_option("--many", many_, "in one statement")->check(CLI::PositiveNumber);
  }

  void run(const setup& on, report& out) override {
    if (!on.own_servers) {
      out.note("The CPU of a session is read from /proc: on our own server only.");
      return;
    }
    const stage where(on);
    auto session = where.connect();
    session.exec("SET synchronous_commit = off");
    make_bare(session);
    out.note(
        fmt::format("CPU of one session, us a row, least of {} rounds in turns; no relay. Bare: the same "
                    "table and indexes without event_refused, triggers, and the default of tx",
                    rounds_));
    const auto each = [](const std::string& statement, int times, bool commits) {
      return fmt::format("DO $$ BEGIN FOR i IN 1..{} LOOP {}; {} END LOOP; END $$", times, statement,
                         commits ? "COMMIT;" : "");
    };
    const std::string one = " VALUES ('order', '42', 'order.created', '{\"a\": 1}')";
    const auto transaction = compare(session, out, "one row a transaction", rows_,
                                     [&](const auto& into) { return each(into + one, rows_, true); });
    out.key("insert_cpu_us", transaction.ours - transaction.bare);
    compare(session, out, "one row a statement", rows_,
            [&](const auto& into) { return each(into + one, rows_, false); });
    const auto bulk = compare(session, out, "one statement of many rows", many_, [&](const auto& into) {
      return into + fmt::format(
                        " SELECT 'order', i % 1000, 'order.created', '{{\"a\": 1}}'"
                        " FROM generate_series(1, {}) AS i",
                        many_);
    });
    out.key("insert_bulk_ratio", bulk.ours / bulk.bare);
    out.figure("size of a row with its place in the indexes",
               {static_cast<double>(session.number("SELECT pg_total_relation_size('outbox.event')")) / many_},
               "bytes");
  }

 private:
  struct costs {
    double ours = std::numeric_limits<double>::max();
    double bare = ours;
  };

  static void make_bare(test::database& session) {
    session.exec("CREATE TABLE bare (LIKE outbox.event INCLUDING ALL EXCLUDING INDEXES)");
    session.exec("ALTER TABLE bare ALTER tx DROP DEFAULT, ALTER tx DROP NOT NULL, ADD PRIMARY KEY (id)");
    for (const auto& row : session.exec(
             "SELECT replace(pg_get_indexdef(indexrelid), 'ON outbox.event', 'ON bare') FROM pg_index"
             " WHERE indrelid = 'outbox.event'::regclass AND NOT indisprimary"
             " AND indexrelid <> 'outbox.event_refused'::regclass"))
      session.exec(row.at(0).value());
  }

  template <class Statement>
  costs compare(test::database& session, report& out, const std::string& title, int rows,
                Statement&& statement) const {
    costs least;
    for (int round = 0; round <= rounds_; ++round)  // the first one fills caches
      for (const auto& [table, into] :
           {std::pair{"outbox.event", &costs::ours}, std::pair{"bare", &costs::bare}}) {
        session.exec(fmt::format("TRUNCATE {}", table));
        const auto text = statement(
            fmt::format("INSERT INTO {} (aggregate_type, aggregate_id, event_type, payload)", table));
        const auto before = cpu_us_of(session.backend_pid());
        session.exec(text);
        const auto used = (cpu_us_of(session.backend_pid()) - before) / rows;
        if (round > 0) least.*into = std::min(least.*into, used);
      }
    out.section(title);
    out.figure("outboxd's table", {least.ours}, "us");
    out.figure("bare", {least.bare}, "us");
    return least;
  }

  int rounds_ = 15;
  int rows_ = 2'000;
  int many_ = 100'000;
};

}  // namespace

std::unique_ptr<part> insert_part() {
  return std::make_unique<insert>();
}

}  // namespace outboxd::bench
