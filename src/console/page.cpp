#include "console/page.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "console/assets.hpp"
#include "console/gate.hpp"

namespace outboxd::console {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> types{{
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
}};

// - Only scripts and styles from the console's own files, so that an event's content is never executed.
// - require-trusted-types-for: the browser refuses to create elements from text.
// - No page may show this one in a frame, which prevents clickjacking.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> guards{{
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
     "trusted-types 'none'"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
}};

}  // namespace

std::optional<http::response> file_at(std::string_view path) {
  if (path == "/") path = "/index.html";
  const auto all = assets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const asset& one) { return one.path == path; });
  if (found == all.end()) return std::nullopt;
  const auto type =
      std::find_if(types.begin(), types.end(), [&](const auto& one) { return path.ends_with(one.first); });
  return http::response{200,
                        std::string(type == types.end() ? http::plain_text : type->second),
                        std::string(found->content),
                        {}};
}

std::string_view without_prefix(std::string_view path, const std::optional<http::url>& public_url) {
  if (!public_url || public_url->path.empty() || !path.starts_with(public_url->path)) return path;
  const auto rest = path.substr(public_url->path.size());
  return rest.starts_with('/') ? rest : path;
}

http::response page_at(std::string_view path, const std::optional<http::url>& public_url) {
  if (auto file = file_at(path)) return *std::move(file);
  // Relative links of the page need the slash at the end of its prefix.
  if (public_url && path == public_url->path) {
    http::response out{308, std::string(http::plain_text), "", {}};
    out.headers.emplace_back("Location", public_url->path + "/");
    return out;
  }
  return refused(404, "no_page", "there is no such page");
}

void add_guards(http::response& to) {
  for (const auto& [name, value] : guards) to.headers.emplace_back(name, value);
}

}  // namespace outboxd::console
