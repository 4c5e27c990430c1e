// suspended_queue: a queue of the tests' broker that confirms nothing until the object goes.
#pragma once

#include <string>

#include "support/broker_admin.hpp"

namespace outboxd::test {

// The process behind a classic queue; messages to it pile up, and their confirms do not come.
class suspended_queue {
 public:
  explicit suspended_queue(std::string name) : name_(std::move(name)) { tell("suspend"); }
  ~suspended_queue() { tell("resume"); }
  suspended_queue(const suspended_queue&) = delete;
  suspended_queue& operator=(const suspended_queue&) = delete;

 private:
  void tell(const std::string& what) const {
    broker_eval("{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, " + erlang_binary(name_) +
                ")), sys:" + what + "(amqqueue:get_pid(Q)).");
  }
  std::string name_;
};

}  // namespace outboxd::test
