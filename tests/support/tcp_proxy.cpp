#include "support/tcp_proxy.hpp"

#include "support/proxy_worker.hpp"

namespace outboxd::test {

tcp_proxy::tcp_proxy(std::uint16_t target_port) : worker_{std::make_unique<proxy_worker>(target_port)} {}
tcp_proxy::~tcp_proxy() = default;

std::uint16_t tcp_proxy::port() const {
  return worker_->port();
}

void tcp_proxy::set(direction which, flow how, reach whom) {
  worker_->call([&] {
    if (whom != reach::present) worker_->flows[which == direction::to_server ? 0 : 1] = how;
    if (whom == reach::coming) return;
    for (auto& one : worker_->connections) one.of(which).how = how;
  });
}

void tcp_proxy::set(welcome how) {
  worker_->call([&] { worker_->door = how; });
}

void tcp_proxy::cut() {
  worker_->call([this] {
    for (auto& one : worker_->connections) {
      one.client.close();
      one.server.close();
      one.over = true;
      ++worker_->count.cut;
    }
    worker_->forget_over();
  });
}

void tcp_proxy::reset() {
  worker_->call([this] {
    for (auto& one : worker_->connections) {
      one.reset();
      ++worker_->count.reset;
    }
    worker_->forget_over();
  });
}

void tcp_proxy::abandon_server() {
  worker_->call([this] {
    for (auto& one : worker_->connections) {
      one.client.reset();
      one.to_client.how = {flow::kind::stall, {}};
      one.to_server.lost_some = true;
      ++worker_->count.abandoned;
    }
  });
}

void tcp_proxy::heal() {
  worker_->call([this] {
    worker_->flows = {};
    worker_->door = welcome::forward;
    for (auto& one : worker_->connections) {
      if (one.broken()) {
        one.reset();
      } else {
        one.to_server.how = {};
        one.to_client.how = {};
        // Pieces that were to be late go with the others; the order stays.
        for (auto* way : {&one.to_server, &one.to_client})
          for (auto& held : way->held) held.due = {};
      }
    }
    worker_->forget_over();
  });
}

proxy_counters tcp_proxy::counters() const {
  proxy_counters copy;
  worker_->call([&] {
    worker_->forget_over();
    // Bytes that lie unread in a socket are what a stall holds up.
    for (auto& one : worker_->connections) {
      for (const auto which : both_ways) {
        char first = 0;
        if (one.of(which).how.what != flow::kind::stall || !one.source(which).open()) continue;
        if (!one.of(which).held.empty() || ::recv(one.source(which).get(), &first, 1, MSG_PEEK) > 0)
          ++worker_->count.stalled_pieces;
      }
    }
    copy = worker_->count;
  });
  return copy;
}

}  // namespace outboxd::test
