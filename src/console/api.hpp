// api: handles requests for each path of the console.
#pragma once

#include "app/config/settings.hpp"
#include "console/actions.hpp"
#include "console/desk.hpp"
#include "console/gate.hpp"
#include "console/outlook.hpp"
#include "console/shared_answer.hpp"
#include "http/message.hpp"

namespace outboxd::console {

class api {
 public:
  // All arguments must outlive this object and the handler.
  api(const boost::asio::any_io_executor& on, const app::settings& from, gate& door, desk& asks,
      outlook& sees, actions& acts)
      : from_(from),
        gate_(door),
        desk_(asks),
        outlook_(sees),
        actions_(acts),
        stuck_(on),
        checks_(on, std::chrono::minutes(1)) {}

  http::later_handler handler();

  using answered = boost::asio::awaitable<http::response>;

  // The same without the headers that every answer has.
  answered answer(const http::request& asked);

 private:
  answered data(std::string_view path, const http::request& asked, const principal& by);
  answered now(const http::request& asked);
  answered stuck();
  answered checks();
  answered audit(const http::request& asked);
  answered event(const http::request& asked);
  answered payload(const http::request& asked, const principal& by);
  answered search(const http::request& asked);
  http::response settings() const;

  const app::settings& from_;
  gate& gate_;
  desk& desk_;
  outlook& outlook_;
  actions& actions_;
  shared_answer stuck_;
  shared_answer checks_;
};

}  // namespace outboxd::console
