// A secret from a file is read again at each reconnect: a changed password needs no restart.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "login.hpp"
#include "stage.hpp"
#include "support/servers.hpp"

namespace outboxd::test {
namespace {

class secret_file {
 public:
  explicit secret_file(const std::string& name) : path_{std::filesystem::temp_directory_path() / name} {}
  ~secret_file() { std::filesystem::remove(path_); }
  secret_file(const secret_file&) = delete;
  secret_file& operator=(const secret_file&) = delete;

  // Like everybody who replaces a secret: a new file, then a rename.
  void write(const std::string& text) const {
    const auto fresh = path_.string() + ".new";
    std::ofstream{fresh} << text << '\n';
    std::filesystem::permissions(fresh, std::filesystem::perms::owner_read);
    std::filesystem::rename(fresh, path_);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// A RabbitMQ user of the test's own.
class broker_user {
 public:
  broker_user(std::string name, const std::string& password) : name_{std::move(name)} {
    rabbitmqctl({"-q", "add_user", name_, password});
    rabbitmqctl({"-q", "set_permissions", name_, ".*", ".*", ".*"});
  }
  ~broker_user() {
    try {
      rabbitmqctl({"-q", "delete_user", name_});
    } catch (const std::exception&) {
    }
  }
  broker_user(const broker_user&) = delete;
  broker_user& operator=(const broker_user&) = delete;

  std::string url(const std::string& password) const {
    const auto admin = required_environment("OUTBOXD_AMQP_URL");
    return fmt::format("amqp://{}:{}{}", name_, password, admin.substr(admin.find('@')));
  }
  void change_password(const std::string& password) const {
    rabbitmqctl({"-q", "change_password", name_, password});
  }
  void close_connections() const { rabbitmqctl({"-q", "close_all_user_connections", name_, "test"}); }

 private:
  std::string name_;
};

void deliver_ten(const stage& on, std::int64_t so_far) {
  on.add_events(1, 10);
  on.await_published(so_far + 10);
}

}  // namespace

TEST_CASE("after a change of PostgreSQL's password the relay reconnects with the new one") {
  const stage on;
  const login user{"outbox_relay", "old"};
  const secret_file file{on.queue() + ".database"};
  file.write(user.url(on, "old"));
  relay running{on, {"--database-url-file", file.path()}};
  running.await_connected();
  deliver_ten(on, 0);

  user.change_password("new");
  const auto from = running.lines().size();
  on.connect().exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1",
                    {user.name()});
  running.wait_line("password authentication failed", patience, from);
  CHECK(running.running());  // it was connected before: it waits for the new password
  file.write(user.url(on, "new"));
  running.wait_line("connected to PostgreSQL", patience, from);
  deliver_ten(on, 10);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  running.stop();
}

TEST_CASE("after a change of RabbitMQ's password the relay reconnects with the new one") {
  const stage on;
  const broker_user user{on.queue(), "old"};
  const secret_file file{on.queue() + ".amqp"};
  file.write(user.url("old"));
  relay running{on, {"--amqp-url-file", file.path()}};
  running.await_connected();
  deliver_ten(on, 0);

  user.change_password("new");
  const auto from = running.lines().size();
  user.close_connections();
  running.wait_line("check the user, its password", patience, from);
  CHECK(running.running());
  file.write(user.url("new"));
  running.wait_line("connected to RabbitMQ", patience, from);
  deliver_ten(on, 10);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  running.stop();
}

}  // namespace outboxd::test
