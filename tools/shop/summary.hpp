// summary: the result of a run, in words and as JSON.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "shop/invoice_desk.hpp"
#include "shop/options.hpp"
#include "shop/tally.hpp"

namespace outboxd::shop {

struct invoicing {
  invoice_count count;
  std::int64_t seen_before = 0;  // deliveries of events that already had their invoice
};

struct summary {
  shop::counts counts;
  shop::invoicing invoicing;
  std::chrono::duration<double> wrote_for{0};
  std::vector<std::string> problems;  // sentences; empty: no problem

  bool good() const { return problems.empty(); }
};

/// Evaluates the tally when no more deliveries can arrive.
summary summarize(const tally& result, const invoicing& invoices, const options& settings,
                  std::chrono::duration<double> wrote_for);

std::string words(const summary& result);
nlohmann::json as_json(const summary& result, const options& settings);

}  // namespace outboxd::shop
