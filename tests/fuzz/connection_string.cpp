// Fuzzes PostgreSQL connection strings. What libpq cannot take is refused without a word of it, and what is shown of
// the rest has no password in it.
#include "pg/connection_string.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "input.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

constexpr std::size_t telling = 9;  // a shorter password may stand in our own words

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
  // What may be shown is taken out, longest first; what is left are our own words.
  std::vector<std::string> public_values;
  for (const char* other : {"host", "hostaddr", "port", "user", "dbname"})
    public_values.push_back(value(parsed.get(), other));
  std::sort(public_values.begin(), public_values.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  std::string shown = pg::display(text);
  for (const std::string& one : public_values)
    for (auto at = shown.find(one); !one.empty() && at != std::string::npos; at = shown.find(one, at + 1))
      shown.replace(at, one.size(), "\n");
  must(shown.find(password) == std::string::npos || pg::display("").find(password) != std::string::npos,
       "the password is not shown");
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
