#include "stage/crowd.hpp"

#include <fcntl.h>

#include <algorithm>

#include "stage/pause.hpp"
#include "support/http_client.hpp"

namespace outboxd::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto tick = 100ms;

// The number of requests that a sipping client sends at once: the responses exceed the socket buffers.
constexpr int asked_at_once = 8;

const std::string request = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

// A non-blocking socket.
class slow_client {
 public:
  enum class manner { trickles, sips };

  slow_client(std::uint16_t port, manner how) : port_(port), how_(how) {}
  ~slow_client() { close(); }
  slow_client(slow_client&& other) noexcept
      : port_(other.port_), how_(other.how_), socket_(std::exchange(other.socket_, -1)) {}
  slow_client& operator=(slow_client&&) = delete;

  bool connected() const { return socket_ >= 0; }

  // The bytes for a tenth of a second.
  void step() {
    if (!connected() && !connect()) return;
    char byte = 0;
    const auto got = ::recv(socket_, &byte, 1, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return close();
    if (how_ == manner::trickles) {
      const std::string_view next = sent_ < request.size() - 2 ? request : "X-More: more\r\n";
      say(next.substr(sent_ % next.size(), 1));
      ++sent_;
    } else if (sent_++ % 10 == 0) {
      say(request);
    }
  }

 private:
  bool connect() {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    constexpr int smallest = 4'096;
    if (how_ == manner::sips) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &smallest, sizeof smallest);
    const auto to = test::loopback(port_);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
      close();
      return false;
    }
    sent_ = 0;
    if (how_ == manner::sips)
      for (int i = 0; i < asked_at_once; ++i) say(request);
    return true;
  }
  void say(std::string_view text) {
    (void)::send(socket_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  void close() {
    if (connected()) ::close(std::exchange(socket_, -1));
  }

  std::uint16_t port_;
  manner how_;
  int socket_ = -1;
  std::size_t sent_ = 0;  // bytes, or ticks
};

}  // namespace

crowd::crowd(std::uint16_t port, const crowd_options& how)
    : port_(port),
      how_(how),
      scraper_([this](const std::stop_token& stop) { scrape(stop); }),
      slow_([this](const std::stop_token& stop) { dawdle(stop); }) {}

crowd_tally crowd::leave() {
  for (auto* const one : {&scraper_, &slow_}) {
    one->request_stop();
    one->join();
  }
  return seen_;
}

// It is not an error if the relay has not started yet or has already stopped.
void crowd::scrape(const std::stop_token& stop) {
  bool asked = false;
  do {
    try {
      test::http_client client(port_);
      const auto began = clock::now();
      if (client.get("/metrics").status != 200) continue;
      seen_.scrape_ms.push_back(std::chrono::duration<double, std::milli>(clock::now() - began).count());
      asked = true;
    } catch (const std::runtime_error&) {
      asked = false;
    }
  } while (pause(stop, asked ? clock::duration(how_.scrape_interval) : tick));
}

void crowd::dawdle(const std::stop_token& stop) {
  std::vector<slow_client> all;
  for (int i = 0; i < how_.trickling; ++i) all.emplace_back(port_, slow_client::manner::trickles);
  for (int i = 0; i < how_.sipping; ++i) all.emplace_back(port_, slow_client::manner::sips);
  do {
    for (auto& one : all) one.step();
    const auto now = std::count_if(all.begin(), all.end(), [](const auto& one) { return one.connected(); });
    seen_.most_connected = std::max(seen_.most_connected, static_cast<int>(now));
  } while (pause(stop, tick));
}

}  // namespace outboxd::bench
