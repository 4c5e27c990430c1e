// Fuzzes PostgreSQL connection strings. What libpq cannot take is refused without a word of it, and what is
// shown of the rest does not depend on the password.
#include "pg/connection_string.hpp"

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <string_view>

#include "input.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

using options = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

// libpq marks what is not to be shown.
bool is_secret(const PQconninfoOption& option) {
  return std::string_view(option.dispchar) == "*";
}

// The same connection as key='value', with another secret wherever there is one.
std::string with_other_secrets(const PQconninfoOption* from) {
  std::string out;
  for (; from->keyword != nullptr; ++from) {
    if (from->val == nullptr) continue;
    out += std::string(from->keyword) + "='";
    for (const char c : std::string_view(is_secret(*from) ? "another" : from->val)) {
      if (c == '\'' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
    out += "' ";
  }
  return out;
}

// A secret may be made of any words, those of the display among them. So nothing is looked for: what is shown
// is the same whatever the secret is.
void check_secrets(const std::string& text) {
  const options parsed(PQconninfoParse(text.c_str(), nullptr), &PQconninfoFree);
  must(parsed != nullptr, "libpq takes what we take");
  const auto other = with_other_secrets(parsed.get());
  must(pg::check_connection_string(other).has_value(), "the secret does not decide whether a string is good");
  must(pg::display(text) == pg::display(other), "what is shown does not depend on the secret");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const std::string text(in.rest());
  const auto ok = pg::check_connection_string(text);
  must(!pg::display(text).empty(), "there is always something to show");
  const auto hosts = pg::hosts_of(text);
  if (ok) {
    check_secrets(text);
  } else {
    must(hosts.empty(), "a bad string has no hosts");
    must(ok.error().message.find("canary") == std::string::npos, "nothing of a bad string is shown");
  }
  return 0;
}
