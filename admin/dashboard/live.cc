#include "admin/dashboard/live.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <deque>
#include <map>

#include "admin/json.h"
#include "admin/views.h"
#include "core/words.h"
#include "net/deadline.h"

namespace weir::admin {
namespace {

namespace json = boost::json;
using telemetry::Metric;
using Totals = policies::StatsBank::Totals;
using Cells = ByAction<std::uint64_t>;

constexpr milliseconds kSecond{1'000};
constexpr std::size_t kAskedMax = 500;  // verdicts of a second, as many as are kept

Cells minus(const Cells& now, const Cells& before) {
  Cells out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = now[i] - std::min(now[i], before[i]);
  return out;
}

std::uint64_t sum(const Cells& cells) {
  std::uint64_t out = 0;
  for (const std::uint64_t cell : cells) out += cell;
  return out;
}

json::object acted(const Cells& cells) {
  json::object out;
  for (const ActionRow& row : kActions) {
    const std::uint64_t n = cells[static_cast<std::size_t>(row.action)];
    if (n != 0) out[row.name] = n;
  }
  return out;
}

/// The verdicts of one policy or list in a second.
struct Deed {
  const char* kind = "";
  std::string name;
  Cells verdicts{}, shadows{};
  std::uint64_t listed = 0;

  std::uint64_t weight() const { return sum(verdicts) + sum(shadows) + listed; }
};

/// One second of the last ten minutes.
struct Second {
  TimePoint at{};
  std::int64_t requests = 0;
  Cells verdicts{};
  std::uint64_t shadows = 0;
};

// All sources of verdicts: proxied requests, checks of other proxies, reported events.
std::vector<Metric> request_metrics() {
  std::vector<Metric> out{Metric::requests_2xx, Metric::requests_3xx, Metric::requests_4xx,
                          Metric::requests_5xx, Metric::api_events};
  for (std::size_t i = 0; i < static_cast<std::size_t>(Metric::count_); ++i) {
    const auto metric = static_cast<Metric>(i);
    if (telemetry::metric_row(metric).name == "weir_checks_total") out.push_back(metric);
  }
  return out;
}

net::HttpReply::Piece event(std::string_view name, const json::value& data) {
  std::string text = "event: ";
  text.append(name).append("\ndata: ").append(json::serialize(data)).append("\n\n");
  return std::make_shared<const std::string>(std::move(text));
}

}  // namespace

// Kept alive by its readers' coroutines.
struct Live::Hub : std::enable_shared_from_this<Live::Hub> {
  Hub(boost::asio::io_context& io, Operations& o, const Stores& s)
      : operations(o), stores(s), second(io), news(io), counted(request_metrics()) {
    news.expires_at(boost::asio::steady_timer::time_point::max());
  }

  Operations& operations;
  Stores stores;
  boost::asio::steady_timer second;  // until the next tick
  boost::asio::steady_timer news;    // never expires; cancelled, it wakes all readers
  std::vector<Metric> counted;
  std::size_t readers = 0;
  bool stopped = false;

  bool begun = false;  // the numbers before belong to an earlier tick
  std::int64_t requests = 0;
  std::map<std::string, Totals, std::less<>> policies, lists;
  std::map<std::string, std::size_t, std::less<>> sizes;  // of lists, as last sent
  std::optional<std::uint64_t> verdicts_after;
  std::deque<Second> past;
  std::uint64_t version = 0;
  net::HttpReply::Piece newest;

  void wait();
  void tick();
  std::vector<Deed> deeds(Second& total);
  void compare(const char* kind, std::map<std::string, Totals, std::less<>>& before,
               std::vector<Deed>& out);
  json::object list_sizes(bool all);
  void put_rows(json::object& out);
  net::HttpReply::Piece past_event();
  static boost::asio::awaitable<net::HttpReply::Piece> next(std::shared_ptr<Hub> hub,
                                                            std::uint64_t& seen);
};

void Live::Hub::wait() {
  second.expires_after(kSecond);
  second.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto hub = weak.lock();
    if (error || hub == nullptr || hub->stopped) return;
    hub->wait();  // first, for tick() may find no memory
    hub->tick();
  });
}

void Live::Hub::compare(const char* kind, std::map<std::string, Totals, std::less<>>& before,
                        std::vector<Deed>& out) {
  stores.stats.each(kind, [&](const std::string& name, const Totals& now) {
    const auto [it, fresh] = before.try_emplace(name, now);
    // Counters that were opened since the last tick began at 0.
    const Totals was = fresh && begun ? Totals{} : it->second;
    it->second = now;
    Deed deed{kind,
              {},
              minus(now.verdicts, was.verdicts),
              minus(now.shadows, was.shadows),
              now.listed - std::min(now.listed, was.listed)};
    if (deed.weight() == 0) return;
    deed.name = name;
    out.push_back(std::move(deed));
  });
}

std::vector<Deed> Live::Hub::deeds(Second& total) {
  std::vector<Deed> out;
  compare("policy", policies, out);
  compare("list", lists, out);
  for (const Deed& deed : out) {
    for (std::size_t i = 0; i < deed.verdicts.size(); ++i) total.verdicts[i] += deed.verdicts[i];
    total.shadows += sum(deed.shadows);
  }
  return out;
}

json::object Live::Hub::list_sizes(bool all) {
  json::object out;
  const auto set = operations.policies();
  if (set == nullptr) return out;
  for (const policies::List& list : set->lists) {
    if (list.shadow || out.size() == kListsMax) continue;
    const std::size_t size = stores.lists.size(list.id);
    const auto it = sizes.find(list.name);
    if (!all && it != sizes.end() && it->second == size) continue;
    out[list.name] = size;
    if (all) continue;
    sizes[list.name] = size;
  }
  return out;
}

void Live::Hub::put_rows(json::object& out) {
  const VerdictPage page = operations.verdicts(verdicts_after, kAskedMax);
  verdicts_after = page.next;
  const std::size_t skipped = page.rows.size() - std::min(page.rows.size(), kRowsMax);
  json::array rows;
  for (std::size_t i = skipped; i < page.rows.size(); ++i)
    rows.push_back(verdict_view(page.rows[i]));
  out["rows"] = std::move(rows);
  out["missed"] = page.missed + skipped;
}

void Live::Hub::tick() {
  const policies::Instant at = operations.instant();
  std::int64_t now = 0;
  for (const Metric metric : counted) now += stores.metrics.sum(metric);
  Second total{at.wall, begun ? now - requests : 0, {}, 0};
  requests = now;
  std::vector<Deed> done = deeds(total);
  if (begun) past.push_back(total);
  begun = true;
  if (past.size() > kSecondsKept) past.pop_front();
  if (readers == 0) {
    sizes.clear();
    verdicts_after.reset();
    return;
  }
  const std::size_t shown = std::min(done.size(), kPoliciesMax);
  std::partial_sort(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(shown), done.end(),
                    [](const Deed& a, const Deed& b) { return a.weight() > b.weight(); });
  json::array rows;
  for (std::size_t i = 0; i < shown; ++i) {
    rows.push_back(json::object{{"kind", done[i].kind},
                                {"name", done[i].name},
                                {"verdicts", acted(done[i].verdicts)},
                                {"shadows", acted(done[i].shadows)},
                                {"listed", done[i].listed}});
  }
  json::object data;
  data["at"] = to_ms(at.wall);
  data["requests"] = total.requests;
  data["verdicts"] = acted(total.verdicts);
  data["shadows"] = total.shadows;
  data["policies"] = std::move(rows);
  data["more"] = done.size() - shown;
  data["lists"] = list_sizes(false);
  put_rows(data);
  const auto set = operations.policies();
  data["config"] = set != nullptr ? set->source_hash : std::string();
  data["readers"] = readers;
  newest = event("second", data);
  ++version;
  news.cancel();
}

net::HttpReply::Piece Live::Hub::past_event() {
  json::array seconds;
  for (const Second& each : past) {
    json::array row{to_ms(each.at), each.requests};
    for (const ActionRow& action : kActions)
      row.push_back(json::value(each.verdicts[static_cast<std::size_t>(action.action)]));
    row.push_back(json::value(each.shadows));
    seconds.push_back(std::move(row));
  }
  json::array columns{"at", "requests"};
  for (const ActionRow& action : kActions) columns.emplace_back(action.name);
  columns.emplace_back("shadows");
  return event("past", json::object{{"columns", std::move(columns)},
                                    {"seconds", std::move(seconds)},
                                    {"lists", list_sizes(true)}});
}

boost::asio::awaitable<net::HttpReply::Piece> Live::Hub::next(std::shared_ptr<Hub> hub,
                                                              std::uint64_t& seen) {
  while (!hub->stopped && hub->version == seen) co_await hub->news.async_wait(net::kToken);
  if (hub->stopped) co_return nullptr;
  seen = hub->version;
  co_return hub->newest;
}

Live::Live(boost::asio::io_context& io, Operations& operations, const Stores& stores,
           std::size_t readers_most)
    : hub_(std::make_shared<Hub>(io, operations, stores)), readers_most_(readers_most) {}

Live::~Live() { stop(); }

void Live::start() {
  hub_->tick();
  hub_->wait();
}

void Live::stop() {
  hub_->stopped = true;
  hub_->second.cancel();
  hub_->news.cancel();
}

void Live::tick() { hub_->tick(); }

std::size_t Live::readers() const noexcept { return hub_->readers; }

net::HttpReply Live::subscribe() {
  if (hub_->readers >= readers_most_ || hub_->stopped) {
    // An EventSource hides the answer: the page asks once more by itself, in order to show it.
    net::HttpReply reply = problem(503, "the live feed has " + std::to_string(readers_most_) +
                                            " readers already: close a page");
    reply.fields.emplace_back("Retry-After", "10");
    return reply;
  }
  struct Reader {
    std::shared_ptr<Hub> hub;
    std::uint64_t seen;
    Reader(std::shared_ptr<Hub> h) : hub(std::move(h)), seen(hub->version) { ++hub->readers; }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader() { --hub->readers; }
  };
  auto reader = std::make_shared<Reader>(hub_);
  net::HttpReply reply;
  reply.content_type = "text/event-stream";
  reply.body = "retry: 3000\n\n" + *hub_->past_event();
  reply.next = [reader = std::move(reader)] { return Hub::next(reader->hub, reader->seen); };
  return reply;
}

}  // namespace weir::admin
