// channel_opening: see the header.
#include "amqp/channel_opening.hpp"

#include <fmt/format.h>

namespace outboxd::amqp {

std::string_view channel_opening::awaited() const {
  switch (step_) {
    case step::idle:
    case step::channel:
      return "the channel";
    case step::confirm:
      return "confirm mode";
    case step::declare:
      return "the declaration of the exchange";
    case step::done:
      return "nothing more";
  }
  return "";
}

std::string_view channel_opening::declaring() const {
  return step_ == step::declare ? std::string_view(exchanges_[declared_]) : std::string_view();
}

result<void> channel_opening::begin(std::string& out) {
  step_ = step::channel;
  declared_ = 0;
  const amqp_channel_open_t open{};
  return codec::append_method(out, channel_, AMQP_CHANNEL_OPEN_METHOD, &open);
}

result<void> channel_opening::take(const method& answer, std::string& out) {
  switch (step_) {
    case step::channel: {
      if (answer.id != AMQP_CHANNEL_OPEN_OK_METHOD) break;
      step_ = step::confirm;
      const amqp_confirm_select_t select{};
      return codec::append_method(out, channel_, AMQP_CONFIRM_SELECT_METHOD, &select);
    }
    case step::confirm:
      if (answer.id != AMQP_CONFIRM_SELECT_OK_METHOD) break;
      return declare_next(out);
    case step::declare:
      if (answer.id != AMQP_EXCHANGE_DECLARE_OK_METHOD) break;
      ++declared_;
      return declare_next(out);
    case step::idle:
    case step::done:
      break;
  }
  return transient(
      fmt::format("the broker sent method {} while waiting for {}", method_number(answer.id), awaited()));
}

result<void> channel_opening::declare_next(std::string& out) {
  if (declared_ == exchanges_.size()) {
    step_ = step::done;
    return {};
  }
  step_ = step::declare;
  amqp_exchange_declare_t declare{};
  declare.exchange = as_bytes(exchanges_[declared_]);
  declare.type = as_bytes("topic");
  declare.durable = 1;
  return codec::append_method(out, channel_, AMQP_EXCHANGE_DECLARE_METHOD, &declare);
}

}  // namespace outboxd::amqp
