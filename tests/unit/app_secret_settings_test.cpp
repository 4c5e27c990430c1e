// app_secret_settings_test: URLs, files that hold secrets, and TLS: what is read, and what a refusal hides.
#include <doctest/doctest.h>

#include "app/config/settings.hpp"
#include "given_settings.hpp"
#include "temporary_file.hpp"

namespace app_secret_settings_test {

using namespace outboxd::app;
using outboxd::test::has;
using outboxd::test::refusal;
using outboxd::test::temporary_file;
using outboxd::test::with;

TEST_CASE("a bad URL is refused with its key and origin, and nothing of its password is shown") {
  for (const char* url : {"postgresql://u:canary@h:x/d", "host=h password=canary canary", "canary"}) {
    const std::string words = refusal(with({{"database.url", url}}));
    CAPTURE(words);
    CHECK(has(words, "database.url (origin of database.url)"));
    CHECK_FALSE(has(words, "canary"));
  }
  for (const char* url : {"amqp://u:canary@h:x", "amqp://u:canary,canary@h", "http://u:canary@h", "canary",
                          "amqp://h,canary", "", ","}) {
    const std::string words = refusal(with({{"amqp.url", url}}));
    CAPTURE(words);
    CHECK(has(words, "amqp.url (origin of amqp.url)"));
    CHECK_FALSE(has(words, "canary"));
  }
  for (const char* url :
       {"https://u:canary@h:x", "ftp://u:canary@h", "http://u:canary@h:x", "http://u:canary@h@h", "canary"}) {
    const std::string words = refusal(with({{"amqp.management_url", url}}));
    CAPTURE(words);
    CHECK(has(words, "amqp.management_url (origin of amqp.management_url)"));
    CHECK_FALSE(has(words, "canary"));
  }
}

TEST_CASE("the management API's URL is nothing by default, and read from its file anew each time") {
  CHECK_FALSE(read_settings({})->management_url);
  CHECK_FALSE(read_settings(with({{"amqp.management_url", ""}}))->management_url);
  const temporary_file file("http://old\n");
  const auto read = read_settings(with({{"amqp.management_url_file", file.path()}}));
  REQUIRE(read.has_value());
  REQUIRE(read->management_url);
  CHECK(read->management_url()->host == "old");
  CHECK(read->management_url()->port == 15672);
  file.write("http://new:1\n");
  CHECK(read->management_url()->display() == "http://new:1");
  file.write("https://new\n");
  CHECK(read->management_url()->display() == "https://new:15671");
  file.write("canary\n");
  REQUIRE_FALSE(read->management_url().has_value());
  CHECK_FALSE(has(read->management_url().error().message, "canary"));
  const auto migration = with({{"amqp.management_url_file", "/nonexistent"}});
  CHECK_FALSE(read_settings(migration).has_value());
  CHECK(read_settings(migration, purpose::migration).has_value());
}

TEST_CASE("a secret's file is read for every connection, and named when it is bad") {
  const temporary_file file("host=old\n");
  const auto read = read_settings(with({{"database.url_file", file.path()}}));
  REQUIRE(read.has_value());
  CHECK(read->relay.leader.database.url.address() == "host=old");
  file.write("host=new\n");
  CHECK(read->relay.leader.database.url.address() == "host=new");

  const temporary_file bad("canary = canary\n");
  for (const auto& [key, path] : {std::pair{"database.url_file", bad.path()},
                                  {"amqp.url_file", bad.path()},
                                  {"database.url_file", std::string("/nonexistent")},
                                  {"amqp.url_file", std::string("/nonexistent")}}) {
    const std::string words = refusal(with({{key, path}}));
    CAPTURE(words);
    CHECK(has(words, std::string("origin of ") + key));
    CHECK_FALSE(has(words, "canary"));
  }
  for (const char* key : {"database.url_file", "amqp.url_file"}) {
    const std::string words = refusal(with({{key, "/nonexistent"}}));
    CHECK_MESSAGE(words.starts_with(std::string(key) + " ("), words);
    CHECK_MESSAGE(has(words, "/nonexistent: No such file"), words);
  }
}

TEST_CASE("a migration leaves the broker's URL alone and reads all the rest") {
  for (const auto& raw : {with({{"amqp.url", ""}}), with({{"amqp.url_file", "/nonexistent"}}),
                          with({{"amqp.url", "amqp://h"}, {"amqp.url_file", "/nonexistent"}})}) {
    CHECK_FALSE(read_settings(raw, purpose::relay).has_value());
    CHECK(read_settings(raw, purpose::migration).has_value());
  }
  CHECK_FALSE(read_settings(with({{"database.url_file", "/nonexistent"}}), purpose::migration).has_value());
  CHECK_FALSE(read_settings(with({{"relay.lanes", "0"}}), purpose::migration).has_value());
}

TEST_CASE("a list of brokers in a file may change its length") {
  const temporary_file file("amqp://a,amqp://b\n");
  const auto read = read_settings(with({{"amqp.url_file", file.path()}}));
  REQUIRE(read.has_value());
  REQUIRE(read->relay.broker.urls.size() == 2);
  CHECK(read->relay.broker.urls[1].address() == "amqp://b");
  file.write("amqp://c\n");
  CHECK(read->relay.broker.urls[1].address() == "amqp://c");
  file.write(",\n");
  CHECK_FALSE(read->relay.broker.urls[1].address().has_value());
}

TEST_CASE("a secret and its file from one source are too much, and both are named with their origins") {
  const temporary_file file("host=h\n");
  const std::string words =
      refusal(with({{"database.url", "host=canary"}, {"database.url_file", file.path()}}));
  for (const char* part : {"database.url and database.url_file", "origin of database.url",
                           "origin of database.url_file", "one of them"})
    CHECK(has(words, part));
  CHECK_FALSE(has(words, "canary"));
}

TEST_CASE("a setting of TLS that no URL uses is worth one warning") {
  const auto read = read_settings(with({{"amqp.url", "amqp://a"}, {"amqp.tls.verify", "ca"}}));
  REQUIRE(read.has_value());
  REQUIRE(read->warnings.size() == 1);
  CHECK(has(read->warnings[0], "amqp.tls.verify (origin of amqp.tls.verify) is not used"));
}

TEST_CASE("a secret that everybody may read is worth a warning that says what to do") {
  const temporary_file open("host=h\n", 0644);
  const auto read = read_settings(with({{"database.url_file", open.path()}}));
  REQUIRE(read.has_value());
  REQUIRE(read->warnings.size() == 1);
  CHECK(has(read->warnings[0], "database.url_file (origin of database.url_file): everybody can read"));
  CHECK(has(read->warnings[0], "chmod 600 " + open.path()));
}

}  // namespace app_secret_settings_test
