// arena: set-up and clean-up.
#include "arena.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>

#include "support/broker_admin.hpp"
#include "support/eventually.hpp"
#include "support/program.hpp"
#include "support/servers.hpp"

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr auto server_time_limit = 300s;

std::string unique_name() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("chaos_{}_{}", std::chrono::duration_cast<std::chrono::milliseconds>(now).count(),
                     ::getpid());
}

std::uint16_t port_of(const std::string& url) {
  return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}

void try_to(const std::string& what, const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    fmt::print(stderr, "clean-up: {}: {}\n", what, error.what());
  }
}

/// Calls `open` again while it throws errors that mean that the server is temporarily unavailable.
template <class Open>
auto patiently(const char* what, Open open) {
  std::optional<decltype(open())> session;
  eventually(
      what,
      [&] {
        try {
          session.emplace(open());
        } catch (const database_error&) {
          return false;
        } catch (const broker_error&) {
          return false;
        }
        return true;
      },
      server_time_limit);
  return std::move(*session);
}

}  // namespace

arena::arena(std::filesystem::path outboxd, std::filesystem::path logs, queue_type type, int shards,
             bool partitioned)
    : outboxd_{std::move(outboxd)},
      logs_{std::filesystem::absolute(std::move(logs))},
      shards_{shards},
      partitioned_{partitioned},
      name_{unique_name()},
      database_password_{fmt::format("{}-database", canary)},
      broker_password_{fmt::format("{}-broker", canary)} {
  std::filesystem::create_directories(logs_);
  // Removes what a killed earlier run may have left.
  connect().exec("ALTER SYSTEM RESET default_transaction_read_only");
  connect().exec("ALTER SYSTEM RESET synchronous_standby_names");
  connect().exec("SELECT pg_reload_conf()");
  std::vector<std::string> words{"migrate", "--shards", std::to_string(shards)};
  if (partitioned) words.insert(words.end(), {"--partition", "daily"});
  const auto done = run_program({.program = outboxd_,
                                 .arguments = words,
                                 .environment = {{"OUTBOXD_DATABASE_URL", database_.url()}},
                                 .log_file = {}});
  if (!done.exited(0)) throw std::runtime_error{"migrate: " + done.text()};
  // Each relay that takes the lead also starts the next partition. Their number is limited, as with daily
  // partitions.
  if (partitioned)
    connect().exec(
        "CREATE FUNCTION make_over() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN NEW.began_at := NEW.began_at - interval ''2 d''; RETURN NEW; END';"
        "CREATE TRIGGER make_over BEFORE INSERT OR UPDATE ON outbox.event_partition"
        " FOR EACH ROW WHEN (NEW.number < 24) EXECUTE FUNCTION make_over();"
        "UPDATE outbox.event_partition SET began_at = began_at");
  connect().exec(
      fmt::format("CREATE ROLE {} LOGIN PASSWORD '{}' IN ROLE outbox_relay", name_, database_password_));
  add_vhost(name_);
  test::set_permissions("outboxd", {}, name_);
  add_user(name_, broker_password_);
  set_permissions(true);
  auto session = connect_broker();
  session.declare_exchange(exchange_);
  // Set from the beginning, because RabbitMQ would drop queued messages at the moment when a policy first
  // sets the queue's length limit.
  session.declare_queue(queue_, type, {{"x-overflow", "reject-publish"}});
  session.bind(queue_, exchange_, "chaos.#");
  session.declare_exchange(graveyard_);  // with the same arguments as a relay
  session.declare_queue(graveyard_);
  session.bind(graveyard_, graveyard_, "#");
}

arena::~arena() {
  try_to("healing", [this] { heal(); });
  try_to("vhost", [this] { delete_vhost(name_); });
  try_to("user", [this] { delete_user(name_); });
  try_to("role", [this] {
    auto session = connect();
    session.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", {name_});
    session.exec(fmt::format("DROP OWNED BY {0}; DROP ROLE {0}", name_));
  });
}

std::string arena::broker_url() const {
  return required_environment("OUTBOXD_AMQP_URL") + "/" + name_;
}

std::uint16_t arena::database_port() const {
  const auto url = required_environment("OUTBOXD_DATABASE_URL");
  return port_of(url.substr(0, url.rfind('/')));
}

std::uint16_t arena::broker_port() const {
  return port_of(required_environment("OUTBOXD_AMQP_URL"));
}

database arena::connect(const std::string& application) const {
  return patiently("PostgreSQL takes connections",
                   [&] { return database{database_.url() + "?application_name=" + application}; });
}

broker arena::connect_broker() const {
  return patiently("RabbitMQ takes connections", [this] { return broker{broker_url()}; });
}

std::string arena::relay_database_url(std::uint16_t port, const std::string& application) const {
  const std::lock_guard lock{mutex_};
  return fmt::format("postgresql://{}:{}@127.0.0.1:{}/{}?application_name={}", name_, database_password_,
                     port, database_.name(), application);
}

std::string arena::relay_broker_url(std::uint16_t port) const {
  const std::lock_guard lock{mutex_};
  return fmt::format("amqp://{}:{}@127.0.0.1:{}/{}", name_, broker_password_, port, name_);
}

void arena::change_database_password() {
  std::string fresh;
  {
    const std::lock_guard lock{mutex_};
    fresh = fmt::format("{}-database-{}", canary, ++changes_);
  }
  connect().exec(
      fmt::format("SET default_transaction_read_only = off; ALTER ROLE {} PASSWORD '{}'", name_, fresh));
  const std::lock_guard lock{mutex_};
  database_password_ = fresh;
}

void arena::change_broker_password() {
  std::string fresh;
  {
    const std::lock_guard lock{mutex_};
    fresh = fmt::format("{}-broker-{}", canary, ++changes_);
  }
  change_password(name_, fresh);
  const std::lock_guard lock{mutex_};
  broker_password_ = fresh;
}

void arena::note_unordered(std::int64_t low, std::int64_t high) {
  const std::lock_guard lock{mutex_};
  unordered_.emplace_back(low, high);
}

std::vector<std::pair<std::int64_t, std::int64_t>> arena::unordered() const {
  const std::lock_guard lock{mutex_};
  return unordered_;
}

void arena::note_changed(const std::string& id) {
  const std::lock_guard lock{mutex_};
  changed_.insert(id);
}

std::unordered_set<std::string> arena::changed() const {
  const std::lock_guard lock{mutex_};
  return changed_;
}

void arena::declare_exchange() const {
  connect_broker().declare_exchange(exchange_);
}

void arena::bind() const {
  connect_broker().bind(queue_, exchange_, "chaos.#");
}

void arena::unbind() const {
  connect_broker().unbind(queue_, exchange_, "chaos.#");
}

void arena::set_permissions(bool all) const {
  const std::string what = all ? ".*" : "^$";
  test::set_permissions(name_, {.configure = what, .write = what, .read = what}, name_);
}

// The function that the default of tx calls. Replacing it takes effect with the next transaction and takes no
// lock on the table.
void arena::set_doorbell(bool rings) const {
  constexpr auto rung = "pg_catalog.pg_notify(";
  constexpr auto muffled = "pg_catalog.concat(";
  auto session = connect();
  session.exec("SET default_transaction_read_only = off");
  session.exec(session.value("SELECT replace(pg_get_functiondef('outbox.ring'::regproc), $1, $2)",
                             {rings ? muffled : rung, rings ? rung : muffled}));
}

void arena::heal() {
  if (broker_pid() == 0) services({"start", "rabbitmq"});
  services({"start", "postgres"});
  auto session = connect();
  session.exec("SET default_transaction_read_only = off");
  session.exec("ALTER SYSTEM RESET default_transaction_read_only");
  session.exec("ALTER SYSTEM RESET synchronous_standby_names");
  session.exec("SELECT pg_reload_conf()");
  if (session.value("SELECT to_regclass('outbox.event') IS NOT NULL") == "t") set_doorbell(true);
  // A node whose application was stopped does not listen; start_app has no effect if it is running.
  start_broker_app();
  set_memory_watermark("0.4");
  set_permissions(true);
  declare_exchange();
  bind();
  try {
    clear_policy("full", name_);
  } catch (const std::runtime_error&) {
    // there was none
  }
}

void write_secret(const std::filesystem::path& file, const std::string& text) {
  const auto fresh = file.string() + ".new";
  {
    std::ofstream out{fresh};
    out << text << '\n';
  }
  std::filesystem::permissions(fresh,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::rename(fresh, file);
}

}  // namespace outboxd::chaos
