// acting_console: a console in which whoever has the token may act, and somebody who does, as the page would.
#pragma once

#include "running_console.hpp"

namespace outboxd::test {

inline constexpr auto read_token = "read-read-read-read";
inline constexpr auto act_token = "act-act-act-act-act";

class acting_console : public running_console {
 public:
  explicit acting_console(const operator_desk& of, const arguments& flags = {},
                          const environment& variables = {})
      : running_console{of, flags, with_tokens(variables)} {}

 private:
  static environment with_tokens(environment out) {
    out.emplace("OUTBOXD_CONSOLE_READ_TOKEN", read_token);
    out.emplace("OUTBOXD_CONSOLE_ACT_TOKEN", act_token);
    out.emplace("OUTBOXD_CONSOLE_ACCESS", "act");
    return out;
  }
};

class person {
 public:
  explicit person(const running_console& at, const char* token = act_token)
      : console_{at}, shown_{fmt::format("Authorization: Bearer {}\r\n", token)} {
    csrf_ = nlohmann::json::parse(get("/api/session").body).at("csrf").get<std::string>();
  }

  http_answer get(std::string_view path) const { return console_.ask("GET", path, shown_); }
  http_answer post(std::string_view path, const nlohmann::json& body) const {
    return console_.post(path, body.dump(), fmt::format("{}X-CSRF-Token: {}\r\n", shown_, csrf_));
  }

  nlohmann::json preview(const nlohmann::json& order) const {
    return answered(post("/api/action/preview", order));
  }
  nlohmann::json apply(const nlohmann::json& plan, const std::string& reason = "ticket 7") const {
    return answered(post("/api/action/apply", {{"token", plan.at("token")}, {"reason", reason}}));
  }
  nlohmann::json progress(const nlohmann::json& plan) const {
    return answered(get("/api/action?token=" + plan.at("token").get<std::string>()));
  }
  nlohmann::json await(const nlohmann::json& plan, const std::string& state) const {
    nlohmann::json seen;
    eventually(
        "the action is " + state,
        [&] {
          seen = progress(plan);
          const auto now = seen.at("state").get<std::string>();
          return now == state || now == "done" || now == "stopped" || now == "failed";
        },
        time_limit);
    REQUIRE_MESSAGE(seen.at("state") == state, seen.dump());
    return seen;
  }
  // All of it.
  nlohmann::json act(const nlohmann::json& order) const {
    const auto plan = preview(order);
    apply(plan);
    return await(plan, "done");
  }

 private:
  static nlohmann::json answered(const http_answer& answer) {
    CHECK_MESSAGE(answer.status == 200, answer.body);
    return nlohmann::json::parse(answer.body);
  }

  const running_console& console_;
  std::string shown_;
  std::string csrf_;
};

}  // namespace outboxd::test
