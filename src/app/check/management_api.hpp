// management_api: requests JSON from RabbitMQ's management API, with time limits.
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
  // login: used if the URL has none. tls: the relay's CAs and client certificate, for an https URL. All
  // requests together may take `limit`.
  management_api(http::url where, http::credentials login, amqp::tls_settings tls,
                 std::chrono::milliseconds limit);

  const http::url& where() const { return where_; }

  // null: not found (404). A failed request is only a warning, because a relay works without this API.
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
