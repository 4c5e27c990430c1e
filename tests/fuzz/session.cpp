// Fuzzes an open channel with everything that a broker says, while messages are published. Every publish gets
// at most one outcome, nothing gets one that was not published, and what is given back at the end had none. A
// channel that is closed over a message is opened again.
#include "amqp/session.hpp"

#include <fmt/format.h>

#include <map>

#include "feed.hpp"
#include "input.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

constexpr std::uint32_t frame_max = amqp::frame_max_own;

class world {
 public:
  void publish() {
    if (!channel_.open()) return;
    const message what{.exchange = "outbox",
                       .routing_key = "k",
                       .message_id = fmt::format("m{}", next_),
                       .type = "t",
                       .content_type = "text/plain",
                       .timestamp = 0,
                       .aggregate_type = "a",
                       .aggregate_id = "1",
                       .seq = 1,
                       .occurred_at = "",
                       .headers = "{}",
                       .body = "x"};
    must(channel_.publish(next_, what, sent_).has_value(), "a plain message can be published");
    open_.emplace(next_++, true);
  }

  // False: the connection is at its end.
  bool take(const amqp::frame& f) {
    amqp::session::news news;
    std::string reply;
    const auto ok = channel_.receive(f, news, reply);
    for (const outcome& one : news.outcomes) settle(one);
    for (const token one : news.unknown)
      must(open_.erase(one) == 1, "what is unknown after a channel's close had no outcome");
    must(news.unknown.empty() || channel_.unconfirmed() == 0,
         "a closed channel takes all that was open with it");
    must(reply.size() < 4096, "an answer is small");
    if (!ok) must(!ok.error().message.empty(), "an error says why");
    return ok.has_value() && !news.closed;
  }

  void end() {
    for (const token one : channel_.abandon()) {
      must(open_.contains(one), "what is given back was open");
      open_.erase(one);
    }
    must(channel_.unconfirmed() == 0, "nothing is left open after the end");
  }

 private:
  void settle(const outcome& one) {
    must(open_.erase(one.id) == 1, "an outcome belongs to a publish that had none");
    must(one.reason.empty() == (one.what != verdict::returned), "a return, and nothing else, has a reason");
  }

  amqp::session channel_{
      {.channel = 1, .frame_max = frame_max, .declare_exchanges = {"outbox"}, .limits = {}}};
  std::map<token, bool> open_;
  token next_ = 1;
  std::string sent_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  world w;
  for (int left = in.byte() % 128; left > 0; --left) w.publish();
  const std::size_t piece = std::size_t{1} << (in.byte() % 18);
  auto bytes = in.rest();
  amqp::frame_parser parser(frame_max);
  bool goes_on = true;
  while (goes_on && !bytes.empty()) {
    fuzz::feed(parser, bytes, piece);
    while (goes_on) {
      const auto next = parser.next();
      goes_on = next.has_value();
      if (!next || !*next) break;
      goes_on = w.take(**next);
      if ((*next)->type == amqp::frame_type::heartbeat) w.publish();  // more, in between
    }
  }
  w.end();
  return 0;
}
