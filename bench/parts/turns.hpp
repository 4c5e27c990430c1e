// turns: alternates two kinds of drains, so that both run under the same conditions, and compares them.
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
  // `rate`: the compared rate.
  turns(side plain, side other, double drained::*rate = &drained::events_per_second)
      : plain_{std::move(plain), {}}, other_{std::move(other), {}}, rate_(rate) {}

  // Runs this many rounds and notes each; rounds alternate which side goes first.
  void run(report& out, int rounds);

  // Writes a section for each side, `other` last.
  void tell(report& out) const;

  // Writes a section with the rounds' ratios, and a plot whose file name ends in `tag`. Returns the median
  // ratio of the rates, other to plain.
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

  // Omits rounds in which the value is unknown.
  std::vector<double> ratios(double drained::*what) const;

  drains plain_;
  drains other_;
  double drained::*rate_;
};

}  // namespace outboxd::bench
