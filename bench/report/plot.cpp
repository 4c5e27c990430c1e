#include "report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>

namespace outboxd::bench {
namespace {

constexpr double width = 720;
constexpr double height = 420;
constexpr double left = 80;
constexpr double right = 20;
constexpr double top = 40;
constexpr double bottom = 90;  // includes the legend
constexpr std::array colours{"#1b6ca8", "#d1495b", "#3a7d44", "#edae49", "#6a4c93", "#555555"};

// Maps values to pixels.
struct axis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  double from = 0;  // pixel of low
  double to = 1;    // pixel of high

  double at(double value) const {
    const auto scaled = [this](double v) { return logarithmic ? std::log10(v) : v; };
    return from + (to - from) * (scaled(value) - scaled(low)) / (scaled(high) - scaled(low));
  }
  std::vector<double> ticks() const {
    std::vector<double> all;
    if (logarithmic) {
      for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10)
        for (const double step : {1.0, 2.0, 5.0})
          if (step * decade >= low * 0.999 && step * decade <= high * 1.001) all.push_back(step * decade);
      return all;
    }
    const double rough = (high - low) / 6;
    const double decade = std::pow(10, std::floor(std::log10(rough)));
    double step = decade * 10;
    for (const double factor : {5.0, 2.0, 1.0})
      if (factor * decade >= rough) step = factor * decade;
    for (double tick = std::ceil(low / step) * step; tick <= high * 1.0001; tick += step) all.push_back(tick);
    return all;
  }
};

std::string number(double value) {
  if (value >= 1e6) return fmt::format("{:g} M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:g} k", value / 1e3);
  return fmt::format("{:g}", value);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out.push_back(c);
  }
  return out;
}

axis axis_over(const plot& what, double plot_point::*coordinate, bool logarithmic) {
  std::vector<double> values;
  for (const auto& one : what.series)
    for (const auto& point : one.points) values.push_back(point.*coordinate);
  axis out{.logarithmic = logarithmic};
  if (values.empty()) return out;
  out.low = *std::min_element(values.begin(), values.end());
  out.high = *std::max_element(values.begin(), values.end());
  return out;
}

class drawing {
 public:
  explicit drawing(const plot& what)
      : what_(what),
        x_(axis_over(what, &plot_point::x, what.log_x)),
        y_(axis_over(what, &plot_point::y, what.log_y)) {
    if (!what.log_y) y_.low = 0;
    y_.high *= what.log_y ? 1.3 : 1.1;
    if (x_.low >= x_.high) x_.high = x_.low + 1;
    if (y_.low >= y_.high) y_.high = y_.low + 1;
    x_.from = left;
    x_.to = width - right;
    y_.from = height - bottom;
    y_.to = top;
  }

  std::string svg() {
    add("<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}'"
        " font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' fill='white'/>\n",
        width, height);
    text(width / 2, 22, "middle", what_.title, "font-size='15'");
    grid();
    for (std::size_t i = 0; i < what_.series.size(); ++i) line(i);
    add("</svg>\n");
    return out_;
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> form, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), form, std::forward<Values>(values)...);
  }
  void text(double x, double y, const char* anchor, const std::string& words, const char* more = "") {
    add("<text x='{:.1f}' y='{:.1f}' text-anchor='{}' {}>{}</text>\n", x, y, anchor, more, escaped(words));
  }
  void grid() {
    for (const double tick : y_.ticks()) {
      add("<path d='M{} {:.1f}H{}' stroke='#ddd'/>\n", left, y_.at(tick), width - right);
      text(left - 6, y_.at(tick) + 4, "end", number(tick));
    }
    for (const double tick : x_.ticks()) {
      add("<path d='M{:.1f} {}v5' stroke='#333'/>\n", x_.at(tick), height - bottom);
      text(x_.at(tick), height - bottom + 19, "middle", number(tick));
    }
    add("<path d='M{} {}V{}H{}' fill='none' stroke='#333'/>\n", left, top, height - bottom, width - right);
    text((left + width - right) / 2, height - bottom + 38, "middle", what_.x_label);
    add("<text transform='translate(18 {}) rotate(-90)' text-anchor='middle'>{}</text>\n",
        (top + height - bottom) / 2, escaped(what_.y_label));
  }
  void line(std::size_t which) {
    const auto& one = what_.series[which];
    const char* colour = colours[which % colours.size()];
    std::string path;
    for (const auto& point : one.points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x_.at(point.x), y_.at(point.y));
    add("<path d='{}' fill='none' stroke='{}' stroke-width='2'/>\n", path, colour);
    for (const auto& point : one.points)
      add("<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='{}'/>\n", x_.at(point.x), y_.at(point.y), colour);
    const double column = (width - left - right) / 3;
    const double x = left + column * static_cast<double>(which % 3);
    const double y = height - 28 + 18 * static_cast<double>(which / 3);
    add("<rect x='{:.1f}' y='{:.1f}' width='12' height='4' fill='{}'/>\n", x, y - 6, colour);
    text(x + 18, y, "start", one.name);
  }

  const plot& what_;
  axis x_;
  axis y_;
  std::string out_;
};

}  // namespace

void write_svg(const std::filesystem::path& file, const plot& what) {
  std::ofstream(file) << drawing(what).svg();
}

}  // namespace outboxd::bench
