#include "stage/paced_writers.hpp"

#include "stage/crew.hpp"

namespace outboxd::bench {

using clock = std::chrono::steady_clock;

std::vector<clock::time_point> write_at_pace(const stage& where, const pace& how,
                                             const std::function<std::string(std::size_t n)>& insert) {
  const auto seconds = std::chrono::duration<double>(how.duration).count();
  std::vector<clock::time_point> sent(static_cast<std::size_t>(how.events_per_second * seconds));
  const auto writers = static_cast<std::size_t>(how.writers);
  const auto gap = std::chrono::duration<double>(1 / how.events_per_second);
  const auto began = clock::now() + std::chrono::milliseconds{100};
  work_together(writers, [&](std::size_t which) {
    auto session = where.connect();
    for (std::size_t n = which; n < sent.size(); n += writers) {
      std::this_thread::sleep_until(
          began + std::chrono::duration_cast<clock::duration>(gap * static_cast<double>(n)));
      session.exec("BEGIN; " + insert(n));
      sent[n] = clock::now();
      session.exec("COMMIT");
    }
  });
  return sent;
}

}  // namespace outboxd::bench
