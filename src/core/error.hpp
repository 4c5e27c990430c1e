// error: what went wrong, in one sentence, and who has to act.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace outboxd {

enum class fault {
  transient,  // the peer is unavailable, busy or restarting: reconnect with backoff
  permanent,  // persists until somebody fixes it (password, schema, privilege): refuse to start
};

// The causes that readiness distinguishes.
enum class cause {
  other,
  login,           // wrong user or password, or missing permission
  read_only,       // the server is a standby or read-only
  schema_missing,  // the database has no outbox
  schema_version,  // this program does not support the version of the schema
};

struct error {
  fault kind = fault::transient;
  std::string message;  // what happened, to what, and what to do; never contains a secret or a payload
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

// Propagate an error. OUTBOXD_TRY(auto x, f()) declares x as the value of f(), or returns the error from the
// function. OUTBOXD_TRY_VOID(f()) is for a result without a value. In a coroutine, use OUTBOXD_CO_TRY and
// OUTBOXD_CO_TRY_VOID.
#define OUTBOXD_TRY_NAME_(line) outboxd_tried_##line
#define OUTBOXD_TRY_NAME(line) OUTBOXD_TRY_NAME_(line)
#define OUTBOXD_TRY_BY_(leave, name, declaration, ...)           \
  auto name = (__VA_ARGS__);                                     \
  if (!name) leave tl::make_unexpected(std::move(name).error()); \
  declaration = *std::move(name)
#define OUTBOXD_TRY_VOID_BY_(leave, ...)                                                         \
  do {                                                                                           \
    if (auto tried = (__VA_ARGS__); !tried) leave tl::make_unexpected(std::move(tried).error()); \
  } while (false)
#define OUTBOXD_TRY(declaration, ...) \
  OUTBOXD_TRY_BY_(return, OUTBOXD_TRY_NAME(__LINE__), declaration, __VA_ARGS__)
#define OUTBOXD_TRY_VOID(...) OUTBOXD_TRY_VOID_BY_(return, __VA_ARGS__)
#define OUTBOXD_CO_TRY(declaration, ...) \
  OUTBOXD_TRY_BY_(co_return, OUTBOXD_TRY_NAME(__LINE__), declaration, __VA_ARGS__)
#define OUTBOXD_CO_TRY_VOID(...) OUTBOXD_TRY_VOID_BY_(co_return, __VA_ARGS__)
