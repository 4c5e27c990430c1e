// otlp_span_sender_test: every span is counted once, whatever the collector does.
#include "otlp/span_sender.hpp"

#include <doctest/doctest.h>

#include "otlp_script.hpp"
#include "support/eventually.hpp"
#include "support/fake_collector.hpp"

namespace otlp_span_sender_test {

using namespace outboxd;
using namespace outboxd::otlp;
using namespace std::chrono_literals;
using outboxd::test::fake_collector;
using outboxd::test::traced_event;

namespace {

constexpr sender_limits hasty{
    .gather = 10ms, .answer = 30s, .first_pause = 2ms, .longest_pause = 10ms, .tries = 3, .last = 30s};

http::url url_of(std::uint16_t port) {
  return {.login = {}, .host = "127.0.0.1", .port = port, .path = {}};
}

class sender_script {
 public:
  explicit sender_script(http::url to, sender_limits limits = hasty, queue_limits queue = {})
      : sender(io_, std::move(to),
               {.on_trouble = [this](const std::string& words) { said.push_back(words); },
                .on_recovery = [this](const std::string& words) { said.push_back(words); }},
               queue, limits) {}

  void add(int count = 1) {
    for (int i = 0; i < count; ++i) sender.add(from_.context(), from_.published());
  }
  template <class Condition>
  void await(const std::string& what, Condition condition) {
    test::eventually(what, [&] {
      io_.restart();
      io_.poll();
      return condition();
    });
  }
  // Whether it left nothing behind on the reactor.
  bool stop() {
    std::optional<bool> clean;
    sender.stop([&clean](bool so) { clean = so; });
    await("the sender has stopped", [&] { return clean.has_value(); });
    return *clean;
  }
  bool has_said(std::string_view words) const {
    for (const auto& one : said)
      if (one.find(words) != std::string::npos) return true;
    return false;
  }
  std::string counts() const {
    const auto& all = sender.counts();
    std::string out;
    const auto put = [&out](const char* name, std::uint64_t count) {
      if (count > 0) out += std::string(name) + " " + std::to_string(count) + " ";
    };
    put("sent", all.sent);
    put("no room", all.no_room);
    put("refused", all.refused);
    put("unsent", all.unsent);
    return out;
  }

 private:
  boost::asio::io_context io_{1};
  traced_event from_;

 public:
  std::vector<std::string> said;
  span_sender sender;
};

}  // namespace

TEST_CASE("a collector gets spans a moment after the first, in one request") {
  const fake_collector collector;
  sender_script it(url_of(collector.port()));
  it.add(3);
  it.await("the spans are sent", [&] { return it.sender.counts().sent == 3; });
  CHECK(collector.taken().size() == 1);
  CHECK(collector.spans().size() == 3);
  it.add();
  it.await("the span is sent", [&] { return it.sender.counts().sent == 4; });
  CHECK(collector.complaints().empty());
  CHECK(it.said.empty());
  CHECK(it.stop());
  CHECK(it.counts() == "sent 4 ");
}

TEST_CASE("full requests are sent at once, one after another") {
  const fake_collector collector;
  auto limits = hasty;
  limits.gather = 1h;
  sender_script it(url_of(collector.port()), limits, {.request = 2'000});
  it.add(20);
  it.await("all but the last spans are sent", [&] { return it.sender.counts().sent >= 18; });
  CHECK(collector.taken().size() >= 6);
  CHECK(it.stop());
  CHECK(it.counts() == "sent 20 ");
  CHECK(collector.spans().size() == 20);
}

TEST_CASE("a stop sends what there is") {
  const fake_collector collector;
  auto limits = hasty;
  limits.gather = 1h;
  sender_script it(url_of(collector.port()), limits);
  it.add(5);
  CHECK(it.stop());
  CHECK(it.counts() == "sent 5 ");
  CHECK(collector.spans().size() == 5);
}

TEST_CASE("a stop without spans is over at once") {
  sender_script it(url_of(1));
  bool clean = false;
  it.sender.stop([&clean](bool so) { clean = so; });
  CHECK(clean);
  CHECK(it.counts().empty());
}

TEST_CASE("spans that a collector refuses are counted, and those that follow are sent") {
  fake_collector collector(fake_collector::way::answers_500);
  sender_script it(url_of(collector.port()));
  it.add(2);
  it.await("they are refused", [&] { return it.sender.counts().refused == 2; });
  CHECK(collector.requests() == 1);
  it.add();
  it.await("it is refused", [&] { return it.sender.counts().refused == 3; });
  CHECK(it.said ==
        std::vector<std::string>{"spans do not reach " + collector.url() + ": it answers 500: out of order"});
  collector.behave(fake_collector::way::takes_part);
  it.add(4);
  it.await("all but one are sent", [&] { return it.sender.counts().sent == 3; });
  CHECK(it.said.size() == 1);
  collector.behave(fake_collector::way::takes);
  it.add();
  it.await("the collector takes spans again", [&] { return it.said.size() == 2; });
  CHECK(it.said[1] == collector.url() + " takes spans again");
  CHECK(it.stop());
  CHECK(it.counts() == "sent 4 refused 4 ");
}

TEST_CASE("a request that a collector does not answer well is tried again, and given up") {
  using way = fake_collector::way;
  for (const auto how : {way::answers_503, way::hangs_up, way::answers_for_ever, way::talks_nonsense}) {
    CAPTURE(static_cast<int>(how));
    fake_collector collector(how);
    sender_script it(url_of(collector.port()));
    it.add(2);
    it.await("they are given up", [&] { return it.sender.counts().unsent == 2; });
    CHECK(collector.requests() == 3);
    CHECK(it.said.size() == 1);
    collector.behave(way::takes);
    it.add();
    it.await("the next one is sent", [&] { return it.sender.counts().sent == 1; });
    CHECK(it.said.size() == 2);
    CHECK(it.stop());
    CHECK(it.counts() == "sent 1 unsent 2 ");
  }
}

TEST_CASE("a request reaches a collector that comes back between two tries") {
  fake_collector collector(fake_collector::way::answers_503);
  auto limits = hasty;
  limits.tries = 1'000;
  sender_script it(url_of(collector.port()), limits);
  it.add(2);
  it.await("two tries were made", [&] { return collector.requests() >= 2; });
  collector.behave(fake_collector::way::takes);
  it.await("they are sent", [&] { return it.sender.counts().sent == 2; });
  CHECK(collector.spans().size() == 2);
  CHECK(it.stop());
}

TEST_CASE("a collector that is away, or has no such host, costs its spans") {
  auto nowhere = url_of(1);
  nowhere.host = "no-such-host.invalid";
  for (const auto& to : {url_of(1), nowhere}) {
    CAPTURE(to.display());
    sender_script it(to);
    it.add(2);
    it.await("they are given up", [&] { return it.sender.counts().unsent == 2; });
    CHECK(it.said.size() == 1);
    CHECK(it.stop());
  }
}

TEST_CASE("a collector that never answers is given up after a while, and fills the queue meanwhile") {
  fake_collector collector(fake_collector::way::stays_silent);
  auto limits = hasty;
  limits.answer = 50ms;
  limits.tries = 2;
  sender_script it(url_of(collector.port()), limits, {.request = 1'000, .most = 4'000});
  it.add(100);
  const auto& all = it.sender.counts();
  CHECK(all.no_room > 80);
  it.await("all are given up", [&] { return all.unsent + all.no_room == 100; });
  CHECK(it.has_said("no answer within 50 ms"));
  CHECK(it.stop());
}

TEST_CASE("a stop waits for a silent collector no longer than it may, and counts what was lost") {
  fake_collector collector(fake_collector::way::stays_silent);
  auto limits = hasty;
  limits.last = 50ms;
  sender_script it(url_of(collector.port()), limits);
  it.add(2);
  it.await("the request is under way", [&] { return collector.requests() == 1; });
  it.add(3);
  CHECK(it.stop());
  CHECK(it.counts() == "unsent 5 ");
  CHECK(it.said == std::vector<std::string>{"5 spans were not sent to " + collector.url()});
}

TEST_CASE("a stop does not wait for a collector whose latest try failed") {
  fake_collector collector(fake_collector::way::answers_503);
  auto limits = hasty;
  limits.first_pause = limits.longest_pause = 1h;
  sender_script it(url_of(collector.port()), limits);
  it.add(2);
  it.await("a try has failed", [&] { return !it.said.empty(); });
  bool clean = false;
  it.sender.stop([&clean](bool so) { clean = so; });
  CHECK(clean);
  CHECK(it.counts() == "unsent 2 ");
}

}  // namespace otlp_span_sender_test
