// docs/first-session.md, and the lines that docker compose ends with: what a reader pastes ends with the
// first message.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "management_plugin.hpp"
#include "stage.hpp"
#include "support/broker_admin.hpp"
#include "support/free_port.hpp"

namespace outboxd::test::first_session_test {
namespace {

std::vector<std::string> shell_blocks(const std::string& file) {
  std::ifstream in{file};
  std::vector<std::string> out;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "```sh") {
      inside = true;
      out.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      out.back() += line + "\n";
    }
  }
  return out;
}

// The commands of docker-compose.yml's last words.
std::vector<std::string> lines_of_compose() {
  const auto root = std::filesystem::path(FIRST_SESSION).parent_path().parent_path();
  std::ifstream in{root / "deploy/compose/first-event.txt"};
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("curl ") || line.starts_with("docker ")) out.push_back(line + "\n");
  return out;
}

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  REQUIRE_MESSAGE(text.find(what) != std::string::npos, what);
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

// What the session leaves behind, with the names of the document; and the user that a new RabbitMQ has.
class traces {
 public:
  traces() {
    remove();
    add_user("guest", "guest");
    set_user_tags("guest", {"administrator"});
    set_permissions("guest");
  }
  ~traces() {
    try {
      remove();
    } catch (const std::exception&) {
    }
  }
  traces(const traces&) = delete;
  traces& operator=(const traces&) = delete;

 private:
  static void remove() {
    database server{required_environment("OUTBOXD_DATABASE_URL")};
    server.exec("DROP DATABASE IF EXISTS shop WITH (FORCE)");
    for (const char* user : {"shop_app", "shop_relay"})
      server.exec(fmt::format("DROP ROLE IF EXISTS {}", user));
    for (const char* queue : {"invoices", "orders"}) broker{}.delete_queue(queue);
    for (const char* user : {"shop_relay", "guest"}) {
      try {
        delete_user(user);
      } catch (const std::exception&) {  // it is not there
      }
    }
  }
};

// The programs and the administrator of the tests' servers, where a reader has those of his machine.
environment variables() {
  database server{required_environment("OUTBOXD_DATABASE_URL")};
  PGconn* const link = server.handle();
  const auto programs = std::filesystem::path(outboxd_binary()).parent_path().string();
  return {{"PATH", fmt::format("{}:{}/bin:{}", programs, required_environment("OUTBOXD_SERVICES_DIR"),
                               required_environment("PATH"))},
          {"PGHOST", PQhost(link)},
          {"PGPORT", PQport(link)},
          {"PGUSER", PQuser(link)},
          {"PGPASSWORD", PQpass(link)},
          {"OUTBOXD_HTTP_LISTEN", fmt::format("127.0.0.1:{}", free_port())}};
}

// A reader takes his time; who waits here sees the event itself.
constexpr auto until_ready = "until outboxd health --ready >/dev/null 2>&1; do sleep 0.1; done\n";
constexpr auto until_published =
    "until [ \"$(psql shop -Atc 'SELECT status FROM outbox.event')\" = published ]; do sleep 0.1; done\n";

}  // namespace

TEST_SUITE("alone") {
  TEST_CASE("each shell block of docs/first-session.md runs, and the last one shows the first message") {
    const traces around;
    const management_plugin plugin;
    const auto blocks = shell_blocks(FIRST_SESSION);
    REQUIRE(blocks.size() == 6);
    std::string session = "set -eu\ntrap 'kill $(jobs -p)' EXIT\n";
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      session += blocks[i];
      if (blocks[i].find("outboxd run &\n") != std::string::npos) session += until_ready;
      if (blocks[i].find("outbox.emit(") != std::string::npos) session += until_published;
    }
    session += "kill %1\nwait %1\ntrap - EXIT\n";
    // The servers of a reader listen on the usual ports.
    replace_all(session, "localhost:15672", fmt::format("127.0.0.1:{}", plugin.port()));
    replace_all(session, "relay-secret@localhost\n",
                fmt::format("relay-secret@localhost:{}\n", required_environment("OUTBOXD_TEST_AMQP_PORT")));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience / 2).count();
    // timeout ends what bash has started, too.
    const auto done = run_program({.program = "/usr/bin/timeout",
                                   .arguments = {std::to_string(seconds), "bash", "-c", session},
                                   .environment = variables(),
                                   .log_file = {}});
    CAPTURE(done.text());
    CHECK(done.exited(0));
    for (const char* said : {"connected to RabbitMQ", "connected to PostgreSQL", "leads shard 0 of 1",
                             R"("routing_key":"order.created")", R"("message_id":")", " published "})
      CHECK_MESSAGE(done.says(said), said);
  }

  TEST_CASE("the lines that docker compose ends with show a message, and an event that an edit repairs") {
    const traces around;
    const management_plugin plugin;
    const stage on;
    relay running{on};
    running.await_connected();
    const auto lines = lines_of_compose();
    REQUIRE(lines.size() == 4);
    const auto until = [](const std::string& event, const std::string& state) {
      return fmt::format(
          "until [ \"$(psql -Atc \"SELECT status FROM outbox.event WHERE event_type = '{}'\")\" = {} ]; do "
          "sleep 0.1; done\n",
          event, state);
    };
    // What runs in a container runs here: the words behind "docker compose exec -T postgres".
    std::string session = "set -eu\ndocker() { shift 4; \"$@\"; }\n" + lines[0] + lines[1] +
                          until("order.created", "published") + lines[2] + lines[3] +
                          until("invoice.created", "waiting") +
                          "outboxd events edit --event-type invoice.created --set-routing-key order.created "
                          "--reason 'no queue takes it'\n" +
                          until("invoice.created", "published");
    replace_all(session, "127.0.0.1:15672", fmt::format("127.0.0.1:{}", plugin.port()));
    replace_all(session, "-u outboxd:outboxd", "-u guest:guest");
    replace_all(session, "-U outboxd -d outbox_dev ", "");
    auto here = variables();
    here["PGDATABASE"] = on.database_name();
    here["OUTBOXD_DATABASE_URL"] = on.database_url();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience / 2).count();
    const auto done = run_program({.program = "/usr/bin/timeout",
                                   .arguments = {std::to_string(seconds), "bash", "-c", session},
                                   .environment = here,
                                   .log_file = {}});
    CAPTURE(done.text());
    CHECK(done.exited(0));
    for (const char* said : {R"("routing_key":"order.created")", R"("payload":"{\"total\": 19.90}")"})
      CHECK_MESSAGE(done.says(said), said);
    running.stop();
  }
}

}  // namespace outboxd::test::first_session_test
