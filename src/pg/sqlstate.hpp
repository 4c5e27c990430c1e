// sqlstate: what an SQLSTATE means for outboxd (PostgreSQL manual, appendix A); the only place that decides
// it.
#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd::pg {

// Whether the fault goes away by itself, or an operator has to act. An unknown code is transient, because a
// retry does no harm.
fault fault_of(std::string_view sqlstate);

// The remedy to append to the server's message; empty if unknown.
std::string_view remedy_for(std::string_view sqlstate);

// The cause that readiness reports.
cause cause_of(std::string_view sqlstate);

// What a rejected statement about events means.
enum class statement_failure {
  later,       // a lock, a full disk or a deadlock: retry the same statement
  too_dear,    // it exceeded statement_timeout or the available memory
  of_a_row,    // a row cannot be read or written, even if retried
  of_session,  // nothing helps in this session
};
statement_failure read_failure(std::string_view sqlstate);
// Whether a failure to read a row may go away by itself: the disk cannot be read (class 58).
bool may_pass(std::string_view sqlstate);
// Never returns too_dear: a partial write is repeated unchanged.
statement_failure write_failure(std::string_view sqlstate);

// True for an expired lock_timeout.
bool is_lock_timeout(std::string_view sqlstate);

// True if there is no room for a notification, because the queue that all databases of the server share is
// full.
bool is_queue_full(std::string_view sqlstate);

// Whether the server's message may quote a row: data exceptions, violated constraints, and errors raised by a
// user's trigger.
bool may_quote_a_row(std::string_view sqlstate);

// The error for a login that the server rejected: "its message (SQLSTATE 28P01); remedy".
error refused(std::string_view sqlstate, std::string_view words);

// The error for a login that failed with a message of libpq, without an answer from the server. Usually the
// server is unreachable, but a setting that cannot work needs an operator.
error failed_login(std::string_view words);

// Whether an error's message is PostgreSQL's own, or that of a function, such as a user's trigger, which may
// use any text with any SQLSTATE. `source_file` and `inner_query`: PG_DIAG_SOURCE_FILE and
// PG_DIAG_INTERNAL_QUERY, see PQresultErrorField.
enum class spoken_by { server, function };
spoken_by speaker(std::string_view source_file, std::string_view inner_query);

// The error for a rejected statement; text that may quote a row is omitted. site: see refusal_site.hpp; if it
// contains a remedy, that one is used.
error refused_statement(std::string_view sqlstate, std::string_view words,
                        spoken_by whose = spoken_by::server, std::string_view site = {});

}  // namespace outboxd::pg
