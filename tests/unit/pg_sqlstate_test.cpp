// pg_sqlstate_test: whose move it is after an error of PostgreSQL.
#include <doctest/doctest.h>

#include "pg/sqlstate.hpp"

using namespace outboxd;
using namespace outboxd::pg;

TEST_CASE("wrong logins, missing objects and missing privileges wait for somebody to act") {
  for (const char* code : {"28000", "28P01", "3D000", "3F000", "42501", "42703", "42704", "42883", "42P01"}) {
    CAPTURE(code);
    CHECK(fault_of(code) == fault::permanent);
    CHECK_FALSE(remedy_for(code).empty());
  }
}

TEST_CASE("a server that is away, full, read-only or taking the claim back will be well again by itself") {
  for (const char* code : {"25006", "25P03", "53300", "57P01", "57P02", "57P03", "57014", "40001", "40P01",
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
  const error login = refused("cannot connect", "28P01", "password authentication failed");
  CHECK(login.kind == fault::permanent);
  CHECK(login.message ==
        "cannot connect: password authentication failed (SQLSTATE 28P01); check the user, the password and "
        "pg_hba.conf");
  CHECK(refused("a", "XX000", "b").message == "a: b (SQLSTATE XX000)");
  CHECK(refused("a", "", "b").message == "a: b");
}
