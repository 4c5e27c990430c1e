// pg_sqlstate_test: whose move it is after an error of PostgreSQL.
#include <doctest/doctest.h>

#include "pg/sqlstate.hpp"

namespace pg_sqlstate_test {

using namespace outboxd;
using namespace outboxd::pg;

TEST_CASE("wrong logins, missing objects and missing privileges wait for somebody to act") {
  for (const char* code : {"28000", "28P01", "3D000", "3F000", "42501", "42703", "42704", "42883", "42P01"}) {
    CAPTURE(code);
    CHECK(fault_of(code) == fault::permanent);
    // What is missing stands in the catalog.
    CHECK(remedy_for(code).empty() == (std::string_view(code) == "42501"));
  }
}

TEST_CASE("a server that is away, full, read-only or taking the lead back will be well again by itself") {
  for (const char* code : {"25006", "57P05", "53300", "57P01", "57P02", "57P03", "57014", "40001", "40P01",
                           "08006", "53100", "55P03"}) {
    CAPTURE(code);
    CHECK(fault_of(code) == fault::transient);
  }
}

TEST_CASE("an unknown code and no code at all are transient and have no remedy") {
  for (const char* code : {"", "XX000", "99999", "28P0", "28P011"}) {
    CAPTURE(code);
    CHECK(fault_of(code) == fault::transient);
    CHECK(remedy_for(code).empty());
  }
}

TEST_CASE("the error says what happened, in the server's words, with the code and what to do") {
  const error login = refused("28P01", "password authentication failed");
  CHECK(login.kind == fault::permanent);
  CHECK(login.message ==
        "password authentication failed (SQLSTATE 28P01); check the user, the password and "
        "pg_hba.conf");
  CHECK(refused("XX000", "b").message == "b (SQLSTATE XX000)");
  CHECK(refused("", "b").message == "b");
}

TEST_CASE(
    "a setting of the connection that cannot work waits for somebody to act, in libpq's words and with a "
    "remedy") {
  for (const char* words :
       {"connection to server at \"h\" (10.0.0.1), port 5432 failed: fe_sendauth: no password supplied",
        "invalid sslmode value: \"nonsense\"", "invalid target_session_attrs value: \"x\"",
        "connection to server at \"h\", port 5432 failed: root certificate file \"/none\" does not exist "
        "Either provide the file or change sslmode to disable server certificate verification.",
        "could not open certificate file \"/none\": No such file or directory",
        "connection to server at \"h\", port 5432 failed: server does not support SSL, but SSL was required",
        "definition of service \"x\" not found"}) {
    const error why = failed_login(words);
    CHECK_MESSAGE(why.kind == fault::permanent, words);
    CHECK_MESSAGE(why.message.starts_with(std::string(words) + "; "), why.message);
  }
}

TEST_CASE("a server that is away or goes away at the login will be well again by itself") {
  for (const char* words :
       {"connection to server at \"h\" (10.0.0.1), port 5432 failed: Connection refused Is the server "
        "running on "
        "that host and accepting TCP/IP connections?",
        "connection to server at \"h\", port 5432 failed: server closed the connection unexpectedly",
        "could not translate host name \"h\" to address: Temporary failure in name resolution",
        "connection to server at \"h\", port 5432 failed: SSL SYSCALL error: EOF detected", ""}) {
    const error why = failed_login(words);
    CHECK_MESSAGE(why.kind == fault::transient, words);
    CHECK(why.message == words);
  }
}

TEST_CASE(
    "words of a refused statement that may quote a row are left out, and the code and what to do stay") {
  for (const char* code : {"22001", "22003", "23505", "23514", "P0001", "P0004"}) {
    CAPTURE(code);
    CHECK(may_quote_a_row(code));
    const error why = refused_statement(code, "boom {\"canary\": 1}");
    CHECK(why.message ==
          std::string("PostgreSQL refused a statement: its message may quote a row and is left out"
                      " (SQLSTATE ") +
              code + ")");
  }
  CHECK(refused_statement("22P02", "invalid input syntax for type json: boom").message ==
        "PostgreSQL refused a statement: its message may quote a row and is left out (SQLSTATE 22P02); a "
        "value has "
        "the wrong form for its type, such as a payload that is not JSON");
  CHECK(refused_statement("42501", "permission denied").message ==
        "PostgreSQL refused a statement: permission denied (SQLSTATE 42501)");
  for (const char* code : {"", "2", "28P01", "42P01", "57P01", "XX000"}) {
    CAPTURE(code);
    CHECK_FALSE(may_quote_a_row(code));
  }
}

TEST_CASE("what a function says may quote a row under any code") {
  for (const char* file :
       {"pl_exec.c", "plpy_elog.c", "plpy_plpymodule.c", "plperl.c", "pltcl.c", "plv8.cc"}) {
    CAPTURE(file);
    CHECK(speaker(file, "") == spoken_by::function);
  }
  for (const char* file : {"", "proc.c", "postgres.c", "planner.c", "plancache.c", "heapam.c"}) {
    CAPTURE(file);
    CHECK(speaker(file, "") == spoken_by::server);
    CHECK(speaker(file, "SELECT canary") == spoken_by::function);
  }
  CHECK(refused_statement("55000", "boom canary", spoken_by::function).message ==
        "PostgreSQL refused a statement: its message may quote a row and is left out (SQLSTATE 55000)");
}

TEST_CASE("what fails for a row is told from what passes by itself and from what ends the session") {
  for (const char* code : {"53200", "57014"}) {  // no memory, no time: with fewer rows there may be
    CAPTURE(code);
    CHECK(read_failure(code) == statement_failure::too_dear);
    CHECK(write_failure(code) == statement_failure::later);
  }
  for (const char* code : {"40001", "40P01", "53100", "55P03"}) {
    CAPTURE(code);
    CHECK(read_failure(code) == statement_failure::later);
    CHECK(write_failure(code) == statement_failure::later);
  }
  for (const char* code : {"22021", "22P05", "54000", "XX001"}) {
    CAPTURE(code);
    CHECK(read_failure(code) == statement_failure::of_a_row);
    CHECK(write_failure(code) == statement_failure::of_a_row);
  }
  for (const char* code : {"58030", "58P01"}) {  // a block of one row; or a disk that cannot be written
    CAPTURE(code);
    CHECK(read_failure(code) == statement_failure::of_a_row);
    CHECK(write_failure(code) == statement_failure::later);
  }
  for (const char* code : {"", "08006", "25001", "57P01", "57P02", "57P03", "57P05"}) {
    CAPTURE(code);
    CHECK(read_failure(code) == statement_failure::of_session);
    CHECK(write_failure(code) == statement_failure::of_session);
  }
  CHECK(write_failure("25006") == statement_failure::later);  // what was sent is still to be marked
  // A user's trigger or foreign key may say anything of a row that is written; a read meets none.
  for (const char* code : {"P0001", "23503", "23514", "42501", "42P01"}) {
    CAPTURE(code);
    CHECK(read_failure(code) == statement_failure::of_session);
    CHECK(write_failure(code) == statement_failure::of_a_row);
  }
}

}  // namespace pg_sqlstate_test
