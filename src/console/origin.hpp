// origin: checks whether a request comes from the console's own page. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/message.hpp"
#include "http/url.hpp"

namespace outboxd::console {

// https://ops.example, https://ops.example:8443: the format in which a browser sends a page's origin.
std::string origin_of(const http::url& page);

// Checks the browser's headers of a request for data, which pages of other sites may not have. Clients other
// than browsers do not send these headers.
bool may_be_own(const http::request& asked);

// For a POST: checks that its Origin is the console's. `public_url`: the URL of the console behind a proxy.
bool is_own(const http::request& asked, const std::optional<http::url>& public_url);

// The value of a cookie; nullopt if it is missing or occurs twice.
std::optional<std::string_view> cookie(const http::request& asked, std::string_view name);

}  // namespace outboxd::console
