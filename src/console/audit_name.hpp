// audit_name: converts a user's name so that it fits into the application_name, which outbox.audit records.
#pragma once

#include <string>
#include <string_view>

namespace outboxd::console {

// `name` is UTF-8. An application_name has at most 63 bytes of ASCII. Names that do not fit end with the
// beginning of their SHA-256, so that they stay distinct.
std::string audit_name(std::string_view name);

}  // namespace outboxd::console
