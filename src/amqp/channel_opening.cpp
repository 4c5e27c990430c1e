// channel_opening: see channel_opening.hpp.
#include "amqp/channel_opening.hpp"

#include <fmt/format.h>

#include <utility>

namespace outboxd::amqp {

std::string_view channel_opening::awaited() const {
  switch (step_) {
    case step::idle:
    case step::channel:
      return "the channel";
    case step::confirm:
      return "confirm mode";
    case step::look:
      return "the answer about the exchange";
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
  declared_ = 0;
  missing_ = false;
  created_.clear();
  return open(out);
}

result<void> channel_opening::open(std::string& out) {
  step_ = step::channel;
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
      return look_or_declare(out);
    case step::look:
      if (answer.id != AMQP_EXCHANGE_DECLARE_OK_METHOD) break;
      return declare(out, false);  // also checks the type, which may differ
    case step::declare:
      if (answer.id != AMQP_EXCHANGE_DECLARE_OK_METHOD) break;
      if (std::exchange(missing_, false)) created_.push_back(exchanges_[declared_]);
      ++declared_;
      return look_or_declare(out);
    case step::idle:
    case step::done:
      break;
  }
  return transient(
      fmt::format("the broker sent method {} while waiting for {}", method_number(answer.id), awaited()));
}

result<bool> channel_opening::take_missing(const amqp_channel_close_t& close, std::string& out) {
  if (step_ != step::look || close.reply_code != AMQP_NOT_FOUND) return false;
  missing_ = true;
  const amqp_channel_close_ok_t ok{};
  auto sent = codec::append_method(out, channel_, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
  if (sent) sent = open(out);
  if (!sent) return tl::make_unexpected(sent.error());
  return true;
}

result<void> channel_opening::look_or_declare(std::string& out) {
  if (declared_ == exchanges_.size()) {
    step_ = step::done;
    return {};
  }
  return declare(out, manner_ == manner::looks_first && !missing_);
}

result<void> channel_opening::declare(std::string& out, bool passive) {
  step_ = passive ? step::look : step::declare;
  amqp_exchange_declare_t declare{};
  declare.exchange = as_bytes(exchanges_[declared_]);
  declare.type = as_bytes("topic");
  declare.passive = passive ? 1 : 0;
  declare.durable = 1;
  return codec::append_method(out, channel_, AMQP_EXCHANGE_DECLARE_METHOD, &declare);
}

}  // namespace outboxd::amqp
