// outbox_pages: the pages of one outbox: what they show of it, and what operators do with it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <utility>

#include "app/config/settings.hpp"
#include "console/actions.hpp"
#include "console/api.hpp"
#include "console/desk.hpp"
#include "console/gate.hpp"
#include "console/outlook.hpp"

namespace outboxd::console {

class outbox_pages {
 public:
  outbox_pages(const boost::asio::any_io_executor& on, app::settings from, logins& of)
      : from_(std::move(from)),
        asks_(from_),
        sees_(on, from_, asks_),
        door_(from_.console, of),
        acts_(from_, door_),
        answers_(on, from_, door_, asks_, sees_, acts_) {}
  outbox_pages(const outbox_pages&) = delete;
  outbox_pages& operator=(const outbox_pages&) = delete;

  const app::settings& from() const { return from_; }
  const desk& asks() const { return asks_; }
  outlook& sees() { return sees_; }
  actions& acts() { return acts_; }
  api& answers() { return answers_; }

 private:
  const app::settings from_;
  desk asks_;
  outlook sees_;
  gate door_;
  actions acts_;
  api answers_;
};

}  // namespace outboxd::console
