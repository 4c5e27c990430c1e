// secret: a connection string that is read anew for every connection, so that a changed password needs no
// restart.
#pragma once

#include <functional>
#include <string>

#include "core/error.hpp"

namespace outboxd::relay {

using secret = std::function<result<std::string>()>;

}  // namespace outboxd::relay
