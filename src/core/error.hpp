// error: what went wrong, in one sentence, and whose move it is.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace outboxd {

enum class fault {
  transient,  // the peer is away, busy or restarting: reconnect with backoff
  permanent,  // nothing changes until somebody acts (password, schema, privilege): do not start with it
};

// What readiness tells apart.
enum class cause {
  other,
  login,           // user, password or permission
  read_only,       // a standby, or a server that wants no writes
  schema_missing,  // there is no outbox
  schema_version,  // one that this program does not know
};

struct error {
  fault kind = fault::transient;
  std::string message;  // what happened, to what, and what to do; never a secret, never a payload
  cause why = cause::other;
};

template <class T>
using result = tl::expected<T, error>;

inline tl::unexpected<error> transient(std::string message, cause why = cause::other) {
  return tl::make_unexpected(error{fault::transient, std::move(message), why});
}
inline tl::unexpected<error> permanent(std::string message, cause why = cause::other) {
  return tl::make_unexpected(error{fault::permanent, std::move(message), why});
}

}  // namespace outboxd
