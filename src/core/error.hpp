// error: what went wrong, in one sentence, and whose move it is.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace outboxd {

enum class fault {
  transient,  // the peer is away, busy or restarting: reconnect with backoff
  permanent,  // nothing changes until somebody acts (password, schema, privilege): do not start with it
};

struct error {
  fault kind = fault::transient;
  std::string message;  // what happened, to what, and what to do; never a secret, never a payload
};

template <class T>
using result = tl::expected<T, error>;

inline tl::unexpected<error> transient(std::string message) {
  return tl::make_unexpected(error{fault::transient, std::move(message)});
}
inline tl::unexpected<error> permanent(std::string message) {
  return tl::make_unexpected(error{fault::permanent, std::move(message)});
}

}  // namespace outboxd
