// postgres_node: initdb, pg_basebackup, postgres in the foreground.
#include "postgres_node.hpp"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace outboxd::test {
namespace {

constexpr auto superuser = "test_admin";

std::string program(const std::string& name) {
  return required_environment("OUTBOXD_TEST_PGBIN") + "/" + name;
}

void run_to_end(const std::string& name, const std::vector<std::string>& words) {
  const auto done = run_program(as_server_user(program(name), words), 2 * time_limit);
  REQUIRE_MESSAGE(done.exited(0), done.text());
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    std::ifstream status{entry.path() / "status"};
    for (std::string line; std::getline(status, line);)
      if (line == fmt::format("PPid:\t{}", parent)) out.push_back(std::stoi(entry.path().filename()));
  }
  return out;
}

}  // namespace

postgres_node::postgres_node(const std::vector<std::string>& settings) {
  run_to_end("initdb", {"-D", directory_.path() + "/data", "-U", superuser, "--auth=trust", "-E", "UTF8",
                        "--locale=C", "--no-sync", "--no-instructions"});
  start("ready to accept connections", settings);
}

postgres_node::postgres_node(const postgres_node& primary, int through_port) {
  const int port = through_port != 0 ? through_port : primary.port();
  const auto address = fmt::format("postgresql://{}@127.0.0.1:{}/postgres", superuser, port);
  run_to_end("pg_basebackup", {"-D", directory_.path() + "/data", "-d", address, "-R", "-X", "stream",
                               "--checkpoint=fast", "--no-sync"});
  // What -R has written may be of a newer libpq, whose options the server does not know.
  start("ready to accept read-only connections", {"primary_conninfo=" + address});
}

// Of a crash of the test's machine it need not survive anything. Its shared memory is in its directory: in
// /dev/shm a server that is killed leaves a megabyte.
void postgres_node::start(const std::string& ready, const std::vector<std::string>& more) {
  // Copied: the server's user may not be allowed to read the build directory.
  const auto library = directory_.path() + "/full_disk.so";
  std::filesystem::copy_file(FULL_DISK_LIBRARY, library);
  std::vector<std::string> settings{"listen_addresses=127.0.0.1",
                                    fmt::format("port={}", port_),
                                    "unix_socket_directories=" + directory_.path(),
                                    "fsync=off",
                                    "shared_buffers=16MB",
                                    "dynamic_shared_memory_type=mmap",
                                    "wal_receiver_status_interval=1s"};
  settings.insert(settings.end(), more.begin(), more.end());
  auto how = as_server_user(program("postgres"), {"-D", directory_.path() + "/data"});
  for (const std::string& one : settings) how.arguments.insert(how.arguments.end(), {"-c", one});
  how.environment.insert({{"LD_PRELOAD", library}, {"OUTBOXD_TEST_FULL_DISK", full_disk_flag()}});
  server_ = std::make_unique<process>(how);
  server_->wait_line(ready, time_limit);
}

std::string postgres_node::url(const std::string& name) const {
  return fmt::format("postgresql://{}@127.0.0.1:{}/{}", superuser, port_, name);
}

void postgres_node::fill_disk() const {
  std::ofstream{full_disk_flag()};
}

void postgres_node::clear_disk() const {
  std::filesystem::remove(full_disk_flag());
}

// The postmaster last, and without a chance to notice: a backend that finds it dead gives up waiting for the
// standby and commits, and for a moment others see what the standby does not have.
void postgres_node::kill() {
  server_->send(SIGSTOP);
  for (const auto pid : children_of(server_->pid())) ::kill(pid, SIGKILL);
  server_.reset();
}

void postgres_node::promote() const {
  CHECK(connect().value("SELECT pg_promote(true, 60)") == "t");
  eventually(
      "the new primary takes writes", [&] { return connect().value("SHOW transaction_read_only") == "off"; },
      time_limit);
}

std::string url_of(const std::vector<const postgres_node*>& nodes, const std::string& database) {
  std::vector<std::string> hosts;
  for (const auto* node : nodes) hosts.push_back(fmt::format("127.0.0.1:{}", node->port()));
  return fmt::format("postgresql://{}@{}/{}", superuser, fmt::join(hosts, ","), database);
}

}  // namespace outboxd::test
