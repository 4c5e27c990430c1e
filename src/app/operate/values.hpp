// values: what `events postpone` and `events edit` write: read and checked before anything is changed.
#pragma once

#include <string>
#include <vector>

#include "app/operate/operator_session.hpp"
#include "app/operate/order.hpp"

namespace outboxd::app {

// An argument of the function in SQL. The expression has {} for the number of its parameter.
struct change_value {
  std::string name;
  std::string expression;
  std::string value;
};

// Those of this command; none for others. Files are read here, `-` is standard input.
outcome<std::vector<change_value>> values_of(operator_session& session, change what,
                                             const change_order& given);

}  // namespace outboxd::app
