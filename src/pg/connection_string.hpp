// connection_string: libpq's connection string, checked before use, without a secret in any message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace outboxd::pg {

struct host_entry {
  std::string host;     // empty or a path: a Unix-domain socket
  std::string port;     // empty: the default
  std::string address;  // hostaddr: there is no name to look up
};

// A URI (postgresql://…) or key=value pairs, as libpq takes them (manual, "Connection Strings"); empty: PG*
// variables. The error names neither the string nor a part of it, for it may hold a password.
result<void> check_connection_string(std::string_view text);

// The hosts that libpq would try, in their order, from the string and the PG* variables. Empty: libpq's
// default, or something that libpq should resolve itself (a service file) or refuse (lists that do not
// match).
std::vector<host_entry> hosts_of(const std::string& text);

// Does the string, or PGTARGETSESSIONATTRS, choose a kind of server?
bool says_session_attrs(const std::string& text);

// The user, server and database of a login, as far as they are known without trying; several hosts are a
// list, as given.
struct login_target {
  std::string user;
  std::string host;  // or address; empty: the local socket
  std::string port;
  std::string database;
};
login_target target_of(const std::string& text);

// For logs: user, host, port and database, never the password.
std::string display(const std::string& text);

// The same string with *** for each password; if a password is not where one usually is, key=value pairs with
// the same meaning.
std::string without_passwords(const std::string& text);

// Does the string have a password that is not empty?
bool has_password(const std::string& text);

// The same string with this password, for one without. `text` is one that check_connection_string takes.
std::string with_password(const std::string& text, std::string_view password);

// libpq's message on one line: "connection to server at … failed: Connection refused".
std::string one_line(std::string_view words);

// The SQLSTATE in a message of PQERRORS_VERBOSE ("FATAL:  28P01: …"), empty if there is none, and the words
// behind it.
struct login_refusal {
  std::string sqlstate;
  std::string words;
};
login_refusal parse_refusal(std::string_view words);

}  // namespace outboxd::pg
