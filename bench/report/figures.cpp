#include "report/figures.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace outboxd::bench {

spread spread_of(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("no rounds, no figure");
  std::sort(values.begin(), values.end());
  const auto middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {values.front(), median, values.back()};
}

double percentile(std::vector<double> values, double part) {
  if (values.empty()) throw std::invalid_argument("no values, no percentile");
  const auto rank = std::ceil(part * static_cast<double>(values.size()));
  const auto index = std::min(values.size() - 1, static_cast<std::size_t>(std::max(1.0, rank)) - 1);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index), values.end());
  return values[index];
}

}  // namespace outboxd::bench
