// amqp_tls_context_test: files that are not there or may not be read are named with setting, reason and
// remedy.
#include "amqp/tls_context.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "temporary_file.hpp"
#include "unprivileged.hpp"

namespace amqp_tls_context_test {

using namespace outboxd;
using namespace outboxd::amqp;

TEST_CASE("a file that outboxd's user may not read, or that is not there, is named with its remedy") {
  const test::temporary_file closed("-----BEGIN CERTIFICATE-----\n", 0000);
  const test::unprivileged here;
  const std::pair<std::string, std::string> files[] = {
      {closed.path(), "Permission denied; give it, and the directories above it, to outboxd's user"},
      {"/nonexistent/ca.pem", "No such file or directory; name a file in PEM form"}};
  for (const auto& [file, why] : files) {
    const auto trusted = make_tls_context({.ca_file = file, .certificate_file = "", .key_file = ""});
    REQUIRE_FALSE(trusted.has_value());
    CHECK(trusted.error().message == fmt::format("amqp.tls.ca_file = '{}' cannot be read: {}", file, why));
    const auto shown = make_tls_context({.ca_file = "", .certificate_file = file, .key_file = file});
    REQUIRE_FALSE(shown.has_value());
    CHECK(shown.error().message ==
          fmt::format("amqp.tls.certificate_file = '{}' cannot be read: {}", file, why));
  }
}

}  // namespace amqp_tls_context_test
