// script: a coroutine that yields one task at a time, and resumes when the next task is requested.
#pragma once

#include <coroutine>
#include <optional>
#include <utility>

#include "flow/lead/leader_tasks.hpp"

namespace outboxd::flow {

// The coroutine starts at the first call of next(). Destroying the script ends it where it is suspended.
class script {
 public:
  struct promise_type {
    std::optional<leader_task> said;

    script get_return_object() { return script(handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(const leader_task& what) {
      said = what;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { throw; }
  };

  script(script&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
  script& operator=(script other) noexcept {
    std::swap(at_, other.at_);
    return *this;
  }
  ~script() {
    if (at_) at_.destroy();
  }

  // Returns nullopt if the script has ended.
  std::optional<leader_task> next() {
    if (!at_.done()) at_.resume();
    return std::exchange(at_.promise().said, std::nullopt);
  }

 private:
  using handle = std::coroutine_handle<promise_type>;
  explicit script(handle at) : at_(at) {}

  handle at_;
};

}  // namespace outboxd::flow
