#include "pg/sqlstate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace outboxd::pg {
namespace {

struct meaning {
  std::string_view sqlstate;
  fault whose;
  std::string_view remedy;
};

constexpr std::string_view no_outbox = "run `outboxd migrate`, or check outbox.schema";
constexpr std::string_view no_login = "check the user, the password and pg_hba.conf";

constexpr std::string_view by_pooler =
    "a connection pooler changes the session between transactions; name the server itself in database.url, "
    "or a pool in session mode";

constexpr std::array meanings{
    meaning{"22P02", fault::permanent,
            "a value has the wrong form for its type, such as a payload that is not JSON"},
    meaning{"28000", fault::permanent, no_login},
    meaning{"28P01", fault::permanent, no_login},
    meaning{"3D000", fault::permanent, "create the database, or check database.url"},
    meaning{"3F000", fault::permanent, no_outbox},
    meaning{"42501", fault::permanent, ""},  // see sql/state/lacks.sql
    meaning{"42703", fault::permanent, no_outbox},
    meaning{"42704", fault::permanent, no_outbox},
    meaning{"42883", fault::permanent, no_outbox},
    meaning{"42P01", fault::permanent, no_outbox},
    meaning{"25006", fault::transient, "the server is read-only; name the writable one in database.url"},
    meaning{"53300", fault::transient,
            "the server has no connection left; raise max_connections, or the CONNECTION LIMIT of the user "
            "or database"},
    meaning{"53100", fault::transient, "make room on the disk of the server"},
    meaning{"26000", fault::transient, by_pooler},
    meaning{"42P05", fault::transient, by_pooler},
    meaning{"57P05", fault::transient, "the relay hung for longer than relay.claim_timeout"},
};

// Messages of libpq 13 to 17, in fe-connect.c, fe-auth.c and fe-secure-openssl.c, about faults on the
// client's side. They are in English, because libpq translates messages only for programs that call
// setlocale.
struct local_mistake {
  std::string_view words;
  std::string_view remedy;
};
constexpr std::string_view check_url = "check database.url and the PG* variables";
constexpr std::string_view check_tls =
    "check sslmode, sslrootcert, sslcert and sslkey in database.url, or the PGSSL* variables";

constexpr std::array local_mistakes{
    local_mistake{"no password supplied",
                  "give one in database.url, database.url_file, PGPASSWORD or a passfile"},
    local_mistake{"sslmode value", check_tls},
    local_mistake{"_protocol_version value", check_tls},
    local_mistake{"SSL protocol version range", check_tls},
    local_mistake{"channel_binding value", check_url},
    local_mistake{"gssencmode value", check_url},
    local_mistake{"target_session_attrs value", check_url},
    local_mistake{"invalid integer value", check_url},
    local_mistake{"invalid port number", check_url},
    local_mistake{"host names to", check_url},
    local_mistake{"port numbers to", check_url},
    local_mistake{"definition of service", "check service, PGSERVICE and the service file"},
    local_mistake{"service file", "check PGSERVICEFILE"},
    local_mistake{"root certificate file", check_tls},
    local_mistake{"certificate file", check_tls},
    local_mistake{"private key file", check_tls},
    local_mistake{"server does not support SSL, but SSL was required", check_tls},
    local_mistake{"certificate verify failed", check_tls},
    local_mistake{"does not match host name", check_tls},
};

const meaning* find(std::string_view sqlstate) {
  const auto* const at = std::find_if(meanings.begin(), meanings.end(),
                                      [&](const meaning& one) { return one.sqlstate == sqlstate; });
  return at == meanings.end() ? nullptr : at;
}

}  // namespace

fault fault_of(std::string_view sqlstate) {
  const meaning* known = find(sqlstate);
  return known != nullptr ? known->whose : fault::transient;
}

std::string_view remedy_for(std::string_view sqlstate) {
  const meaning* known = find(sqlstate);
  return known != nullptr ? known->remedy : std::string_view();
}

namespace {

bool is_class(std::string_view sqlstate, std::initializer_list<std::string_view> classes) {
  return std::find(classes.begin(), classes.end(), sqlstate.substr(0, 2)) != classes.end();
}

}  // namespace

// 22: data exception; 54: program limit exceeded; 58: system error, such as an unreadable block; XX: internal
// error, such as a corrupted row.
statement_failure read_failure(std::string_view sqlstate) {
  if (sqlstate == "57014" || sqlstate == "53200") return statement_failure::too_dear;
  if (is_class(sqlstate, {"40", "53", "55"})) return statement_failure::later;
  if (is_class(sqlstate, {"22", "54", "58", "XX"})) return statement_failure::of_a_row;
  return statement_failure::of_session;
}

bool may_pass(std::string_view sqlstate) {
  return is_class(sqlstate, {"58"});
}

// Users have triggers and foreign keys on the table, so almost any error may concern a single row. 25006,
// read-only: a leader whose server becomes read-only still marks the events that it has sent.
statement_failure write_failure(std::string_view sqlstate) {
  if (sqlstate == "25006" || is_class(sqlstate, {"40", "53", "55", "58"}) || sqlstate == "57014")
    return statement_failure::later;
  if (is_class(sqlstate, {"", "08", "25", "26", "57"})) return statement_failure::of_session;
  return statement_failure::of_a_row;
}

cause cause_of(std::string_view sqlstate) {
  if (sqlstate.starts_with("28")) return cause::login;
  if (sqlstate == "25006") return cause::read_only;
  return remedy_for(sqlstate) == no_outbox ? cause::schema_missing : cause::other;
}

bool is_lock_timeout(std::string_view sqlstate) {
  return sqlstate == "55P03";
}

bool is_queue_full(std::string_view sqlstate) {
  return sqlstate == "54000";
}

bool may_quote_a_row(std::string_view sqlstate) {
  const auto sqlstate_class = sqlstate.substr(0, 2);
  return sqlstate_class == "22" || sqlstate_class == "23" || sqlstate_class == "P0";
}

error refused(std::string_view sqlstate, std::string_view words) {
  std::string message(words);
  if (!sqlstate.empty()) message += fmt::format(" (SQLSTATE {})", sqlstate);
  if (const auto remedy = remedy_for(sqlstate); !remedy.empty()) message += fmt::format("; {}", remedy);
  return {fault_of(sqlstate), std::move(message), cause_of(sqlstate)};
}

error failed_login(std::string_view words) {
  const auto* const known =
      std::find_if(local_mistakes.begin(), local_mistakes.end(),
                   [&](const local_mistake& one) { return words.find(one.words) != std::string_view::npos; });
  if (known == local_mistakes.end()) return {fault::transient, std::string(words)};
  return {fault::permanent, fmt::format("{}; {}", words, known->remedy)};
}

// The procedural languages of PostgreSQL, and PLV8, raise errors in these files. If PostgreSQL cannot parse a
// function's statement, it quotes the statement, which may contain anything.
spoken_by speaker(std::string_view source_file, std::string_view inner_query) {
  constexpr std::array languages{"pl_exec.", "plpy_", "plperl.", "pltcl.", "plv8"};
  const bool raised = std::any_of(languages.begin(), languages.end(), [&](std::string_view language) {
    return source_file.starts_with(language);
  });
  return raised || !inner_query.empty() ? spoken_by::function : spoken_by::server;
}

error refused_statement(std::string_view sqlstate, std::string_view words, spoken_by whose,
                        std::string_view site) {
  const bool unsafe = whose == spoken_by::function || may_quote_a_row(sqlstate);
  const std::string_view shown = unsafe ? "its message may quote a row and is left out" : words;
  error why = site.empty()
                  ? refused(sqlstate, shown)
                  : error{fault_of(sqlstate), fmt::format("{} (SQLSTATE {}){}", shown, sqlstate, site),
                          cause_of(sqlstate)};
  why.message =
      (sqlstate.empty() ? "the session with PostgreSQL ended: " : "PostgreSQL refused a statement: ") +
      why.message;
  return why;
}

}  // namespace outboxd::pg
