#include "core/iso8601.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace outboxd {
namespace {

// Writes `value` with this number of decimal digits. Written by hand because it runs for each event: a
// formatting library would take a tenth of an event's CPU time.
template <int digits>
void put(char* at, std::int64_t value) {
  for (int i = digits; i-- > 0; value /= 10) at[i] = static_cast<char>('0' + value % 10);
}

}  // namespace

std::string to_iso8601(timestamp at) {
  using namespace std::chrono;
  at = std::max(at, timestamp::min() + days(1));  // keeps the start of the day of '-infinity' valid
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss time{at - day};
  const int year{date.year()};
  std::string text = "0000-00-00T00:00:00.000000Z";
  put<2>(&text[5], static_cast<unsigned>(date.month()));
  put<2>(&text[8], static_cast<unsigned>(date.day()));
  put<2>(&text[11], time.hours().count());
  put<2>(&text[14], time.minutes().count());
  put<2>(&text[17], time.seconds().count());
  put<6>(&text[20], time.subseconds().count());
  if (year >= 0 && year <= 9999) {
    put<4>(&text[0], year);
  } else {
    text.replace(0, 4, fmt::format("{:04}", year));
  }
  return text;
}

bool is_common_time(timestamp at) {
  using namespace std::chrono;
  return at >= sys_days(year{1970} / 1 / 1) && at < sys_days(year{10'000} / 1 / 1);
}

}  // namespace outboxd
