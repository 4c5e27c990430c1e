// turns: drains of two kinds in turns, so that both meet the same machine, beside each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "stage/drain.hpp"

namespace outboxd::bench {

struct side {
  std::string name;
  std::function<drained()> drain_once;
};

class turns {
 public:
  // `rate`: what is compared.
  turns(side plain, side other, double drained::*rate = &drained::events_per_second)
      : plain_{std::move(plain), {}}, other_{std::move(other), {}}, rate_(rate) {}

  // As many rounds, of which each begins with the other side than the one before; a note of each.
  void run(report& out, int rounds);

  // A section for each side, the other one last.
  void tell(report& out) const;

  // A section of the rounds' ratios, and a plot, whose file's name ends in `tag`. Returns the median of the
  // ratios of the rates: other over plain.
  double compare(report& out, const std::string& tag = "") const;

 private:
  struct drains {
    side of;
    std::vector<drained> rounds;

    void drain_once() { rounds.push_back(of.drain_once()); }
    std::vector<double> all(double drained::*what) const;
    void tell(report& out) const;
    plot_series series(double drained::*what) const;
  };

  // Without the rounds in which it is not known.
  std::vector<double> ratios(double drained::*what) const;

  drains plain_;
  drains other_;
  double drained::*rate_;
};

}  // namespace outboxd::bench
