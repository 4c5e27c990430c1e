// management_api: asks RabbitMQ's management API, in bounded time, for JSON.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "amqp/tls_context.hpp"
#include "app/check/finding.hpp"
#include "http/client.hpp"
#include "http/url.hpp"

namespace outboxd::app::check {

class management_api {
 public:
  // login: for a URL that has none. tls: what the relay trusts and shows, for a URL with https. All questions
  // together may take `limit`.
  management_api(http::url where, http::credentials login, amqp::tls_settings tls,
                 std::chrono::milliseconds limit);

  const http::url& where() const { return where_; }

  // null: there is no such thing (404). What cannot be asked is a warning: a relay works without it.
  tl::expected<nlohmann::json, finding> get(std::string_view target) const;

 private:
  result<http::answer> ask(std::string_view target, std::chrono::milliseconds limit) const;
  finding refused(int status, const std::string& body) const;

  http::url where_;
  http::credentials login_;
  amqp::tls_settings tls_;
  std::chrono::steady_clock::time_point until_;
};

}  // namespace outboxd::app::check
