// foreign_variables: environment variables that begin like ours and are not meant for us.
#pragma once

#include <string_view>

namespace outboxd::app {

// `name` begins with OUTBOXD_.
bool is_foreign_variable(std::string_view name, std::string_view value);

}  // namespace outboxd::app
