// options: flags with one value each.
#include "options.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace outboxd::chaos {
namespace {

constexpr auto usage =
    "outboxd_chaos: faults from a seed on real servers, and a check of everything that was delivered.\n"
    "\n"
    "  --seed N          what happens when (default 1)\n"
    "  --seconds S       for how long there are faults (default 60)\n"
    "  --relays R        relays (default 2)\n"
    "  --shards S        shards of the outbox: 1, 2, 4 to 64 (default 1)\n"
    "  --writers W       writers (default 4)\n"
    "  --only A,B        leave out all faults but these; none: leave out all\n"
    "  --failpoints      relays also end themselves at named points (needs a build with OUTBOXD_FAILPOINTS)\n"
    "  --outage S        instead: one outage of the broker, for S seconds, with writers at work\n"
    "  --logs DIR        where the relays' logs go (default chaos-logs)\n"
    "  --outboxd FILE    the program under test (default: the one built with this)\n"
    "  --sabotage WHAT   wrong the run on purpose, which must then fail: lost, phantom, marked, overtaken\n"
    "  --print-schedule  only say what would happen\n"
    "\n"
    "It needs the servers of tools/services for itself: eval \"$(tools/services env)\". tools/chaos does it "
    "all.\n"
    "Exit 0: no violation. 1: a violation, or a run that proves nothing. 2: usage.\n";

[[noreturn]] void refuse(const std::string& why) {
  fmt::print(stderr, "outboxd_chaos: {} See --help.\n", why);
  std::exit(2);
}

template <class T>
T number(std::string_view flag, std::string_view text, T least, T most) {
  T value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    refuse(fmt::format("{} takes a number from {} to {}, not '{}'.", flag, least, most, text));
  return value;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  for (;;) {
    const auto comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

options read_options(int count, char** words) {
  options all;
  for (int i = 1; i < count; ++i) {
    const std::string_view flag = words[i];
    if (flag == "--help" || flag == "-h") {
      fmt::print("{}", usage);
      std::exit(0);
    }
    if (flag == "--print-schedule") {
      all.print_schedule = true;
      continue;
    }
    if (flag == "--failpoints") {
      all.failpoints = true;
      continue;
    }
    if (i + 1 == count) refuse(fmt::format("{} needs a value, or is unknown.", flag));
    const std::string_view value = words[++i];
    if (flag == "--seed") {
      all.seed = number<std::uint64_t>(flag, value, 0, UINT64_MAX);
    } else if (flag == "--seconds") {
      all.length = std::chrono::seconds{number(flag, value, 5, 1'000'000)};
    } else if (flag == "--outage") {
      all.outage = std::chrono::seconds{number(flag, value, 1, 1'000'000)};
    } else if (flag == "--relays") {
      all.relays = number(flag, value, 1, 16);
    } else if (flag == "--shards") {
      all.shards = number(flag, value, 1, 64);
      if (!std::has_single_bit(static_cast<unsigned>(all.shards)))
        refuse(fmt::format("--shards takes a power of two, not {}.", all.shards));
    } else if (flag == "--writers") {
      all.writers = number(flag, value, 1, 64);
    } else if (flag == "--logs") {
      all.logs = value;
    } else if (flag == "--outboxd") {
      all.outboxd = value;
    } else if (flag == "--sabotage") {
      all.sabotage = value;
      if (value != "lost" && value != "phantom" && value != "marked" && value != "overtaken")
        refuse(fmt::format("--sabotage takes lost, phantom, marked or overtaken, not '{}'.", value));
    } else if (flag == "--only") {
      all.only = split(value);
      for (const auto& one : all.only)
        if (one != "none" && !fault_of(one)) refuse(fmt::format("--only does not know '{}'.", one));
    } else {
      refuse(fmt::format("There is no option '{}'.", flag));
    }
  }
  return all;
}

std::string options::command() const {
  if (outage.count() > 0)
    return fmt::format("tools/chaos --outage {}s --relays {} --shards {}", outage.count(), relays, shards);
  auto text = fmt::format("tools/chaos --seed {} --seconds {} --relays {} --shards {}", seed, length.count(),
                          relays, shards);
  if (failpoints) text += " --failpoints";
  if (!only.empty()) text += fmt::format(" --only {}", fmt::join(only, ","));
  if (!sabotage.empty()) text += " (with --sabotage " + sabotage + ")";
  return text;
}

}  // namespace outboxd::chaos
