// app_raw_settings_test: where settings come from, and which of them wins.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <array>

#include "app/config/raw_settings.hpp"
#include "app/config/setting_keys.hpp"
#include "temporary_file.hpp"

namespace app_raw_settings_test {

using namespace outboxd;
using namespace outboxd::app;
using outboxd::test::temporary_file;

namespace {

result<raw_settings> from_environment(std::vector<std::string> variables) {
  std::vector<char*> pointers;
  for (std::string& one : variables) pointers.push_back(one.data());
  pointers.push_back(nullptr);
  return read_environment(pointers.data());
}

// What a file with that text gives: "key=text@line …", or the error without the file's path.
std::string from_file(std::string_view text) {
  const temporary_file file(text);
  const auto read = read_file(file.path());
  std::string out;
  if (!read) {
    out = read.error().message;
  } else {
    for (const auto& [key, value] : *read) out += key + "=" + value.text + "@" + value.origin + " ";
  }
  for (auto at = out.find(file.path()); at != std::string::npos; at = out.find(file.path()))
    out.replace(at, file.path().size(), "F");
  return out;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("the file's sections and keys are settings, with file and line as their origin") {
  CHECK(from_file("[relay]\nlanes = 8\nsweep_interval = \"2s\"\n[amqp]\ndeclare = false\n") ==
        "amqp.declare=false@F:5 relay.lanes=8@F:2 relay.sweep_interval=2s@F:3 ");
  CHECK(from_file("relay.lanes = 8") == "relay.lanes=8@F:1 ");
  CHECK(from_file("") == "");
}

TEST_CASE("a list of strings is joined with commas") {
  CHECK(from_file("[amqp]\nurl = [\"amqp://a\", \"amqp://b\"]") == "amqp.url=amqp://a,amqp://b@F:2 ");
}

TEST_CASE("a secret's file is a key of its own, any other key's is not") {
  CHECK(from_file("[database]\nurl_file = \"/run/s\"") == "database.url_file=/run/s@F:2 ");
  CHECK(has(from_file("[relay]\nlanes_file = \"/run/s\""), "unknown key 'relay.lanes_file'"));
}

TEST_CASE("unknown keys and sections are refused with file and line, and what was probably meant") {
  struct {
    const char *text, *key, *origin, *meant;
  } const all[] = {
      {"[relay]\nlane = 4", "'relay.lane'", "F:2", "'relay.lanes'"},
      {"[relay]\n\nbatchbytes = 4", "'relay.batchbytes'", "F:3", "'relay.batch_bytes'"},
      {"[amqp]\nheart_beat = 4", "'amqp.heart_beat'", "F:2", "'amqp.heartbeat'"},
      {"[relay]\nno_such_thing = 4", "'relay.no_such_thing'", "F:2", "--help"},
      {"[rely]\nlanes = 4", "'rely'", "F:1", "--help"},
      {"lanes = 4", "'lanes'", "F:1", "'relay.lanes'"},
      {"config = 'x'", "'config'", "F:1", "--help"},
      {"relay = 4", "'relay'", "F:1", "--help"},
      {"[Relay]\nlanes = 4", "'Relay'", "F:1", "--help"},
  };
  for (const auto& one : all) {
    const std::string words = from_file(one.text);
    CAPTURE(words);
    CHECK(has(words, "unknown"));
    CHECK(has(words, one.key));
    CHECK(has(words, one.origin));
    CHECK(has(words, one.meant));
  }
}

TEST_CASE("duplicate keys, broken TOML and values of a wrong kind are refused with file and line") {
  CHECK(has(from_file("[relay]\nlanes = 4\nlanes = 5"), "F:3"));
  CHECK(has(from_file("[relay]\nlanes = 4\n[relay]\nbatch = 5"), "F:3"));
  CHECK(has(from_file("[relay\nlanes = 4"), "F:1"));
  for (const char* value : {"1.5", "2026-01-31", "{ a = 1 }", "[1, 2]", "[[\"a\"]]"}) {
    const std::string words = from_file("[relay]\nlanes = " + std::string(value));
    CAPTURE(words);
    CHECK(has(words, "relay.lanes in F:2"));
    CHECK(has(words, "whole number"));
  }
}

TEST_CASE("no error shows a secret that was put into broken TOML") {
  for (const char* line : {"url = \"postgres://u:canary@h", "url = postgres://u:canary@h", "url = 'a' canary",
                           "url = \"\\canary\"", "url = { canary = \"canary\" }", "url = [1, \"canary\"]",
                           "url = \"canary\"\nurl = \"canary\"", "url canary"}) {
    const std::string words = from_file("[database]\n" + std::string(line));
    CAPTURE(words);
    CHECK(has(words, "F:"));
    CHECK_FALSE(has(words, "canary"));
  }
}

TEST_CASE(
    "a configuration file that cannot be read is refused by its name, with who named it and the reason") {
  for (const auto& [path, reason] : {std::pair{"/nonexistent.toml", "No such file"},
                                     {"/etc/passwd/outboxd.toml", "Not a directory"},
                                     {"/tmp", "not a file"},
                                     {"/proc/self/mem", "Input/output error"}}) {
    const auto read = read_file(path, "the one who named it");
    REQUIRE_FALSE(read.has_value());
    CHECK(has(read.error().message, path));
    CHECK(has(read.error().message, "the one who named it"));
    CHECK_MESSAGE(has(read.error().message, reason), read.error().message);
    CHECK(read.error().kind == fault::permanent);
  }
}

TEST_CASE("OUTBOXD_<SECTION>_<KEY> is a setting, with the variable as its origin") {
  const auto read = from_environment({"PATH=/bin", "OUTBOXD_RELAY_BATCH_BYTES=1MB",
                                      "OUTBOXD_DATABASE_URL_FILE=/run/s", "OUTBOXD_AMQP_URL=a=b"});
  REQUIRE(read.has_value());
  REQUIRE(read->size() == 3);
  CHECK(read->at("relay.batch_bytes").text == "1MB");
  CHECK(read->at("relay.batch_bytes").origin == "environment OUTBOXD_RELAY_BATCH_BYTES");
  CHECK(read->at("database.url_file").text == "/run/s");
  CHECK(read->at("amqp.url").text == "a=b");
}

TEST_CASE("an unknown variable that begins with OUTBOXD_ is refused") {
  const auto wrong = from_environment({"OUTBOXD_RELAY_LANE=4"});
  REQUIRE_FALSE(wrong.has_value());
  CHECK(has(wrong.error().message, "OUTBOXD_RELAY_LANE"));
  CHECK(has(wrong.error().message, "environment"));
  CHECK(has(wrong.error().message, "OUTBOXD_RELAY_LANES"));
  for (const char* unknown : {"OUTBOXD_LOG_", "OUTBOXD_FOO", "OUTBOXD_", "OUTBOXD_PORT", "OUTBOXD_TESTS",
                              "OUTBOXD_SERVICE", "OUTBOXD_PORT_FOO", "OUTBOXD_NO_SUCH_SETTING"}) {
    CAPTURE(unknown);
    const auto read = from_environment({unknown + std::string("=canary")});
    REQUIRE_FALSE(read.has_value());
    CHECK(has(read.error().message, fmt::format("'{}'", unknown)));
    CHECK(has(read.error().message, "`outboxd --help` lists the settings"));
    CHECK_FALSE(has(read.error().message, "canary"));
  }
}

TEST_CASE("variables of Kubernetes, of the checkout's tests and of other programs are left alone") {
  for (const char* other :
       {"OUTBOXD_PORT=tcp://10.0.0.1:9464", "OUTBOXD_SERVICE_HOST=10.0.0.1", "OUTBOXD_SERVICE_PORT=9464",
        "OUTBOXD_SERVICE_PORT_HTTP=9464", "OUTBOXD_PORT_9464_TCP=tcp://10.0.0.1:9464",
        "OUTBOXD_PORT_9464_TCP_ADDR=10.0.0.1", "OUTBOXD_METRICS_SERVICE_HOST=10.0.0.1",
        "OUTBOXD_METRICS_PORT=tcp://10.0.0.1:9464", "OUTBOXD_TEST_DATABASE_URL=x", "OUTBOXD_SERVICES_DIR=x",
        "OUTBOXD_SERVICES_AMQP_PORT=x", "OUTBOXD_SIMULATION_SEED=x", "OUTBOXD_BENCH_FLUSH_US=1", "OUTBOXD=x",
        "OUTBOXD_CACHE_DIR=x", "OUTBOXD_DEBIAN_MIRROR=x", "outboxd_relay_lanes=x", "no equals sign"}) {
    CAPTURE(other);
    const auto read = from_environment({other});
    CHECK((read.has_value() && read->empty()));
  }
}

TEST_CASE("the schema has a short variable, and only one of the two may be given") {
  const auto read = from_environment({"OUTBOXD_SCHEMA=shop"});
  REQUIRE(read.has_value());
  CHECK(read->at("outbox.schema").text == "shop");
  CHECK(read->at("outbox.schema").origin == "environment OUTBOXD_SCHEMA");
  const auto both = from_environment({"OUTBOXD_SCHEMA=shop", "OUTBOXD_OUTBOX_SCHEMA=shop"});
  REQUIRE_FALSE(both.has_value());
  CHECK(has(both.error().message,
            "OUTBOXD_SCHEMA and environment OUTBOXD_OUTBOX_SCHEMA both give outbox.schema"));
}

TEST_CASE("the variable that names the file is no setting") {
  const auto read = from_environment({"OUTBOXD_CONFIG=/etc/x.toml"});
  CHECK((read.has_value() && read->empty()));
}

TEST_CASE("a variable that is near to a setting is refused with what was probably meant, without its value") {
  for (const auto& [variable, meant] : {std::pair{"OUTBOXD_AMPQ_URL", "'OUTBOXD_AMQP_URL'"},
                                        {"OUTBOXD_AMPQ_URL_FILE", "'OUTBOXD_AMQP_URL_FILE'"},
                                        {"OUTBOXD_DATABSE_URL", "'OUTBOXD_DATABASE_URL'"},
                                        {"OUTBOXD_REALY_BATCH_BYTES", "'OUTBOXD_RELAY_BATCH_BYTES'"},
                                        {"OUTBOXD_RELAYLANES", "'OUTBOXD_RELAY_LANES'"},
                                        {"OUTBOXD_LANES", "'OUTBOXD_RELAY_LANES'"},
                                        {"OUTBOXD_BATCH_BYTE", "'OUTBOXD_RELAY_BATCH_BYTES'"},
                                        {"OUTBOXD_CONFG", "'OUTBOXD_CONFIG'"},
                                        {"OUTBOXD_SHCEMA", "'OUTBOXD_OUTBOX_SCHEMA'"}}) {
    CAPTURE(variable);
    const auto read = from_environment({variable + std::string("=canary")});
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().kind == fault::permanent);
    CHECK(has(read.error().message, variable));
    CHECK(has(read.error().message, meant));
    CHECK_FALSE(has(read.error().message, "canary"));
  }
}

TEST_CASE("every setting's variable and key read back to it") {
  for (const setting_key& one : setting_keys) {
    CAPTURE(one.key());
    const auto read = from_environment({one.environment() + "=x"});
    REQUIRE(read.has_value());
    CHECK(read->contains(one.key()));
    CHECK(has(from_file(one.key() + " = 'x'"), one.key() + "=x@F:1"));
  }
}

TEST_CASE("a flag beats the environment, the environment beats the file") {
  const raw_settings flags{{"relay.lanes", {"1", "flag"}}};
  const raw_settings environment{{"relay.lanes", {"2", "environment"}},
                                 {"relay.batch", {"2", "environment"}}};
  const raw_settings file{
      {"relay.lanes", {"3", "file"}}, {"relay.batch", {"3", "file"}}, {"relay.order", {"3", "file"}}};
  const raw_settings all = merge(merge(flags, environment), file);
  CHECK(all.at("relay.lanes").origin == "flag");
  CHECK(all.at("relay.batch").origin == "environment");
  CHECK(all.at("relay.order").origin == "file");
}

TEST_CASE(
    "a secret and its file count as one: the stronger source's kind wins, and both of one source stay") {
  const raw_settings text{{"database.url", {"x", "strong"}}};
  const raw_settings file{{"database.url_file", {"y", "weak"}}};
  CHECK(merge(text, file).size() == 1);
  CHECK(merge(text, file).at("database.url").origin == "strong");
  CHECK(merge(file, text).size() == 1);
  CHECK(merge(file, text).at("database.url_file").origin == "weak");
  raw_settings both = text;
  both.insert(file.begin(), file.end());
  CHECK(merge({}, both).size() == 2);
}

std::string nearest(std::string_view misspelled) {
  const auto found = nearest_setting(misspelled);
  return found ? found->key : "";
}

TEST_CASE("the key nearest to a misspelled one is found, and none where none is near") {
  CHECK(nearest("relay.lane") == "relay.lanes");
  CHECK(nearest("amqp.confirm-timeout") == "amqp.confirm_timeout");
  CHECK(nearest("database.ulr") == "database.url");
  CHECK(nearest("databse.url_file") == "database.url_file");
  CHECK(nearest("lanes") == "relay.lanes");
  CHECK(nearest("url") == "database.url");
  CHECK(nearest("") == "");
  CHECK(nearest("foo") == "");
  CHECK(nearest("rely") == "");
  CHECK(nearest("something.else.entirely") == "");
}

}  // namespace app_raw_settings_test
