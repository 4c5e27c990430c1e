#include "app/daemon/span_steps.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/daemon/step_log.hpp"
#include "core/span_context.hpp"

namespace outboxd::app {

span_steps::span_steps(boost::asio::io_context& io, const http::url& collector,
                       const std::shared_ptr<logger>& log)
    : sender_(io, collector,
              {.on_trouble = [log](const std::string& words) { log->warn(words); },
               .on_recovery = [log](const std::string& words) { log->info(words); }}) {
  listen_to(flow::step::acked);
}

void span_steps::on_step(const flow::step_taken& what) {
  const auto at = span_context_of(what.of);
  if (!at) return;
  const auto times =
      what.times.value_or(flow::confirm_times{.sent = what.of.created_at, .confirmed = what.of.created_at});
  sender_.add(*at, {.what = what.of,
                    .destination = destination_name(what.to),
                    .routing_key = what.to.routing_key,
                    .sent = times.sent,
                    .confirmed = times.confirmed});
}

std::string span_metrics(const otlp::span_counts& all) {
  constexpr auto form =
      "# HELP outboxd_otlp_spans_total Spans for the collector, by what became of them.\n"
      "# TYPE outboxd_otlp_spans_total counter\n"
      "outboxd_otlp_spans_total{{result=\"sent\"}} {}\n"
      "outboxd_otlp_spans_total{{result=\"no_room\"}} {}\n"
      "outboxd_otlp_spans_total{{result=\"refused\"}} {}\n"
      "outboxd_otlp_spans_total{{result=\"unsent\"}} {}\n";
  return fmt::format(form, all.sent, all.no_room, all.refused, all.unsent);
}

}  // namespace outboxd::app
