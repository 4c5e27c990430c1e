// options: flags with one value each.
#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace outboxd::chaos {
namespace {

constexpr auto usage =
    "outboxd_chaos: faults from a seed on real servers, and a check of everything that was delivered.\n"
    "\n"
    "  --seed N          what happens when (default 1)\n"
    "  --seconds S       for how long there are faults (default 60)\n"
    "  --relays R        relays (default 1, 2 or 4, by the seed)\n"
    "  --shards S        shards of the outbox: 1, 2, 4 to 64 (default 1, 2 or 8, by the seed)\n"
    "  --writers W       writers (default 4)\n"
    "  --outboxes N      each process relays N outboxes (default 1); the others are on the servers of\n"
    "                    OUTBOXD_TEST_OTHER_DATABASE_URL and OUTBOXD_TEST_OTHER_AMQP_URL, without faults\n"
    "  --only A,B        leave out all faults but these; none: leave out all\n"
    "  --partitions      a partitioned outbox, which goes on in another partition again and again\n"
    "  --failpoints      relays also end themselves at named points (needs a build with OUTBOXD_FAILPOINTS)\n"
    "  --any-pace        how long something takes is told and not judged: the machine may be slow\n"
    "  --outage S        instead: one outage of the broker, for S seconds, with writers at work\n"
    "  --logs DIR        where the relays' logs go (default chaos-logs)\n"
    "  --outboxd FILE    the program under test (default: the one built with this)\n"
    "  --sabotage WHAT   wrong the run on purpose, which must then fail: lost, phantom, marked, overtaken\n"
    "  --takeovers FILE  append the times of takeovers to this file, for the histogram of several runs\n"
    "  --histogram FILE  only show these\n"
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
  std::optional<int> relays;
  std::optional<int> shards;
  bool partitioned = false;
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
    if (flag == "--any-pace") {
      all.any_pace = true;
      continue;
    }
    if (flag == "--partitions") {
      partitioned = true;
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
      relays = number(flag, value, 1, 16);
    } else if (flag == "--shards") {
      shards = number(flag, value, 1, 64);
      if (!std::has_single_bit(static_cast<unsigned>(*shards)))
        refuse(fmt::format("--shards takes a power of two, not {}.", *shards));
    } else if (flag == "--writers") {
      all.writers = number(flag, value, 1, 64);
    } else if (flag == "--outboxes") {
      all.outboxes = number(flag, value, 1, 10);
    } else if (flag == "--logs") {
      all.logs = value;
    } else if (flag == "--takeovers") {
      all.takeovers = value;
    } else if (flag == "--histogram") {
      all.histogram = value;
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
  if (all.outage.count() == 0) all.form = shape_of(all.seed);
  all.form.relays = relays.value_or(all.form.relays);
  all.form.shards = shards.value_or(all.form.shards);
  all.form.partitioned = all.form.partitioned || partitioned;
  return all;
}

std::string options::command() const {
  if (outage.count() > 0)
    return fmt::format("tools/chaos --outage {}s --relays {} --shards {}", outage.count(), form.relays,
                       form.shards);
  auto text = fmt::format("tools/chaos --seed {} --seconds {} --relays {} --shards {}", seed, length.count(),
                          form.relays, form.shards);
  if (failpoints) text += " --failpoints";
  if (any_pace) text += " --any-pace";
  if (form.partitioned) text += " --partitions";
  if (!only.empty()) text += fmt::format(" --only {}", fmt::join(only, ","));
  if (outboxes > 1) text += fmt::format(" (with --outboxes {})", outboxes);
  if (!sabotage.empty()) text += " (with --sabotage " + sabotage + ")";
  return text;
}

}  // namespace outboxd::chaos
