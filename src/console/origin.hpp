// origin: whether a request comes from the console's own page. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/message.hpp"
#include "http/url.hpp"

namespace outboxd::console {

// https://ops.example, https://ops.example:8443: as a browser writes the origin of a page.
std::string origin_of(const http::url& page);

// What the browser says of a request for data: a page of another site does not get any. Those who are no
// browser say nothing.
bool may_be_own(const http::request& asked);

// Of a POST: that its Origin is the console's. `public_url`: of the console behind a proxy.
bool is_own(const http::request& asked, const std::optional<http::url>& public_url);

// The value of a cookie; nothing, if it is missing, or there twice.
std::optional<std::string_view> cookie(const http::request& asked, std::string_view name);

}  // namespace outboxd::console
