// Bad input of the command line, the environment and the file: exit 2, one line that names it and what is
// allowed.
#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "stage.hpp"

namespace outboxd::test::command_line_test {
namespace {

constexpr auto canary = "canary-s3cret";

// A file that goes with the object.
class text_file {
 public:
  explicit text_file(const std::string& text)
      : path_{std::filesystem::temp_directory_path() / fmt::format("outboxd-{}-{}", ::getpid(), ++counter)} {
    std::ofstream{path_} << text;
    std::filesystem::permissions(path_,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  ~text_file() { std::filesystem::remove(path_); }
  text_file(const text_file&) = delete;
  text_file& operator=(const text_file&) = delete;
  std::string path() const { return path_.string(); }

 private:
  static inline int counter = 0;
  std::filesystem::path path_;
};

void refused(const arguments& words, const std::vector<std::string>& said,
             const environment& variables = {}) {
  const auto result = run_outboxd(words, variables);
  CAPTURE(result.text());
  CHECK(result.exited(2));
  CHECK(result.lines.size() == 1);
  for (const auto& part : said) CHECK_MESSAGE(result.says(part), "it does not say: ", part);
  CHECK_FALSE(result.says(canary));
}

void refused_file(const std::string& text, std::vector<std::string> said) {
  const text_file file{text};
  refused({"run", "--config", file.path()}, said);
}

}  // namespace

TEST_CASE("a wrong command or flag is refused and named") {
  refused({}, {"--help"});
  refused({"relay"}, {"relay", "--help"});
  refused({"run", "--no-such-flag"}, {"--no-such-flag"});
  refused({"run", "superfluous"}, {"argument 2 ('superfluous')", "not a flag"});
  refused({"dead", "list", "superfluous"}, {"argument 3 ('superfluous')", "not a flag"});
  refused({"run", "--relay-lanes", "2", "superfluous"}, {"argument 4 is not a flag"});
  refused({"-v"}, {"unknown flag '-v'"});
  refused({"run", "-v"}, {"unknown flag '-v'"});
  refused({"help", "nonsense"}, {"unknown command 'nonsense'"});
  refused({"help", "dead", "lsit"}, {"unknown command 'lsit'"});
  refused({"migrate", "--payload", "xml"}, {"--payload", "xml", "jsonb, json, text or bytea"});
  refused({"route"}, {"'route' needs --event-type", "outboxd help route"});
}

TEST_CASE("an empty value is a value, and not the same as none") {
  refused({"migrate", "--payload", ""}, {"--payload ''", "jsonb, json, text or bytea"});
  refused({"migrate", "--shards", ""}, {"--shards ''", "1, 2, 4"});
  refused({"migrate", "--partition", ""}, {"--partition ''", "daily or hourly"});
  refused({"migrate", "--check", "--payload", ""}, {"--payload ''"});
  refused({"adopt", "--table", "t", "--preset", ""}, {"--preset is empty", "debezium"});
  refused({"adopt", "--table", "t", "--where", ""}, {"--where is empty"});
}

TEST_CASE("a flag without its value is named, whatever follows it") {
  const auto words = "flag '--relay-lanes' needs a value";
  refused({"run", "--relay-lanes"}, {words});
  refused({"run", "--relay-lanes", "--relay-batch", "5"}, {words});
  refused({"run", "--relay-lanes", "--relay-batch=5"}, {words});
  refused({"run", "--relay-lanes", "--help"}, {words});
  refused({"--relay-lanes", "run"}, {"no command given: 'run' is the value of '--relay-lanes'"});
  refused({"dead", "list", "--limit", "--json"}, {"flag '--limit' needs a value"});
  refused({"migrate", "--payload", "--shards", "1"}, {"flag '--payload' needs a value"});
  // Of this command --payload has none.
  refused({"dead", "show", "--payload", "--json"}, {"dead show needs --id"});
}

TEST_CASE("a wrong command line is refused without the values in it, and the flag that was meant is named") {
  const auto url = fmt::format("postgres://u:{}@h/db", canary);
  const auto meant = "did you mean '--database-url'?";
  refused({"run", "--databse-url", url}, {"'--databse-url'", meant});
  refused({"run", "--databse-url=" + url}, {"'--databse-url'", meant});
  refused({"run", "--databse-url:" + url}, {"'--databse-url'", meant});
  refused({"--databse-url", url, "run"}, {"'--databse-url'", meant});
  refused({"--databse-url", url}, {"'--databse-url'", meant});
  refused({"--databse-url=" + url}, {"'--databse-url'", meant});
  refused({"run", "--ampq-url-file", canary}, {"'--ampq-url-file'", "did you mean '--amqp-url-file'?"});
  refused({"run", "--relay-batch_byte", canary}, {"did you mean '--relay-batch-bytes'?"});
  refused({"run", url}, {"argument 2 is not a flag"});
  refused({"run", "-u", url}, {"unknown flag '-u'"});
  refused({"run", "-u" + url}, {"unknown flag '-u'"});
  refused({"run", "--", url}, {"argument 3 is not a flag"});
  refused({url}, {"argument 1 is not a flag"});
  refused({"-u", canary}, {"unknown flag '-u'"});
  refused({"help", canary}, {"unknown command"});
  refused({"run", "--database-url", "host=h", "password=" + std::string(canary)},
          {"argument 4 is not a flag"});
  refused({"--database-url", "host=h", canary}, {"argument 3 is not a flag"});
  refused({"run", "--database-url", url, "--amqp-url"}, {"--amqp-url"});
  refused({"run", "--database-url", url, "--database-url"}, {"--database-url"});
  refused({"run", "--config", canary, "--config", canary}, {"--config"});
  refused({"migrate", "--payload", canary, "--payload", canary}, {"--payload"});
  refused({"migrate", fmt::format("--print={}", canary)}, {"takes no value"});
}

TEST_CASE("an unknown key of the file is refused with its line and a suggestion") {
  refused_file("# a comment\n[relay]\nlanes = 2\nsweep_intervall = '1s'\n",
               {"relay.sweep_intervall", ":4", "did you mean 'relay.sweep_interval'?"});
  refused_file("[rely]\nlanes = 2\n", {"rely", ":1"});
  refused_file("lanes = 2\n", {"lanes", ":1"});
  refused_file("[relay]\nlanes = 2\nlanes = 3\n", {":3", "lanes"});
  refused_file("[relay]\nlanes = \n", {":2", "TOML"});
  refused_file("[relay]\nlanes = 1.5\n", {"relay.lanes", ":2"});
  refused_file(fmt::format("[database]\nurl = \"postgresql://u:{}@h/d\nx = 1\n", canary), {"TOML"});
  refused({"run", "--config", "/no/such/file.toml"}, {"/no/such/file.toml", "flag --config", "No such file"});
}

TEST_CASE("OUTBOXD_CONFIG names the file, unless the flag does") {
  const text_file file{"[relay]\nlanes = 65\n"};
  const text_file other{"[relay]\nlanes = 66\n"};
  refused({"run"}, {"relay.lanes", "'65'", file.path()}, {{"OUTBOXD_CONFIG", file.path()}});
  refused({"run", "--config", other.path()}, {"'66'", other.path()}, {{"OUTBOXD_CONFIG", file.path()}});
  refused({"run"}, {"/no/such/file.toml", "environment OUTBOXD_CONFIG", "No such file"},
          {{"OUTBOXD_CONFIG", "/no/such/file.toml"}});
  refused({"run"}, {"environment OUTBOXD_CONFIG"}, {{"OUTBOXD_CONFIG", ""}});
}

TEST_CASE("OUTBOXD_SCHEMA names the schema") {
  const fresh_database target;
  const environment variables{{"OUTBOXD_DATABASE_URL", target.url()}, {"OUTBOXD_SCHEMA", "elsewhere"}};
  const auto done = run_outboxd({"migrate"}, variables);
  REQUIRE_MESSAGE(done.exited(0), done.text());
  CHECK(target.connect().number("SELECT count(*) FROM elsewhere.event") == 0);
  refused({"run"}, {"outbox.schema", "OUTBOXD_SCHEMA"}, {{"OUTBOXD_SCHEMA", ""}});
}

TEST_CASE("an unknown variable that begins with OUTBOXD_ is refused with a suggestion") {
  refused({"run"}, {"OUTBOXD_LANES", "did you mean 'OUTBOXD_RELAY_LANES'"}, {{"OUTBOXD_LANES", "3"}});
  refused({"run"}, {"OUTBOXD_FOO", "--help"}, {{"OUTBOXD_FOO", canary}});
  refused({"run"}, {"OUTBOXD_RELAY_LANEZ", "did you mean 'OUTBOXD_RELAY_LANES'"},
          {{"OUTBOXD_RELAY_LANEZ", "3"}});
  refused({"run"}, {"OUTBOXD_AMQP_URLS"}, {{"OUTBOXD_AMQP_URLS", canary}});
  refused({"run"}, {"OUTBOXD_AMPQ_URL", "did you mean 'OUTBOXD_AMQP_URL'"}, {{"OUTBOXD_AMPQ_URL", canary}});
}

TEST_CASE("a value out of range is refused with the key, the value, its origin and what is allowed") {
  refused({"run", "--relay-lanes", "0"}, {"relay.lanes", "'0'", "flag --relay-lanes", "1 to 64"});
  refused({"run", "--relay-lanes", "65"}, {"relay.lanes", "'65'", "1 to 64"});
  refused({"run", "--relay-lanes", "four"}, {"relay.lanes", "'four'", "1 to 64"});
  refused({"run", "--relay-lanes", "99999999999999999999"}, {"relay.lanes", "1 to 64"});
  refused({"run", "--relay-batch", "0"}, {"relay.batch", "1 to 10000"});
  refused({"run", "--relay-batch=-1"}, {"relay.batch", "'-1'", "1 to 10000"});
  refused({"run", "--relay-batch-bytes", "8 parsecs"}, {"relay.batch_bytes", "8 parsecs", "8MB"});
  refused({"run", "--relay-sweep-interval", "5"}, {"relay.sweep_interval", "'5'", "500ms"});
  refused({"run", "--relay-sweep-interval", "2h"}, {"relay.sweep_interval", "10ms to 1h"});
  refused({"run", "--relay-order", "random"}, {"relay.order", "strict, pipelined"});
  refused({"run"}, {"log.level", "'loud'", "OUTBOXD_LOG_LEVEL", "trace"}, {{"OUTBOXD_LOG_LEVEL", "loud"}});
  refused({"run", "--relay-claim-timeout", "2s", "--relay-sweep-interval", "2s"},
          {"relay.sweep_interval", "'2s'", "relay.claim_timeout", "'2s'"});
  refused({"migrate", "--shards", "3"}, {"--shards", "3"});
  refused({"migrate", "--shards", "0"}, {"--shards", "0"});
  refused({"migrate", "--shards", "128"}, {"--shards", "128"});
  refused({"migrate", "--shards", "all"}, {"--shards", "all"});
  refused_file("[relay]\nlanes = 0\n", {"relay.lanes", "'0'", ":2"});
  refused({"run", "--schema", ""}, {"outbox.schema"});
}

TEST_CASE("a malformed URL is refused and not shown") {
  const auto url = [](const std::string& form) { return fmt::format(fmt::runtime(form), canary); };
  for (const auto& bad :
       {url("postgresql://u:{}@h:port/d"), url("postgresql://u:{}@[::1/d"), url("u:{}@h/d"),
        url("postgresql://u:a/b{}@h/d"), url("host=h password='{}"), url("postgresql://u:%zz{}@h/d")})
    refused({"run"}, {"database.url", "OUTBOXD_DATABASE_URL"}, {{"OUTBOXD_DATABASE_URL", bad}});
  for (const auto& bad : {url("amqp://u:{}@h:port/"), url("amqp://u:{}:x@h/"), url("amqp://u:a/b{}@h/"),
                          url("http://u:{}@h/"), url("amqpss://u:{}@h/"), url("amqp://u:%zz{}@h/"),
                          url("amqp://u:{}@h/a/b"), url("amqp://u:{}@h/?x=1"), url("u:{}@h"),
                          url("amqp://u:a@{}@h/"), url("amqp://ok/,amqp://u:{}:x@h/")})
    refused({"run"}, {"amqp.url", "OUTBOXD_AMQP_URL"}, {{"OUTBOXD_AMQP_URL", bad}});
  refused({"run", "--amqp-url", url("amqp://u:{}:x@h/")}, {"amqp.url", "--amqp-url"});
}

TEST_CASE("a secret file that holds no secret is refused and named") {
  const text_file empty{""};
  const text_file newline{"\n"};
  const text_file two_lines{fmt::format("postgresql://u:{}@h/d\nmore\n", canary)};
  const text_file malformed{fmt::format("amqp://u:{}:x@h/\n", canary)};
  // Without a URL of their own: a file and a URL from the same place would be one too many.
  for (const auto* flag : {"--database-url-file", "--amqp-url-file"}) {
    const auto key = std::string(flag).substr(2, 4) == "data" ? "database.url_file" : "amqp.url_file";
    refused({"run", flag, "/no/such/secret"}, {key, flag, "/no/such/secret", "No such file"});
    refused({"run", flag, empty.path()}, {empty.path(), "empty"});
    refused({"run", flag, newline.path()}, {newline.path(), "empty"});
    refused({"run", flag, two_lines.path()}, {two_lines.path(), "line"});
    refused({"run", flag, malformed.path()}, {});
  }
  refused({"run", "--database-url", "postgresql://h/d", "--database-url-file", empty.path()},
          {"database.url", "database.url_file"});
}

TEST_CASE("a secret file may end with a newline and begin with a byte order mark") {
  const fresh_database target;
  const auto url = target.url();
  const auto amqp = required_environment("OUTBOXD_AMQP_URL");
  for (const auto& text : {url, url + "\n", url + "\r\n", "\xEF\xBB\xBF" + url + "\n"}) {
    const text_file file{text};
    const auto done = run_outboxd({"migrate", "--database-url-file", file.path()});
    CHECK_MESSAGE(done.exited(0), done.text());
  }
  const text_file from_file{fmt::format("[database]\nurl = \"{}\"\n", url)};
  const auto done =
      run_program({.program = outboxd_binary(),
                   .arguments = {"migrate", "--config", from_file.path(), "--database-url", url},
                   .environment = {},
                   .log_file = {}});
  CHECK_MESSAGE(done.exited(0), done.text());
}

TEST_CASE("a migration needs no secret of the broker") {
  const fresh_database target;
  const auto done = run_program(
      {.program = outboxd_binary(),
       .arguments = {"migrate", "--database-url", target.url(), "--amqp-url-file", "/no/such/secret"},
       .environment = {},
       .log_file = {}});
  CHECK_MESSAGE(done.exited(0), done.text());
}

TEST_CASE("output that cannot be written is a failure") {
  const auto done =
      run_program({.program = "/bin/sh",
                   .arguments = {"-c", std::string{OUTBOXD_BINARY} + " migrate --print >/dev/full"},
                   .environment = {},
                   .log_file = {}});
  CHECK(done.exited(1));
  CHECK(done.lines.size() == 1);
}

TEST_CASE("help and version exit 0") {
  CHECK(run_outboxd({"--help"}).says("--relay-order"));
  CHECK_FALSE(run_outboxd({"--help"}).says("--relay-lanes  "));
  CHECK(run_outboxd({"help", "settings"}).says("--relay-lanes  "));
  CHECK(run_outboxd({"--help"}).exited(0));
  CHECK(run_outboxd({"run", "--help"}).exited(0));
  CHECK(run_outboxd({"version"}).exited(0));
  CHECK(run_outboxd({"version"}).says("outboxd 0."));
  for (const arguments& words : {arguments{"--version"}, arguments{"run", "--version"}}) {
    CHECK(run_outboxd(words).text() == run_outboxd({"version"}).text());
    CHECK(run_outboxd(words).exited(0));
  }
}

TEST_CASE("version names the commit and the libraries, each with its version") {
  const auto said = run_outboxd({"version"}).lines;
  REQUIRE(said.size() > 4);
  CHECK(std::regex_match(said.at(0), std::regex{R"(outboxd \d+\.\d+\.\d+)"}));
  CHECK(std::regex_match(said.at(1), std::regex{"commit ([0-9a-f]{12,40}(-dirty)?|unknown)"}));
  for (const char* library : {"libpq", "librabbitmq", "Boost"})
    CHECK(std::any_of(said.begin(), said.end(), [library](const std::string& line) {
      return std::regex_match(line, std::regex{std::string{library} + R"( \d+(\.\d+)+)"});
    }));
}

TEST_CASE("help says what --help says") {
  const auto same = [](const arguments& words, const arguments& as) {
    const auto help = run_outboxd(words);
    CHECK(help.exited(0));
    CHECK(help.lines.size() > 5);
    CHECK(help.text() == run_outboxd(as).text());
  };
  same({"help"}, {"--help"});
  same({"help", "run"}, {"run", "--help"});
  same({"help", "dead"}, {"dead", "--help"});
  same({"help", "dead", "list"}, {"dead", "list", "--help"});
  same({"help", "events", "list"}, {"events", "list", "--help"});
}

TEST_CASE("help has a line for each command of events, and none for their older names") {
  const auto lists = [](const arguments& words, const std::string& name) {
    const auto said = run_outboxd(words).lines;
    return std::any_of(said.begin(), said.end(),
                       [&](const std::string& line) { return line.starts_with("  " + name + " "); });
  };
  CHECK(lists({"--help"}, "events"));
  CHECK_FALSE(lists({"--help"}, "dead"));
  CHECK_FALSE(lists({"--help"}, "replay"));
  for (const auto* verb : {"list", "show", "retry", "discard", "replay", "cancel", "postpone", "edit"})
    CHECK_MESSAGE(lists({"events", "--help"}, verb), verb);
}

}  // namespace outboxd::test::command_line_test
