// Something has run out: connections, disk, descriptors, or somebody who reads the log. It is said, nothing
// is lost, and no event pays for it.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "login.hpp"
#include "postgres_node.hpp"
#include "stage.hpp"

namespace outboxd::test::starved_test {
namespace {

void end_sessions(const stage& on) {
  on.connect().exec(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
      " AND application_name LIKE 'outboxd % on %'");
}

// All has come, and no event was refused for it.
void check_recovered(const stage& on) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.dead == 0);
  CHECK(on.connect().number("SELECT count(*) FROM outbox.event WHERE attempts > 0") == 0);
}

// The descriptors that a process may have; at its end as many as before.
class descriptor_limit {
 public:
  descriptor_limit(pid_t whose, rlim_t most) : whose_{whose} {
    REQUIRE(::prlimit(whose_, RLIMIT_NOFILE, nullptr, &before_) == 0);
    const rlimit now{most, before_.rlim_max};
    REQUIRE(::prlimit(whose_, RLIMIT_NOFILE, &now, nullptr) == 0);
  }
  ~descriptor_limit() { ::prlimit(whose_, RLIMIT_NOFILE, &before_, nullptr); }
  descriptor_limit(const descriptor_limit&) = delete;
  descriptor_limit& operator=(const descriptor_limit&) = delete;

 private:
  pid_t whose_;
  rlimit before_{};
};

// A pipe with a name; full, and nobody reads it until somebody does.
class stuck_pipe {
 public:
  stuck_pipe() {
    REQUIRE(::mkfifo(path_.c_str(), S_IRUSR | S_IWUSR) == 0);
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(descriptor_ >= 0);
    const std::string line(4096, '.');
    while (::write(descriptor_, line.data(), line.size()) > 0) {
    }
  }
  ~stuck_pipe() {
    ::close(descriptor_);
    std::filesystem::remove(path_);
  }
  stuck_pipe(const stuck_pipe&) = delete;
  stuck_pipe& operator=(const stuck_pipe&) = delete;

  const std::string& path() const { return path_; }
  std::string read() {
    std::string all;
    char chunk[4096];
    for (ssize_t size = 0; (size = ::read(descriptor_, chunk, sizeof chunk)) > 0;)
      all.append(chunk, static_cast<std::size_t>(size));
    return all;
  }

 private:
  std::string path_ = fmt::format("/tmp/outboxd-test-pipe-{}", ::getpid());
  int descriptor_ = -1;
};

}  // namespace

TEST_CASE("no connection left: it is said, waited for, and nothing is lost") {
  const stage on;
  const login user{"outbox_relay"};
  auto admin = on.connect();
  relay running{on, {}, {{"OUTBOXD_DATABASE_URL", user.url(on)}}};
  running.await_connected();
  admin.exec("ALTER ROLE " + user.name() + " CONNECTION LIMIT 0");
  const auto from = running.lines().size();
  end_sessions(on);
  running.wait_line("raise max_connections", time_limit, from);
  on.add_events(5, 20);
  CHECK(on.relay_sessions() == 0);
  admin.exec("ALTER ROLE " + user.name() + " CONNECTION LIMIT -1");
  running.wait_line("connected to PostgreSQL", time_limit, from);
  check_recovered(on);
  running.stop();
}

TEST_CASE("a connection for the lead and none for its lock: it says so, and polls") {
  const stage on;
  const login user{"outbox_relay"};
  auto admin = on.connect();
  admin.exec("ALTER ROLE " + user.name() + " CONNECTION LIMIT 1");
  relay running{on, {}, {{"OUTBOXD_DATABASE_URL", user.url(on)}}};
  running.wait_line("raise max_connections", time_limit);
  for (int i = 0; i < 3; ++i) {
    on.add_events(5, 20);
    on.await_drained();
  }
  admin.exec("ALTER ROLE " + user.name() + " CONNECTION LIMIT -1");
  on.await_asleep();
  check_recovered(on);
  running.stop();
}

TEST_CASE("a full disk of the server: what cannot be marked is published again when there is room") {
  const postgres_node server;
  const stage on{{.server_url = server.url()}};
  auto session = on.connect();
  on.add_events(1);
  const auto table = session.value("SELECT tableoid::regclass FROM outbox.event");  // or partition
  session.exec("DELETE FROM outbox.event; ALTER TABLE " + table + " SET (fillfactor = 100)");
  on.add_events(100, 50);  // the marks need more room than the last page has
  server.fill_disk();
  relay running{on};
  running.wait_line("make room on the disk of the server", time_limit);
  CHECK(on.count("pending") > 0);
  server.clear_disk();
  check_recovered(on);
  running.await_connected();
  running.stop();
}

TEST_CASE("no descriptor left: it is said, waited for, and nothing is lost") {
  const stage on;
  relay running{on};
  running.await_connected();
  const auto from = running.lines().size();
  {
    const descriptor_limit few{running.pid(), 4};
    end_sessions(on);
    running.wait_line("Too many open files", time_limit, from);
    on.add_events(5, 20);
  }
  running.wait_line("connected to PostgreSQL", time_limit, from);
  check_recovered(on);
  running.stop();
}

TEST_CASE("nobody reads the log: relaying goes on, and the lines that were lost are counted") {
  const stage on;
  stuck_pipe log;
  process running{{.program = "sh",
                   .arguments = {"-c", "exec \"$0\" run 2>\"$1\"", outboxd_binary(), log.path()},
                   .environment = on.variables(),
                   .log_file = {}}};
  on.add_events(5, 20);
  on.await_drained();
  std::string said = log.read();
  end_sessions(on);
  eventually(
      "the log goes on",
      [&] {
        said += log.read();
        return said.find("connected to PostgreSQL") != std::string::npos;
      },
      time_limit);
  CHECK_MESSAGE(said.find("log lines lost") != std::string::npos, said);
  check_recovered(on);
  running.send(SIGTERM);
  CHECK(running.wait(time_limit).code == 0);
}

TEST_CASE("timeouts that are set for the relay's user end no session of a relay that is well") {
  const stage on;
  const login user{"outbox_relay"};
  for (const char* timeout :
       {"idle_session_timeout", "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"})
    on.connect().exec(fmt::format("ALTER ROLE {} IN DATABASE {} SET {} = '100ms'", user.name(),
                                  on.database_name(), timeout));
  relay running{on, no_sweep, {{"OUTBOXD_DATABASE_URL", user.url(on)}}};
  on.await_asleep();
  auto session = on.connect();
  eventually(
      "all sessions are idle for longer than that",
      [&] {
        return session.number(
                   "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                   "application_name LIKE "
                   "'outboxd % on %' AND state = 'idle' AND state_change < clock_timestamp() - interval '1 "
                   "s'") == 3;
      },
      time_limit);
  const auto up = running.lines().size();  // to open a session may have taken longer than that
  on.add_events(1, 10);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
  const auto lines = running.lines();
  for (auto i = up; i < lines.size(); ++i)
    CHECK_MESSAGE(lines[i].find("trying again") == std::string::npos, lines[i]);
}

}  // namespace outboxd::test::starved_test
