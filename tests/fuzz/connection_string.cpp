// Fuzzes PostgreSQL connection strings. What libpq cannot take is refused without a word of it, and what is shown of
// the rest has no password in it.
#include "pg/connection_string.hpp"

#include <libpq-fe.h>

#include <memory>
#include <string>

#include "input.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

constexpr std::size_t telling = 6;  // a shorter password may stand in anything by chance

std::string value(const PQconninfoOption* from, std::string_view keyword) {
  for (; from->keyword != nullptr; ++from)
    if (from->keyword == keyword && from->val != nullptr) return from->val;
  return {};
}

void check_password(const std::string& text) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(
      PQconninfoParse(text.c_str(), nullptr), &PQconninfoFree);
  must(parsed != nullptr, "libpq takes what we take");
  const auto password = value(parsed.get(), "password");
  if (password.size() < telling) return;
  for (const char* other : {"host", "hostaddr", "port", "user", "dbname"})
    if (value(parsed.get(), other).find(password) != std::string::npos) return;  // it is no secret
  must(pg::display(text).find(password) == std::string::npos, "the password is not shown");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const std::string text(in.rest());
  const auto ok = pg::check_connection_string(text);
  must(!pg::display(text).empty(), "there is always something to show");
  const auto hosts = pg::hosts_of(text);
  if (ok) {
    check_password(text);
  } else {
    must(hosts.empty(), "a bad string has no hosts");
    must(ok.error().message.find("canary") == std::string::npos, "nothing of a bad string is shown");
  }
  return 0;
}
