// app_effective_settings_test: the settings in force as a file: fed back it means the same, and it has no
// password.
#include <doctest/doctest.h>

#include "app/config/effective_settings.hpp"
#include "given_settings.hpp"
#include "temporary_file.hpp"

namespace app_effective_settings_test {

using namespace outboxd;
using namespace outboxd::app;
using test::has;
using test::temporary_file;
using test::with;

namespace {

std::string shown(const raw_settings& raw) {
  const auto read = read_settings(raw);
  REQUIRE(read.has_value());
  return to_toml(*read, extent::all);
}

// The keys' texts, without their origins.
std::map<std::string, std::string> texts(const raw_settings& raw) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : raw) out[key] = value.text;
  return out;
}

raw_settings fed_back(const std::string& toml) {
  const temporary_file file(toml);
  const auto read = read_file(file.path());
  REQUIRE_MESSAGE(read.has_value(), read.error().message);
  return *read;
}

}  // namespace

TEST_CASE("each setting has its section, its value and its origin") {
  const auto text = shown(with({{"relay.lanes", "4"}, {"relay.sweep_interval", "2s"}}));
  CHECK(has(text, "\n[relay]\nlanes = 4  # origin of relay.lanes\n"));
  CHECK(has(text, "\nsweep_interval = \"2s\"  # origin of relay.sweep_interval\n"));
  CHECK(has(text, "\nbatch_bytes = \"8MB\"  # default\n"));
  CHECK(has(text, "\ndeclare = true  # default\n"));
}

TEST_CASE("the usual ones are the common settings and those that are given") {
  const auto read = read_settings(with({{"relay.sweep_interval", "2s"}, {"relay.batch", "10"}}));
  REQUIRE(read.has_value());
  const auto text = to_toml(*read, extent::usual);
  CHECK(has(text, "\nsweep_interval = \"2s\"  # origin of relay.sweep_interval\n"));
  CHECK(has(text, "\nbatch = 10  # origin of relay.batch\n"));
  CHECK(has(text, "\ngive_up_after = \"24h\"  # default\n"));
  CHECK_FALSE(has(text, "claim_timeout"));
  CHECK_FALSE(has(to_toml(*read, extent::all), "heartbeat"));
}

TEST_CASE("fed back it means the same") {
  for (const auto& raw :
       {with({}), with({{"retry.schedule", "1s,10s"}, {"retry.give_up_after", "never"}}),
        with({{"retry.base", "2s"}}), with({{"relay.lanes", "04"}, {"dead_letter.exchange", "a\"b\\c"}}),
        with({{"amqp.url", "amqp://a,amqp://b"}, {"http.listen", "unix:/a,:1"}})}) {
    const auto first = fed_back(shown(raw));
    CHECK(read_settings(first).has_value());
    for (const auto& [key, value] : raw) CHECK(first.at(key).text == value.text);
    CHECK(texts(fed_back(shown(first))) == texts(first));
  }
}

TEST_CASE("passwords are not shown, and the rest of the URLs is") {
  const auto text = shown(with({{"database.url", "postgresql://relay:hush@h1,h2:5433/shop"},
                                {"amqp.url", "amqp://a:hush@b1/v,amqp://b:%68ush@b2,amqp://b3"},
                                {"amqp.management_url", "http://a:hush,hush@b1:1/x"}}));
  CHECK(has(text, "management_url = \"http://a:***@b1:1/x\"  # origin of amqp.management_url\n"));
  CHECK_FALSE(has(text, "hush"));
  CHECK_FALSE(has(text, "%68"));
  CHECK(has(text, "url = \"postgresql://relay:***@h1,h2:5433/shop\"  # origin of database.url\n"));
  CHECK(has(text, "url = \"amqp://a:***@b1/v,amqp://b:***@b2,amqp://b3\"  # origin of amqp.url\n"));
}

TEST_CASE("a password that is elsewhere in the connection string is not shown either") {
  for (const std::string url :
       {"host=h password=hush user=u", "host=h password = 'hu\\'sh hush'", "postgresql://u@h/d?password=hush",
        "postgresql://u@h/d?pass%77ord=hush", "postgresql://u:x@h/d?sslpassword=hush"}) {
    CAPTURE(url);
    const auto text = shown(with({{"database.url", url}}));
    CHECK_FALSE(has(text, "hush"));
    CHECK(has(text, "***"));
    CHECK(read_settings(fed_back(text)).has_value());
  }
}

TEST_CASE("of a secret in a file the file's name is shown") {
  const temporary_file file("postgresql://u:hush@h/d");
  const auto text = shown(with({{"database.url_file", file.path()}}));
  CHECK_FALSE(has(text, "hush"));
  CHECK_FALSE(has(text, "postgresql"));
  CHECK(has(text, "[database]\nurl_file = \"" + file.path() + "\"  # origin of database.url_file\n"));
}

}  // namespace app_effective_settings_test
