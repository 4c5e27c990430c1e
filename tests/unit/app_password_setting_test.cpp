// app_password_setting_test: how a program that prints a password is written down, and its password put to
// use.
#include <doctest/doctest.h>
#include <libpq-fe.h>

#include <memory>

#include "amqp/url.hpp"
#include "amqp/url_password.hpp"
#include "app/config/password_setting.hpp"
#include "app/config/settings.hpp"
#include "pg/connection_string.hpp"
#include "temporary_file.hpp"

namespace app_password_setting_test {

using namespace outboxd;
using namespace outboxd::app;
using outboxd::test::temporary_file;
using words = std::vector<std::string>;

namespace {

std::string refusal(const raw_settings& raw, purpose what_for = purpose::relay) {
  const auto read = read_settings(raw, what_for);
  return read ? "none" : read.error().message;
}

raw_value from_file(const std::string& text) {
  return {text, "outboxd.toml:7"};
}

std::string password_of(const std::string& connection_string) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> all(
      PQconninfoParse(connection_string.c_str(), nullptr), &PQconninfoFree);
  for (const auto* one = all.get(); one != nullptr && one->keyword != nullptr; ++one)
    if (std::string_view(one->keyword) == "password" && one->val != nullptr) return one->val;
  return "none";
}

constexpr auto odd = "a@b:/%?&= '\"\\#";

}  // namespace

TEST_CASE("a command is words between blanks, and quotes keep blanks") {
  CHECK(split_command("/bin/a  b\tc ") == words{"/bin/a", "b", "c"});
  CHECK(split_command(R"(/bin/a "b c" 'd "e' "f\"\\" g"h i"j '' $HOME *)") ==
        words{"/bin/a", "b c", "d \"e", "f\"\\", "gh ij", "", "$HOME", "*"});
  CHECK(split_command("").value().empty());
  CHECK_FALSE(split_command("/bin/a 'b").has_value());
  CHECK_FALSE(split_command(std::string_view("/bin/a\0b", 8)).has_value());
  for (const auto& list :
       {words{"/bin/a", "b c", "", "'", "\"", "\\", "a\\ b", "a\nb", "$x"}, words{"/bin/a"}, words{}})
    CHECK(split_command(join_command(list)) == list);
}

TEST_CASE("a TOML list of words is a command, too") {
  const temporary_file file("[database]\npassword_command = ['/bin/echo', 'a b', \"c'd\"]\n");
  const auto raw = read_file(file.path(), "the test");
  REQUIRE(raw.has_value());
  CHECK(split_command(raw->at("database.password_command").text) == words{"/bin/echo", "a b", "c'd"});
}

TEST_CASE("the program is put to the test before anything is connected to") {
  for (const std::string section : {"database", "amqp"}) {
    const auto key = section + ".password_command";
    CHECK(refusal({{key, from_file("/bin/echo canary")}}) == "none");
    CHECK(refusal({{key, from_file("")}}) == "none");
    CHECK(refusal({{key, from_file("echo canary")}}) ==
          key +
              " (outboxd.toml:7): 'echo' is no absolute path, and PATH is not searched; give one such as "
              "/usr/bin/aws");
    CHECK(refusal({{key, from_file("/nonexistent canary")}}) ==
          key + " (outboxd.toml:7): '/nonexistent' cannot be run: No such file or directory");
    CHECK(refusal({{key, from_file("/tmp canary")}}) ==
          key + " (outboxd.toml:7): '/tmp' is a directory and no program");
    const temporary_file plain("x", 0600);
    CHECK(refusal({{key, from_file(plain.path() + " canary")}}) ==
          key + " (outboxd.toml:7): '" + plain.path() +
              "' may not be run by outboxd's user: Permission denied; chmod +x " + plain.path());
    CHECK(refusal({{key, from_file("/bin/echo 'canary")}}) ==
          key + " (outboxd.toml:7) has a ' that is not closed");
  }
}

TEST_CASE("a password in the URL and a command for it are one too many") {
  const auto command = from_file("/bin/echo canary");
  for (const char* url :
       {"postgresql://u:canary@h/d", "host=h password=canary", "postgresql://u@h/d?password=canary"})
    CHECK(refusal({{"database.password_command", command}, {"database.url", {url, "flag --database-url"}}}) ==
          "database.url has a password, and database.password_command is given as well; give one of them"
          " (flag --database-url, outboxd.toml:7)");
  for (const char* url : {"amqp://u:canary@h", "amqp://u@h,amqp://u:canary@h", "amqp://u:@h"})
    CHECK(refusal({{"amqp.password_command", command}, {"amqp.url", {url, "flag --amqp-url"}}}) ==
          "amqp.url has a password, and amqp.password_command is given as well; give one of them"
          " (flag --amqp-url, outboxd.toml:7)");
  const temporary_file file("postgresql://u:canary@h/d\n");
  CHECK(refusal({{"database.password_command", command}, {"database.url_file", {file.path(), "here"}}},
                purpose::migration) ==
        "database.url has a password, and database.password_command is given as well; give one of them"
        " (here, outboxd.toml:7)");
  // The file may change later.
  file.write("postgresql://u@h/d\n");
  const auto read =
      read_settings({{"database.password_command", command}, {"database.url_file", {file.path(), "here"}}},
                    purpose::migration);
  REQUIRE(read.has_value());
  CHECK(read->relay.leader.database.url.address() == "postgresql://u@h/d");
  CHECK(read->relay.leader.database.url.read_blocking() == "postgresql://u@h/d?password=canary");
  file.write("postgresql://u:other@h/d\n");
  CHECK(read->relay.leader.database.url.read_blocking().error().message.find("give one of them") !=
        std::string::npos);
}

TEST_CASE("PostgreSQL gets the password whatever is in it and however the connection string is written") {
  for (const char* text :
       {"", "host=h user=u", "postgresql://u@h/d", "postgres://", "postgresql://u@h,i/d?sslmode=require",
        "postgresql://h?", "postgresql:///d?host=/tmp&"}) {
    CAPTURE(text);
    CHECK_FALSE(pg::has_password(text));
    CHECK(password_of(pg::with_password(text, odd)) == odd);
  }
}

TEST_CASE("RabbitMQ gets the password whatever is in it, each URL of a list") {
  for (const auto& [text, user] : {std::pair{"amqp://u@h", "u"},
                                   {"amqp://h:5673/v", "guest"},
                                   {"amqp://", "guest"},
                                   {"amqp://a%40b@[::1]:5673/%2f", "a@b"}}) {
    CAPTURE(text);
    CHECK_FALSE(amqp::has_password(text));
    const auto parsed = amqp::parse_url(amqp::with_password(text, odd));
    REQUIRE(parsed.has_value());
    CHECK(parsed->password == odd);
    CHECK(parsed->user == user);
    CHECK(parsed->host == amqp::parse_url(text)->host);
    CHECK(parsed->vhost == amqp::parse_url(text)->vhost);
  }
  CHECK(amqp::has_password("amqp://u:p@h/a@b"));
  CHECK_FALSE(amqp::has_password("amqp://h:5672/a:b@c"));
}

}  // namespace app_password_setting_test
