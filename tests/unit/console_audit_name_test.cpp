// console_audit_name_test: who has acted is told apart from others, in what an application_name can carry.
#include <doctest/doctest.h>

#include <string>

#include "console/audit_name.hpp"

namespace console_audit_name_test {

using outboxd::console::audit_name;

TEST_CASE("a name that fits stays as it is") {
  for (const std::string name : {"act token", "bob@example.org", "", "x"}) CHECK(audit_name(name) == name);
  const std::string just_fits(46, 'x');
  CHECK(audit_name(just_fits) == just_fits);
}

TEST_CASE("names that do not fit stay apart, and have room in an application_name") {
  const std::string begins_alike(46, 'x');
  CHECK(audit_name(begins_alike + "a") != audit_name(begins_alike + "b"));
  CHECK(audit_name(begins_alike + "a").size() == 46);
  CHECK(audit_name("\u00c4nne") != audit_name("\u00d6nne"));
  CHECK(audit_name("\u00c4nne").starts_with("?nne#"));  // a '?' for a character, not for a byte
  CHECK(audit_name("\u00c4nne").size() == 4 + 1 + 8);
  CHECK(audit_name("a\nb").starts_with("a?b#"));
  CHECK(audit_name("a?b") == "a?b");
}

}  // namespace console_audit_name_test
