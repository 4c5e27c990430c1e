// audit_name: a person's name as the name of a session of PostgreSQL can carry it into outbox.audit.
#pragma once

#include <string>
#include <string_view>

namespace outboxd::console {

// `name` is UTF-8. An application_name has 63 bytes, and nothing but ASCII. Names that do not fit end with
// the beginning of their SHA-256, so that two of them stay apart.
std::string audit_name(std::string_view name);

}  // namespace outboxd::console
