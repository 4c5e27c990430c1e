// management_api: asks RabbitMQ's management API, in bounded time, for JSON.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "app/check/finding.hpp"
#include "http/url.hpp"

namespace outboxd::app::check {

class management_api {
 public:
  // login: for a URL that has none. All questions together may take `limit`.
  management_api(http::url where, http::credentials login, std::chrono::milliseconds limit);

  const http::url& where() const { return where_; }

  // null: there is no such thing (404). What cannot be asked is a warning: a relay works without it.
  tl::expected<nlohmann::json, finding> get(std::string_view target) const;

 private:
  finding refused(int status, const std::string& body) const;

  http::url where_;
  http::credentials login_;
  std::chrono::steady_clock::time_point until_;
};

}  // namespace outboxd::app::check
