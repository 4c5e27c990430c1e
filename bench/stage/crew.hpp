// crew: runs the same work in several threads and waits for all of them; throws the first failure.
#pragma once

#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace outboxd::bench {

template <class Work>
void work_together(std::size_t count, const Work& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  {
    std::vector<std::jthread> crew;
    for (std::size_t i = 0; i < count; ++i) {
      crew.emplace_back([&, i] {
        try {
          work(i);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
        }
      });
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace outboxd::bench
