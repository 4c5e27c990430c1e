// sqlstate: the meaning of an SQLSTATE for outboxd, in one place (PostgreSQL manual, appendix A).
#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd::pg {

// Will it pass by itself, or does an operator have to act? An unknown code is transient: trying again does no
// harm.
fault fault_of(std::string_view sqlstate);

// The remedy, appended to the server's message; empty if none is known.
std::string_view remedy_for(std::string_view sqlstate);

// What readiness calls it.
cause cause_of(std::string_view sqlstate);

// The meaning of a refused statement about events.
enum class statement_failure {
  later,       // a lock, a full disk, a deadlock: the same statement again
  too_dear,    // it took longer than statement_timeout, or more memory than there is
  of_a_row,    // a row cannot be read or written, however often it is tried
  of_session,  // nothing on this session helps
};
statement_failure read_failure(std::string_view sqlstate);
// Whether a failure to read a row may pass by itself: the disk cannot be read (class 58).
bool may_pass(std::string_view sqlstate);
// Never too_dear: a partial write is repeated unchanged.
statement_failure write_failure(std::string_view sqlstate);

// lock_timeout has passed.
bool is_lock_timeout(std::string_view sqlstate);

// There is no room for a notification: the queue that all databases of the server share is full.
bool is_queue_full(std::string_view sqlstate);

// Whether the server's words may quote a row: data exceptions, violated constraints and what a user's trigger
// raises.
bool may_quote_a_row(std::string_view sqlstate);

// The error for a login that the server refused: "its words (SQLSTATE 28P01); remedy".
error refused(std::string_view sqlstate, std::string_view words);

// The error for a login that failed with libpq's words and no answer of the server. Usually the server is
// unreachable, but a setting that cannot work needs an operator.
error failed_login(std::string_view words);

// Whether an error's message is PostgreSQL's own, or that of a function, such as a user's trigger, which may
// say anything under any SQLSTATE. `source_file` and `inner_query`: PG_DIAG_SOURCE_FILE and
// PG_DIAG_INTERNAL_QUERY, see PQresultErrorField.
enum class spoken_by { server, function };
spoken_by speaker(std::string_view source_file, std::string_view inner_query);

// The same for a statement; words that may quote a row are left out. site: see refusal_site.hpp; if it has a
// remedy, that one is used.
error refused_statement(std::string_view sqlstate, std::string_view words,
                        spoken_by whose = spoken_by::server, std::string_view site = {});

}  // namespace outboxd::pg
