// app_secret_file_test: a secret that is kept in a file, and what may be wrong with the file.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/config/secret_file.hpp"
#include "temporary_file.hpp"
#include "unprivileged.hpp"

namespace app_secret_file_test {

using namespace outboxd;
using namespace outboxd::app;
using outboxd::test::temporary_file;
using namespace std::string_view_literals;

TEST_CASE("the secret is the file's one line, without byte order mark and line end") {
  for (const auto text : {"canary"sv, "canary\n"sv, "canary\r\n"sv, "canary\n\n"sv,
                          "\xEF\xBB\xBF"
                          "canary\n"sv}) {
    CAPTURE(text);
    CHECK(read_secret_file(temporary_file(text).path()) == "canary");
  }
  CHECK(read_secret_file(temporary_file(" a b \n").path()) == " a b ");
}

TEST_CASE(
    "a file with several lines or a NUL, or with nothing, is refused by its name and not by its content") {
  for (const auto text : {"canary\ncanary"sv, "canary\rcanary\n"sv, "canary\0"sv, "\ncanary"sv, ""sv, "\n"sv,
                          "\xEF\xBB\xBF"sv, "\0"sv}) {
    const temporary_file file(text);
    const auto read = read_secret_file(file.path());
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().message.find(file.path()) != std::string::npos);
    CHECK(read.error().message.find("canary") == std::string::npos);
  }
}

TEST_CASE("a path that is no readable file is refused by its name and with the reason") {
  for (const auto& [path, reason] :
       {std::pair{"/nonexistent/secret", "No such file or directory; write the URL into it"},
        {"/etc/passwd/secret", "Not a directory"},
        {"/tmp", "is a directory; name the file in it"},
        {"/proc/self/mem", "Input/output error"},
        {"", "No such file"}}) {
    CAPTURE(path);
    const auto read = read_secret_file(path);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().message.find(path) != std::string::npos);
    CHECK_MESSAGE(read.error().message.find(reason) != std::string::npos, read.error().message);
  }
}

TEST_CASE("a file that outboxd's user may not read is refused with what to do") {
  const temporary_file closed("canary\n", 0000);
  const test::unprivileged here;
  const auto read = read_secret_file(closed.path());
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().message ==
        "cannot read the secret file " + closed.path() +
            ": Permission denied; give it, and the directories above it, to outboxd's user");
}

TEST_CASE("the file is read anew every time") {
  const temporary_file file("old\n");
  CHECK(read_secret_file(file.path()) == "old");
  file.write("new\n");
  CHECK(read_secret_file(file.path()) == "new");
}

TEST_CASE("only a file that everybody may read is world-readable") {
  CHECK(is_world_readable(temporary_file("x", 0644).path()));
  CHECK(is_world_readable(temporary_file("x", 0604).path()));
  CHECK_FALSE(is_world_readable(temporary_file("x", 0640).path()));
  CHECK_FALSE(is_world_readable(temporary_file("x", 0600).path()));
  CHECK_FALSE(is_world_readable("/nonexistent/secret"));
}

}  // namespace app_secret_file_test
