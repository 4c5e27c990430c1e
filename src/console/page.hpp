// page: the console's static files, and the HTTP headers that restrict the browser.
#pragma once

#include <optional>
#include <string_view>

#include "http/message.hpp"
#include "http/url.hpp"

namespace outboxd::console {

// The file at this path; nullopt if there is none. "/" is the page itself.
std::optional<http::response> file_at(std::string_view path);

// A request's path without the path of console.public_url, which a proxy may pass on or remove.
std::string_view without_prefix(std::string_view path, const std::optional<http::url>& public_url);

// The answer to a request for such a path: a file, a redirect to the path with a slash, or a refusal.
http::response page_at(std::string_view path, const std::optional<http::url>& public_url);

// The headers of every response.
void add_guards(http::response& to);

}  // namespace outboxd::console
