// recorder: a consumer that reconnects.
#include "recorder.hpp"

#include <fmt/format.h>

#include "support/consumer.hpp"
#include "support/eventually.hpp"

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::uint16_t prefetch = 50;
constexpr std::string_view end_mark = "end-mark-";

}  // namespace

recorder::recorder(const arena& where, history& into) : arena_{where}, history_{into} {
  thread_ = std::thread{[this] { run(); }};
}

recorder::~recorder() {
  stopping_ = true;
  thread_.join();
}

void recorder::run() {
  while (!stopping_) {
    try {
      read();
    } catch (const std::exception&) {
      // The broker is unavailable or has closed the connection; unacknowledged messages will be redelivered.
      std::this_thread::sleep_for(100ms);
    }
  }
}

void recorder::read() {
  consumer reader{arena_.queue(), prefetch, arena_.broker_url()};
  ++sessions_;
  while (!stopping_) {
    if (paused_) {
      std::this_thread::sleep_for(10ms);
      continue;
    }
    auto message = reader.next(100ms);
    if (!message) continue;
    const auto tag = message->tag;
    const auto id = message->message_id();
    if (id.starts_with(end_mark)) {
      marks_seen_ = std::max(marks_seen_.load(), std::stoi(id.substr(end_mark.size())));
    } else {
      message->remove_counts_of_queue();
      history_.record(std::move(*message));  // first, because acknowledged messages are not redelivered
    }
    reader.ack(tag);
  }
}

bool recorder::drain(std::chrono::milliseconds limit) {
  paused_ = false;
  const int mark = ++marks_sent_;
  arena_.connect_broker().publish("", arena_.queue(), "", fmt::format("{}{}", end_mark, mark));
  try {
    eventually(
        "the recorder has read the whole queue", [&] { return marks_seen_ >= mark; }, limit);
    return true;
  } catch (const deadline_passed&) {
    return false;
  }
}

}  // namespace outboxd::chaos
