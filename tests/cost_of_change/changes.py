"""The smallest honest change of each kind: a made-up word, added to the source as a contributor would.

A change is a list of edits. An edit names a file of the product, a text that the file contains once, and what comes after that text
(or in its place), or it is a new file. cost.py counts the files, and builds the tree with all changes applied.
"""

import pathlib
from dataclasses import dataclass, field


def read(name):
    """The content of a file that is too long for this table."""
    return (pathlib.Path(__file__).resolve().parent / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class After:
    """`add` comes right after `text`, which the file contains once."""
    file: str
    text: str
    add: str

    def apply(self, content):
        at = content.index(self.text) + len(self.text)
        return content[:at] + self.add + content[at:]


@dataclass(frozen=True)
class Instead:
    """`put` replaces `text`, which the file contains once."""
    file: str
    text: str
    put: str

    def apply(self, content):
        return content.replace(self.text, self.put)


@dataclass(frozen=True)
class New:
    file: str
    content: str
    text = None


@dataclass(frozen=True)
class Change:
    name: str  # as CONTRIBUTING's table has it
    goal: int  # files at most
    edits: tuple
    uses: tuple = field(default=())  # a change of its own that this one needs, or that needs this one: counted apart
    uses_for: str = "which uses it"
    folder: str = ""  # of its own: counts as one

    def files(self):
        return sorted({self.folder if self.folder and edit.file.startswith(self.folder) else edit.file for edit in self.edits})

    def users(self):
        return sorted({edit.file for edit in self.uses} - set(self.files()))


ACTION = Change("an action", 2, (
    Instead("core/words.h", "enum class Action : std::uint8_t { none, flag, graylist,",
            "enum class Action : std::uint8_t { none, flag, tag, graylist,"),
    After("core/words.h", '"Passes; the app learns it from X-Weir-Verdict, X-Weir-Policy and X-Weir-Score."},\n',
          '    ActionRow{Action::tag, "tag", "", false, false, true, ListKind::gray, 0, Tell::nothing, "tag", "tagged",\n'
          '              "Passes, with a tag that no other action has."},\n'),
))

# The greatest amount less the least one, of the last W and of the last n events, also through Redis.
METRIC = Change("a metric, with Redis", 6, (
    Instead("core/words.h", "  score,      ///<", "  spread,\n  score,      ///<"),
    After("core/words.h", '"each replica would know its own previous event only", "last", "value", "last(f)",\n'
          '              "f of the event before"},\n',
          '    MetricRow{Metric::spread, "spread", Takes::amount, 1, false, false,\n'
          '              "replicas would have to exchange all amounts", "spread", "spread", "spread(f)",\n'
          '              "the greatest less the least"},\n'),
    After("limiter/kinds/tally.h", "  std::uint64_t extreme_ = 0;\n", "  std::uint64_t greatest_ = 0;\n"),
    After("limiter/kinds/tally.cc", "void Tally::add(std::uint64_t bits) noexcept {\n",
          "  if (spec_->metric == Metric::spread) {\n"
          "    if (n_ == 0 || beyond(*spec_, bits, extreme_)) extreme_ = bits;\n"
          "    if (n_ == 0 || beyond(*spec_, greatest_, bits)) greatest_ = bits;\n"
          "    ++n_;\n"
          "    return;\n"
          "  }\n"),
    After("limiter/kinds/tally.cc", "Number Tally::value() const noexcept {\n",
          "  if (spec_->metric == Metric::spread && n_ != 0) {\n"
          "    if (spec_->real)\n"
          "      return Number::real(std::bit_cast<double>(greatest_) - std::bit_cast<double>(extreme_));\n"
          "    return static_cast<std::int64_t>(greatest_ - extreme_);\n"
          "  }\n"),
    After("limiter/kinds/kinds.cc", "constexpr std::array kMeasures{\n",
          '    Measure{Metric::spread, false, "spread", "spread of the integers", kAmounts.in_time, kNone, in_log(kAmounts.in_time),\n'
          '            kNone, in_log(kAmounts.in_time), kNone, kNone},\n'
          '    Measure{Metric::spread, true, "real_spread", "spread of the doubles", kAmounts.in_time, kNone, in_log(kAmounts.in_time),\n'
          '            kNone, in_log(kAmounts.in_time), kNone, kNone},\n'),
    After("store/redis/scripts/log.lua", "  if n == 0 and p.metric >= AVERAGE then return nil end\n",
          "  if p.metric == SPREAD then\n"
          "    local least, most = math.huge, -math.huge\n"
          "    for i = 1, n do\n"
          "      local a = unpack_('<d', list[i])\n"
          "      least, most = min(least, a), max(most, a)\n"
          "    end\n"
          "    return most - least\n"
          "  end\n"),
))

# Added to each limit that is a number.
POLICY_KEY = Change("a key of a policy", 3, (
    After("config/model.h", "  std::optional<Located<std::size_t>> keys;  ///< default limits.keys\n",
          "  std::int64_t slack = 0;  ///< added to limits that are numbers\n"),
    After("config/sections/policies.cc", "constexpr Row<PolicyDraft> kPolicy[] = {\n",
          '    {{"slack", R"({"type":"integer","minimum":0,"maximum":1000})", "0 to 1000", "0", "Added to limits that are numbers."},\n'
          "     [](Reader& r, const Member& m, PolicyDraft& d) { set(r.integer(m, 0, 1000), d.policy.slack); }},\n"),
    After("policies/set/compile_bindings.cc", "    if (auto limit = bind_limit(rung, event)) part.limit = std::move(*limit);\n",
          "    if (auto* number = std::get_if<Number>(&part.limit.source)) *number = *number + Number(def.slack);\n"),
))

SERVER_KEY = Change("a key of the server", 2, (
    After("config/model.h", "    std::uint64_t connections = 10'000;\n", "    std::uint64_t idle_upstreams = 1'024;\n"),
    After("config/sections/server.cc", "constexpr Row<Server::Limits> kLimits[] = {\n",
          '    number<&Server::Limits::idle_upstreams, 1, 4096>("idle_upstreams", "1024", "Unused connections to the app.", kAtStart),\n'),
), uses=(
    Instead("app/serve/startup.cc", "process_.proxy_settings.upstream_idle_max = shares.idle;",
            "process_.proxy_settings.upstream_idle_max =\n      std::min<std::size_t>(shares.idle, process_.settings.limits.idle_upstreams);"),
))

ADMIN_ROUTE = Change("a route of the admin API", 3, (
    New("admin/ping_route.cc",
        '#include <boost/json/object.hpp>\n\n#include "admin/json.h"\n#include "admin/routes.h"\n\n'
        "namespace weir::admin {\n\n"
        "net::HttpReply get_ping(Call& call) {\n"
        "  if (auto refused = call.refuse_unknown({})) return std::move(*refused);\n"
        "  boost::json::object body;\n"
        '  body["pong"] = true;\n'
        "  return json_reply(body);\n"
        "}\n\n}  // namespace weir::admin\n"),
    After("admin/routes.h", "net::HttpReply get_status(Call& call);    // status_route.cc\n", "net::HttpReply get_ping(Call& call);      // ping_route.cc\n"),
    After("admin/routes.cc", "constexpr std::array kRoutes{\n", '    Route{"GET", "/v1/ping", false, get_ping, nullptr, "says that it is there"},\n'),
))

# Answers lines over TCP: `METHOD PATH ADDRESS` with `pass`, or with the status of the refusal.
DOOR = Change("a front door", 2, (
    New("app/doors/lines/door.h", read("lines_door.h")),
    New("app/doors/lines/door.cc", read("lines_door.cc")),
    After("app/doors/doors.cc", '#include "app/doors/grpc/door.h"\n', '#include "app/doors/lines/door.h"\n'),
    After("app/doors/doors.cc", "constexpr std::array kDoorRows{\n", '    DoorRow{"lines", "line", lines_address, make_lines_door},\n'),
), uses=(
    After("config/model.h", "  struct Api {\n", "    Located<Endpoint> lines;\n"),
    After("config/sections/server.cc", "constexpr Row<Server::Api> kApi[] = {\n",
          '    {{"lines", shape::kEndpoint, "`HOST:PORT` or `unix:/path`", "", "Where lines are answered."},\n'
          "     [](Reader& r, const Member& m, Server::Api& out) { read_listen(r, m, out.lines); }, same<&Server::Api::lines>},\n"),
), uses_for="for the key of its address", folder="app/doors/lines/")

CHANGES = (ACTION, METRIC, POLICY_KEY, SERVER_KEY, ADMIN_ROUTE, DOOR)
