// plot: lines over an x axis, as an SVG file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace outboxd::bench {

struct plot_point {
  double x = 0;
  double y = 0;
};

struct plot_series {
  std::string name;
  std::vector<plot_point> points;
};

struct plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<plot_series> series;
  // Logarithmic: every value must be above zero. Otherwise the y axis begins at zero.
  bool log_x = false;
  bool log_y = false;
};

void write_svg(const std::filesystem::path& file, const plot& what);

}  // namespace outboxd::bench
