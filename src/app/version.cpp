#include "app/version.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <spdlog/version.h>
#include <toml++/toml.h>

#include <openssl/crypto.h>
#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <nlohmann/json.hpp>

#include "amqp/rabbitmq.hpp"

namespace outboxd::app {
namespace {

std::string libpq_version() {
  const int number = PQlibVersion();  // 150004: 15.4
  return fmt::format("{}.{}", number / 10000, number % 10000);
}

}  // namespace

std::string version_text() {
  std::string out = fmt::format("outboxd {}\n", OUTBOXD_VERSION);
  out += fmt::format("commit {}\n", commit().empty() ? "unknown" : commit());
  // The libraries loaded at run time may be newer than those used for the build.
  out += fmt::format("libpq {}\n", libpq_version());
  out += fmt::format("librabbitmq {}\n", ::amqp_version());
  out += fmt::format("{}\n", ::OpenSSL_version(OPENSSL_VERSION));
  // These libraries are compiled in.
  out += fmt::format("Boost {}.{}.{}\n", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000,
                     BOOST_VERSION % 100);
  out += fmt::format("fmt {}.{}.{}\n", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  out += fmt::format("spdlog {}.{}.{}\n", SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH);
  out += fmt::format("toml++ {}.{}.{}\n", TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH);
  out += fmt::format("nlohmann_json {}.{}.{}\n", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                     NLOHMANN_JSON_VERSION_PATCH);
  out += fmt::format("CLI11 {}\n", CLI11_VERSION);
  return out;
}

}  // namespace outboxd::app
