// running_console: `outboxd console` of a user who has outbox_operator and nothing else, on its own port.
#pragma once

#include <nlohmann/json.hpp>

#include "operator_desk.hpp"
#include "stage.hpp"
#include "support/http_client.hpp"

namespace outboxd::test {

class running_console : public process {
 public:
  // `variables` override the desk's; by default no relay is asked.
  explicit running_console(const operator_desk& of, arguments flags = {}, const environment& variables = {})
      : process{{.program = outboxd_binary(),
                 .arguments = with_listener(std::move(flags)),
                 .environment = with(of.variables(), variables),
                 .log_file = {}}},
        port_{port_in(wait_line(std::string(said_at), time_limit))} {}

  std::uint16_t port() const { return port_; }
  http_client connect() const { return http_client{port_}; }

  http_answer get(std::string_view path) const { return connect().get(path); }
  nlohmann::json json(std::string_view path) const {
    const auto answer = get(path);
    CHECK_MESSAGE(answer.status == 200, answer.body);
    return nlohmann::json::parse(answer.body);
  }
  // The first sentence, with its code and level.
  nlohmann::json headline() const { return json("/api/now").at("headline"); }
  void await_headline(const std::string& code) const {
    nlohmann::json last;
    eventually(
        "the page says " + code,
        [&] {
          last = headline();
          return last.at("code") == code;
        },
        time_limit);
  }

  http_answer ask(std::string_view method, std::string_view path, std::string_view headers,
                  std::string_view body = "") const {
    auto client = connect();
    client.send(fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: {}\r\n{}\r\n{}", method,
                            path, port_, body.size(), headers, body));
    return client.read_answer();
  }
  // As the page itself sends it.
  http_answer post(std::string_view path, std::string_view body, std::string_view headers = "") const {
    return ask(
        "POST", path,
        fmt::format("Origin: http://127.0.0.1:{}\r\nContent-Type: application/json\r\n{}", port_, headers),
        body);
  }

 private:
  static constexpr std::string_view said_at = "the console is at http://127.0.0.1:";

  static arguments with_listener(arguments flags) {
    flags.insert(flags.begin(), "console");
    flags.insert(flags.end(), {"--console-listen", "127.0.0.1:0"});
    return flags;
  }
  static environment with(environment all, const environment& others) {
    for (const auto& [name, value] : others) all[name] = value;
    return all;
  }
  static std::uint16_t port_in(const std::string& line) {
    return static_cast<std::uint16_t>(std::stoi(line.substr(line.find(said_at) + said_at.size())));
  }

  std::uint16_t port_;
};

}  // namespace outboxd::test
