// summary: the verdict and its output.
#include "shop/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace outboxd::shop {
namespace {

constexpr std::size_t shown_ids = 3;

std::string grouped(std::size_t number) {
  std::string text;
  const auto digits = std::to_string(number);
  for (std::size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0) text += ',';
    text += digits[at];
  }
  return text;
}

std::string listed(const std::vector<std::string>& ids) {
  return fmt::format("{}", fmt::join(ids, ", "));
}

}  // namespace

summary summarize(const tally& result, const invoicing& invoices, const options& settings,
                  std::chrono::duration<double> wrote_for) {
  summary made{result.count(), invoices, wrote_for, {}};
  const auto& counts = made.counts;
  const auto problem = [&](std::string sentence) { made.problems.push_back(std::move(sentence)); };
  if (const auto failure = result.failure()) problem(*failure);
  if (counts.committed == 0) problem("No event was committed: there is nothing to show.");
  if (counts.missing > 0) {
    problem(fmt::format(
        "Committed events that did not arrive within {1} s of the last commit: {0}, for example {2}.",
        counts.missing, settings.arrival_limit.count(), listed(result.missing(shown_ids))));
  }
  if (counts.phantom > 0) {
    problem(fmt::format("Events that arrived and were never committed: {}, for example {}.", counts.phantom,
                        listed(result.phantoms(shown_ids))));
  }
  if (counts.duplicates > 0) {
    problem(fmt::format("Copies that were published although nothing had failed: {}.", counts.duplicates));
  }
  if (counts.out_of_order > 0) {
    problem(fmt::format("Events that first arrived after a later event of their order: {}.",
                        counts.out_of_order));
  }
  if (const auto& count = invoices.count; count.missing > 0 || count.twice > 0) {
    problem(fmt::format("Paid orders without an invoice: {}; with more than one: {}.", count.missing,
                        count.twice));
  }
  return made;
}

std::string words(const summary& result) {
  const auto& counts = result.counts;
  std::string text = "\nsummary\n";
  const auto line = [&](const char* name, std::size_t count, const std::string& remark) {
    text += fmt::format("  {:<17}{:>9}{}{}\n", name, grouped(count), remark.empty() ? "" : "   ", remark);
  };
  const auto rate =
      result.wrote_for.count() > 0 ? static_cast<double>(counts.committed) / result.wrote_for.count() : 0;
  line("events committed", counts.committed, fmt::format("{:.0f} per second", rate));
  line("rolled back", counts.rolled_back, "none of these may arrive");
  line("delivered", counts.delivered, "");
  line("missing", counts.missing, "");
  line("phantom", counts.phantom, "delivered, never committed");
  line("duplicates", counts.duplicates, "");
  if (counts.redelivered > 0)
    line("redelivered", counts.redelivered, "by the broker to the consumer, not by the relay");
  line("out of order", counts.out_of_order, "within one order");
  line("paid orders", static_cast<std::size_t>(result.invoicing.count.paid), "");
  line("invoices", static_cast<std::size_t>(result.invoicing.count.invoices),
       fmt::format("though {} of their events came twice", result.invoicing.seen_before));
  if (const auto& latency = counts.latency) {
    text +=
        fmt::format("  latency            p50 {:.1f} ms   p95 {:.1f} ms   p99 {:.1f} ms   max {:.1f} ms\n",
                    latency->p50.count(), latency->p95.count(), latency->p99.count(), latency->max.count());
    text += "                     from sending COMMIT to the consumer's receipt\n";
  }
  for (const auto& problem : result.problems) text += "  FAILED: " + problem + "\n";
  if (result.good())
    text +=
        "  Every committed event arrived once and in order; no rolled-back one did.\n"
        "  Every paid order has one invoice.\n";
  return text;
}

nlohmann::json as_json(const summary& result, const options& settings) {
  const auto& counts = result.counts;
  nlohmann::json latency;
  if (counts.latency) {
    latency = {{"p50", counts.latency->p50.count()},
               {"p95", counts.latency->p95.count()},
               {"p99", counts.latency->p99.count()},
               {"max", counts.latency->max.count()}};
  }
  return {{"good", result.good()},
          {"problems", result.problems},
          {"rate", settings.rate},
          {"seconds", result.wrote_for.count()},
          {"committed", counts.committed},
          {"rolled_back", counts.rolled_back},
          {"delivered", counts.delivered},
          {"missing", counts.missing},
          {"phantom", counts.phantom},
          {"duplicates", counts.duplicates},
          {"redelivered", counts.redelivered},
          {"out_of_order", counts.out_of_order},
          {"paid_orders", result.invoicing.count.paid},
          {"invoices", result.invoicing.count.invoices},
          {"invoices_missing", result.invoicing.count.missing},
          {"invoices_twice", result.invoicing.count.twice},
          {"invoice_events_seen_before", result.invoicing.seen_before},
          {"latency_ms", latency}};
}

}  // namespace outboxd::shop
