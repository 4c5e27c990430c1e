// site: the console of several outboxes: a list of them, and below outbox/NAME/ the pages of each.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/settings.hpp"
#include "console/gate.hpp"
#include "console/outbox_pages.hpp"
#include "http/message.hpp"

namespace outboxd::console {

// An outbox of the list: its name, and why its settings cannot be used, or what outlook::glance() has seen.
nlohmann::json row_of(const std::string& name, const nlohmann::json& seen);
nlohmann::json row_of_wrong(const std::string& name, const std::string& why);

// The worst first: by the level of the headline, then by the age of the oldest due event, then by name.
void put_worst_first(nlohmann::json& rows);

class site {
 public:
  struct wrong_outbox {
    std::string name;
    std::string why;
  };
  using all_pages = std::vector<std::unique_ptr<outbox_pages>>;

  // All have to outlive it, and the handler. `main` has the settings of the process.
  site(const app::settings& main, logins& of, all_pages& pages, std::vector<wrong_outbox> wrong)
      : main_(main), door_(main.console, of), pages_(pages), wrong_(std::move(wrong)) {}

  http::later_handler handler();

 private:
  using answered = boost::asio::awaitable<http::response>;

  answered answer(const http::request& asked);
  http::response answer_itself(std::string_view path, const http::request& asked);
  nlohmann::json rows();
  outbox_pages* find(std::string_view name);

  const app::settings& main_;
  gate door_;
  all_pages& pages_;
  std::vector<wrong_outbox> wrong_;
};

}  // namespace outboxd::console
