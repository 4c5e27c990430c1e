// test_main: the tests of the test library itself; they need the private PostgreSQL and RabbitMQ.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
