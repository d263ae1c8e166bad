#include "app/tools/explain_call.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "app/support/files.h"
#include "authz/rate_limit_json.h"
#include "authz/rate_limit_messages.h"
#include "core/json_numbers.h"
#include "core/text.h"

namespace weir::app {
namespace {

namespace json = boost::json;
namespace rls = envoy::service::ratelimit::v3;

std::string printable(std::string_view text) {
  std::string out;
  append_plain(out, text);
  return out;
}

std::string_view unit_word(RateUnit unit) {
  static constexpr std::string_view kWords[] = {"window", "second", "minute", "hour",
                                                "day",    "month",  "year",   "week"};
  return kWords[static_cast<std::size_t>(unit)];
}

/// `path=/login, remote_address=10.0.0.1`
std::string entries_text(const Descriptor& descriptor) {
  std::string out;
  for (const DescriptorEntry& entry : descriptor.entries) {
    if (!out.empty()) out += ", ";
    out.append(entry.key).append("=").append(entry.value);
  }
  return out.empty() ? "no entries" : out;
}

std::string why_unjudged(const policies::FoundDescriptor& found) {
  if (!found.known) return "no policy and no file of `ratelimit` has its domain";
  if (found.replaced) return "another descriptor of the call replaces its rule";
  return "no policy and no rule is for these entries";
}

}  // namespace

struct CallExplanation::Message {
  rls::RateLimitRequest request;
  rls::RateLimitResponse response;
};

CallExplanation::CallExplanation(std::shared_ptr<const policies::PolicySet> set,
                                 gate::Shared& shared)
    : gate_(shared, 0, gate::GateLimits{}, metrics_.cells(0), nullptr),
      driver_(shared.counters, shared.lists, shared.secret),
      message_(std::make_unique<Message>()) {
  driver_.use(policies::load_on_worker(set, shared.stats, 0));
  gate_.use(std::move(set));
}

CallExplanation::~CallExplanation() = default;

std::string CallExplanation::judge(const std::string& file, TimePoint now) {
  const auto text = read_file(file, std::size_t{16} << 20);
  if (!text) return file + ": " + text.error().message();
  std::string wrong = authz::read_json(*text, message_->request);
  if (wrong.empty()) {
    authz::read_request(message_->request, call_);
    wrong = call_.wrong();
  }
  if (!wrong.empty()) return file + ": " + wrong;
  at_ = gate_.instant(now);
  parts_.resize(call_.size());
  call_.watch(this);
  call_.judge(authz::RateLimitCall::Mode::count, now, *this);
  authz::write_response(call_, gate_.set(), message_->request, message_->response);
  return {};
}

void CallExplanation::will_judge(std::size_t index, const policies::FoundDescriptor& found,
                                 const policies::Record* record) {
  Part& part = parts_[index];
  if (record == nullptr) {
    part.unjudged = why_unjudged(found);
    return;
  }
  part.told = policies::explain(driver_, *record, at_);
  // A file has thousands of rules, of which one is for this descriptor.
  std::erase_if(part.told.policies, [](const auto& line) { return line.elsewhere; });
  // Of any call there is an event, so that lists of addresses can refuse it.
  const bool own = found.what != nullptr && !found.replaced;
  if (!own && part.told.policies.empty() && part.told.lists.empty())
    part.unjudged = why_unjudged(found);
}

std::string CallExplanation::status_text(std::size_t index) const {
  const policies::DescriptorStatus& status = call_.status(index).what;
  const std::string& name = call_.status(index).name;
  std::string out = status.over ? "OVER_LIMIT" : "OK";
  if (status.has_limit) {
    out += ": " + std::to_string(status.requests) + " in a " + std::string(unit_word(status.unit));
    if (!name.empty()) out += " (" + printable(name) + ")";
    out += ", " + std::to_string(status.remaining) + " left";
    if (const auto reset = policies::reset_seconds(status.reset); reset > 0)
      out += ", all of them again in " + std::to_string(reset) + " s";
  } else if (!status.over) {
    out += status.unlimited ? ": unlimited" : ": no limit";
  }
  return out;
}

std::string CallExplanation::to_text(bool colour) const {
  const auto bold = [&](const std::string& text) {
    return colour ? "\x1b[1m" + text + "\x1b[0m" : text;
  };
  const std::size_t count = call_.size();
  std::string out = "a call in domain " + bold(printable(message_->request.domain())) + " with " +
                    std::to_string(count) + (count == 1 ? " descriptor\n" : " descriptors\n");
  for (std::size_t i = 0; i < count; ++i) {
    const Descriptor& descriptor = call_.descriptor(i);
    out += "\ndescriptor " + std::to_string(i + 1) + ": " +
           bold(printable(entries_text(descriptor))) + ", " + std::to_string(descriptor.hits) +
           (descriptor.hits == 1 ? " hit" : " hits");
    if (message_->request.descriptors(static_cast<int>(i)).is_negative_hits())
      out += " (hits are not given back: it only looks)";
    if (descriptor.limit) {
      out += ", with a limit of its own: " + std::to_string(descriptor.limit->requests) + " in a " +
             std::string(unit_word(descriptor.limit->unit));
    }
    out += "\n";
    const Part& part = parts_[i];
    out += part.unjudged.empty() ? part.told.body_text(colour) : part.unjudged + "\n";
    out += "status   " + status_text(i) + "\n";
  }
  out += "\nanswer   " + bold(is_over() ? "OVER_LIMIT" : "OK") + "\n";
  for (const auto& header : message_->response.request_headers_to_add())
    out += "  to the app:    " + printable(header.key() + ": " + header.value()) + "\n";
  for (const auto& header : message_->response.response_headers_to_add())
    out += "  to the client: " + printable(header.key() + ": " + header.value()) + "\n";
  return out;
}

std::string CallExplanation::to_json() const {
  json::object root;
  root["domain"] = message_->request.domain();
  json::array& rows = root["descriptors"].emplace_array();
  for (std::size_t i = 0; i < call_.size(); ++i) {
    const Descriptor& descriptor = call_.descriptor(i);
    json::object row;
    json::array& entries = row["entries"].emplace_array();
    for (const DescriptorEntry& entry : descriptor.entries)
      entries.push_back({{"key", std::string(entry.key)}, {"value", std::string(entry.value)}});
    row["hits"] = descriptor.hits;
    if (!parts_[i].unjudged.empty()) {
      row["unjudged"] = parts_[i].unjudged;
    } else {
      row["judged"] = parts_[i].told.to_object();
    }
    row["status"] = status_text(i);
    rows.push_back(std::move(row));
  }
  root["answer"] = json::parse(authz::to_json(message_->response));
  return plain_numbers(json::serialize(root)) + "\n";
}

}  // namespace weir::app
