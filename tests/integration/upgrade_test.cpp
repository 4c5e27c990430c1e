// An outbox of another version is migrated, and relays are replaced by those of it while events come;
// tools/check-upgrade names that version.
#include <doctest/doctest.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load.hpp"
#include "stage.hpp"

namespace outboxd::test::upgrade_test {
namespace {

enum class version { before, now };

// The program that the tests run, for as long as it lives.
class program_in_use {
 public:
  explicit program_in_use(version which) {
    if (const char* const set = std::getenv(name); set != nullptr) was_ = set;
    if (which == version::before) ::setenv(name, required_environment("OUTBOXD_TEST_BEFORE").c_str(), 1);
  }
  ~program_in_use() {
    if (was_)
      ::setenv(name, was_->c_str(), 1);
    else
      ::unsetenv(name);
  }
  program_in_use(const program_in_use&) = delete;
  program_in_use& operator=(const program_in_use&) = delete;

 private:
  static constexpr auto name = "OUTBOXD_TEST_BINARY";
  std::optional<std::string> was_;
};

void migrate(const stage& on, version which) {
  const program_in_use program{which};
  const auto done = run_outboxd({"migrate"}, on.variables());
  REQUIRE_MESSAGE(done.exited(0), done.text());
}

std::unique_ptr<relay> started(const stage& on, version which) {
  const program_in_use program{which};
  auto one = std::make_unique<relay>(on);
  one->await_connected();
  return one;
}

// The new one first, as an orchestrator does it.
void replace(const stage& on, std::unique_ptr<relay>& one, version by) {
  auto next = started(on, by);
  one->stop();
  one = std::move(next);
  on.await_published(on.count("published") + 300);
}

// Functions, triggers, constraints and indexes of the outbox, by their definitions.
std::vector<std::string> catalog_of(const stage& on) {
  std::vector<std::string> out;
  for (const auto& row : on.connect().exec(
           "WITH tables AS (SELECT oid FROM pg_class WHERE relnamespace = 'outbox'::regnamespace)"
           " SELECT pg_get_functiondef(oid) AS made FROM pg_proc WHERE pronamespace = 'outbox'::regnamespace"
           " UNION ALL SELECT pg_get_triggerdef(oid) || tgenabled::text FROM pg_trigger"
           "  WHERE tgrelid IN (SELECT oid FROM tables) AND NOT tgisinternal"
           " UNION ALL SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint"
           "  WHERE connamespace = 'outbox'::regnamespace"
           " UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index"
           "  WHERE indrelid IN (SELECT oid FROM tables)"))
    out.push_back(*row[0]);
  std::ranges::sort(out);
  return out;
}

}  // namespace

TEST_SUITE("upgrade") {
  TEST_CASE("an outbox that was made before is after migrate what a new one is") {
    const stage upgraded{{.migrated = false}};
    migrate(upgraded, version::before);
    migrate(upgraded, version::now);
    const stage made_now;
    const auto is = catalog_of(upgraded);
    const auto ought = catalog_of(made_now);
    std::vector<std::string> missing;
    std::vector<std::string> left;
    std::ranges::set_difference(ought, is, std::back_inserter(missing));
    std::ranges::set_difference(is, ought, std::back_inserter(left));
    CHECK_MESSAGE(missing.empty(), fmt::format("{}", fmt::join(missing, "; ")));
    CHECK_MESSAGE(left.empty(), fmt::format("{}", fmt::join(left, "; ")));
  }

  TEST_CASE("a rolling upgrade, and the way back, lose nothing and keep the order") {
    const stage on{{.migrated = false}};
    migrate(on, version::before);
    auto first = started(on, version::before);
    auto second = started(on, version::before);
    load writers{on, {.writers = 4}};
    on.await_published(300);

    migrate(on, version::now);
    on.await_published(on.count("published") + 300);  // the relays of before work on the new schema
    for (const version to : {version::now, version::before, version::now}) {
      replace(on, first, to);
      replace(on, second, to);
    }
    writers.stop();
    const auto report = on.check_all();
    CHECK_MESSAGE(report.exact(), report.words());
    MESSAGE(report.delivered, " events");
    first->stop();
    second->stop();
  }

  TEST_CASE("a relay that is killed is followed by one of the other version") {
    const stage on{{.migrated = false}};
    migrate(on, version::before);
    auto leads = started(on, version::before);
    migrate(on, version::now);
    load writers{on, {.writers = 4}};
    for (const version next : {version::now, version::before, version::now}) {
      on.await_published(on.count("published") + 300);
      auto other = started(on, next);
      leads->send(SIGKILL);
      leads = std::move(other);
    }
    on.await_published(on.count("published") + 300);
    writers.stop();
    const auto report = on.check_all();
    CHECK_MESSAGE(report.sound(), report.words());
    leads->stop();
  }
}

}  // namespace outboxd::test::upgrade_test
