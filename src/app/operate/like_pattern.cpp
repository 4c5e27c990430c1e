#include "app/operate/like_pattern.hpp"

namespace outboxd::app {

std::string like_pattern(const glob& from) {
  std::string out;
  for (const char c : from.text()) {
    if (c == '*') {
      out.push_back('%');
    } else if (c == '?') {
      out.push_back('_');
    } else {
      if (c == '%' || c == '_' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace outboxd::app
