// clinic: a set-up for `outboxd check` to look at, and what it is to find there.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "login.hpp"
#include "stage.hpp"

namespace outboxd::test {

inline constexpr auto canary = "canary-s3cret";

// The relay's user of a sound set-up: outbox_relay, and nothing else.
struct clinic {
  stage on;
  login user{"outbox_relay"};
  environment variables = {{"OUTBOXD_DATABASE_URL", user.url(on)},
                           {"OUTBOXD_AMQP_URL", required_environment("OUTBOXD_AMQP_URL")}};

  void administer(const std::string& sql) const { on.connect().exec(sql); }
  program_result check(const arguments& flags = {}) const {
    arguments words{"check"};
    words.insert(words.end(), flags.begin(), flags.end());
    return run_outboxd(words, variables);
  }
  nlohmann::json findings(arguments flags = {}) const {
    flags.emplace_back("--json");
    const auto done = check(flags);
    CAPTURE(done.text());
    return nlohmann::json::parse(done.text());
  }
};

inline std::string read(const nlohmann::json& finding, const char* key) {
  return finding[key].is_null() ? std::string() : finding[key].get<std::string>();
}

// The check `name` says this, with a remedy, and the exit status is the failure's.
inline void finds(const clinic& at, const std::string& name, const std::string& verdict,
                  const std::string& words, const std::string& remedy, const arguments& flags = {}) {
  CAPTURE(name);
  const auto done = at.check(flags);
  CAPTURE(done.text());
  CHECK(done.exited(verdict == "failure" ? 1 : 0));
  CHECK_FALSE(done.says(canary));
  const auto line = std::find_if(done.lines.begin(), done.lines.end(), [&](const std::string& one) {
    return one.starts_with(verdict) && one.find(" " + name + ": ") != std::string::npos &&
           one.find(words) != std::string::npos;
  });
  REQUIRE(line != done.lines.end());
  REQUIRE(line + 1 != done.lines.end());
  CHECK_MESSAGE((line + 1)->starts_with("    "), *(line + 1));
  CHECK_MESSAGE((line + 1)->find(remedy) != std::string::npos, *(line + 1));
}

}  // namespace outboxd::test
