// adopt: the cost of an adopted table for a writer, compared with an INSERT into the outbox itself.
#include <fmt/format.h>

#include <array>
#include <map>

#include "parts/part.hpp"
#include "report/process_usage.hpp"
#include "stage/order_load.hpp"
#include "support/process.hpp"

namespace outboxd::bench {
namespace {

using clock = std::chrono::steady_clock;

enum class variant { outbox, removed, kept, deleted };
constexpr std::array variants{variant::outbox, variant::removed, variant::kept, variant::deleted};

const char* name_of(variant which) {
  switch (which) {
    case variant::outbox:
      return "into the outbox itself";
    case variant::removed:
      return "into an adopted table";
    case variant::kept:
      return "into an adopted table, --keep";
    case variant::deleted:
      return "into an adopted table, --keep, and deleted by the writer";
  }
  return "";
}

const char* table_of(variant which) {
  switch (which) {
    case variant::outbox:
      return "outbox.event";
    case variant::removed:
      return "removed_event";
    case variant::kept:
    case variant::deleted:
      return "kept_event";
  }
  return "";
}

struct rounds {
  std::vector<double> us, cpu_us;  // per transaction: duration, and CPU time of the session
};
using measured = std::map<variant, rounds>;

class adopt : public part {
 public:
  const char* name() const override { return "adopt"; }
  const char* help() const override {
    return "INSERTs into an adopted outbox table, beside those into the outbox itself";
  }
  void be_quick() override {
    transactions_ = 100;
    bulk_ = 500;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--transactions", transactions_, "of each run, with one event each")
        ->check(CLI::PositiveNumber);
    at.add_option("--bulk", bulk_, "rows of a single INSERT")->check(CLI::PositiveNumber);
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format(
        "One writer, no relay. {} transactions a run: BEGIN, an order, its event, COMMIT, in one round trip; "
        "and one "
        "INSERT of {} rows. The adopted tables have Debezium's columns. CPU is that of the writer's session.",
        transactions_, bulk_));
    stage where(on);
    create_orders(where);
    make_tables(on, where);
    measured single, many;
    for (int round = 0; round < rounds_; ++round) {
      for (std::size_t i = 0; i < variants.size(); ++i) {
        // The first run may benefit from an idle machine.
        const auto which = variants.at((i + static_cast<std::size_t>(round)) % variants.size());
        measure(where, transactions_, single_sql(where, which), single[which]);
        measure(where, 1, bulk_sql(where, which), many[which]);
      }
      out.note(fmt::format("round {} is through", round + 1));
    }
    tell(out, single, 1, "an order and its event", "us");
    tell(out, many, bulk_, "a row of a large INSERT", "us");
    out.section("bar");
    out.key("adopt_ratio", spread_of(ratios(single, variant::removed, &rounds::us)).median);
    out.key("adopt_keep_ratio", spread_of(ratios(single, variant::kept, &rounds::us)).median);
  }

 private:
  static void make_tables(const setup& on, const stage& where) {
    using namespace std::chrono_literals;
    for (const auto* table : {"removed_event", "kept_event"}) {
      where.connect().exec(
          fmt::format("CREATE TABLE {} (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregatetype "
                      "varchar(255) NOT NULL,"
                      " aggregateid varchar(255) NOT NULL, type varchar(255) NOT NULL, payload jsonb)",
                      table));
      std::vector<std::string> words{"adopt",          "--table", table,     "--preset", "debezium",
                                     "--null-payload", "refuse",  "--unfit", "refuse"};
      if (table == std::string("kept_event")) words.emplace_back("--keep");
      test::process adopting({.program = on.program("outboxd"),
                              .arguments = words,
                              .environment = {{"OUTBOXD_DATABASE_URL", where.url()}},
                              .log_file = {}});
      if (adopting.wait(60s) != test::exit_status{.code = 0, .signal = {}})
        throw std::runtime_error("outboxd adopt failed: " + adopting.tail());
    }
  }

  static std::string insert(const stage& where, variant which, const std::string& id,
                            const std::string& rows) {
    const std::string columns = which == variant::outbox
                                    ? "id, aggregate_type, aggregate_id, event_type, payload"
                                    : "id, aggregatetype, aggregateid, type, payload";
    return fmt::format(
        "INSERT INTO {} ({}) SELECT {}, 'order', n, '{}',"
        " '{{\"customer\": 42, \"total\": 19.90, \"text\": \"a few words about what was ordered\"}}' FROM {} "
        "AS n",
        table_of(which), columns, id, where.event_type(), rows);
  }
  static std::string single_sql(const stage& where, variant which) {
    return "BEGIN; INSERT INTO orders (customer, total) VALUES (42, 1990); " +
           insert(where, which, "CAST(md5(n) AS uuid)", "CAST(currval('orders_id_seq') AS text)") +
           (which == variant::deleted ? "; DELETE FROM kept_event WHERE id = "
                                        "CAST(md5(CAST(currval('orders_id_seq') AS text)) AS uuid)"
                                      : "") +
           "; COMMIT";
  }
  std::string bulk_sql(const stage& where, variant which) const {
    return "BEGIN; " +
           insert(where, which, "gen_random_uuid()",
                  fmt::format("(SELECT CAST(n AS text) FROM generate_series(1, {}) AS n)", bulk_)) +
           (which == variant::deleted ? "; DELETE FROM kept_event" : "") + "; COMMIT";
  }

  static void measure(stage& where, int times, const std::string& sql, rounds& into) {
    auto session = where.connect();
    session.exec("TRUNCATE orders, outbox.event, removed_event, kept_event");
    where.come_to_rest(session);
    session.exec(sql);  // warms up plans and caches
    const auto before = usage_of(session.backend_pid());
    const auto began = clock::now();
    for (int i = 0; i < times; ++i) session.exec(sql);
    into.us.push_back(std::chrono::duration<double, std::micro>(clock::now() - began).count() / times);
    into.cpu_us.push_back((usage_of(session.backend_pid()).cpu_seconds - before.cpu_seconds) * 1e6 / times);
  }

  static std::vector<double> ratios(const measured& all, variant which, std::vector<double> rounds::*what) {
    std::vector<double> out;
    for (std::size_t i = 0; i < (all.at(which).*what).size(); ++i)
      out.push_back((all.at(which).*what)[i] / (all.at(variant::outbox).*what)[i]);
    return out;
  }

  static void tell(report& out, const measured& all, int rows, const std::string& of,
                   const std::string& unit) {
    const auto each = [&](std::vector<double> values) {
      for (auto& one : values) one /= rows;
      return values;
    };
    for (const auto which : variants) {
      out.section(fmt::format("{}: {}", of, name_of(which)));
      out.figure("time", each(all.at(which).us), unit);
      out.figure("CPU of the session", each(all.at(which).cpu_us), unit);
      if (which == variant::outbox) continue;
      out.figure("time / into the outbox itself", ratios(all, which, &rounds::us), "");
      out.figure("CPU / into the outbox itself", ratios(all, which, &rounds::cpu_us), "");
    }
  }

  int transactions_ = 3'000;
  int bulk_ = 20'000;
  int rounds_ = 8;
};

}  // namespace

std::unique_ptr<part> adopt_part() {
  return std::make_unique<adopt>();
}

}  // namespace outboxd::bench
