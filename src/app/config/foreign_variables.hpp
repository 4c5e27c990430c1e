// foreign_variables: environment variables that begin with OUTBOXD_ but are not settings of outboxd.
#pragma once

#include <string_view>

namespace outboxd::app {

// `name` must begin with OUTBOXD_.
bool is_foreign_variable(std::string_view name, std::string_view value);

}  // namespace outboxd::app
