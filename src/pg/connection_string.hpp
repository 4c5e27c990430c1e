// connection_string: libpq's connection strings: checks them before use, and keeps secrets out of messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace outboxd::pg {

struct host_entry {
  std::string host;     // empty or a path: Unix-domain socket
  std::string port;     // empty: the default
  std::string address;  // hostaddr: no name has to be resolved
};

// Accepts what libpq accepts: a URI (postgresql://…) or key=value pairs (manual, "Connection Strings");
// empty: PG* variables. The error does not quote the string or any part of it, because that may be a
// password.
result<void> check_connection_string(std::string_view text);

// The hosts that libpq would try, in order, from the string and the PG* variables. Empty: libpq's default, or
// something that libpq should resolve (a service file) or reject (lists of different lengths).
std::vector<host_entry> hosts_of(const std::string& text);

// Whether the string, or PGTARGETSESSIONATTRS, sets target_session_attrs.
bool says_session_attrs(const std::string& text);

// The user, server and database of a login, as far as they are known without connecting; several hosts are
// returned as the list given.
struct login_target {
  std::string user;
  std::string host;  // host name or address; empty: the local socket
  std::string port;
  std::string database;
};
login_target target_of(const std::string& text);

// For logs: user, host, port and database, but never the password.
std::string display(const std::string& text);

// The same string with *** for each password; if the password is in an unusual place, equivalent key=value
// pairs.
std::string without_passwords(const std::string& text);

// Whether the string contains a non-empty password.
bool has_password(const std::string& text);

// Adds this password to a string that has none. `text` must pass check_connection_string.
std::string with_password(const std::string& text, std::string_view password);

// The message of libpq on one line: "connection to server at … failed: Connection refused".
std::string one_line(std::string_view words);

// The SQLSTATE in a message of PQERRORS_VERBOSE ("FATAL:  28P01: …"), or empty, and the text after it.
struct login_refusal {
  std::string sqlstate;
  std::string words;
};
login_refusal parse_refusal(std::string_view words);

}  // namespace outboxd::pg
